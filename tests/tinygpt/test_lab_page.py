"""What a page says about its exercises comes from the lab and the front matter."""

import dataclasses
import re

import pytest
from click.testing import CliRunner
from tinygpt import lab
from tinygpt.commands import tinygpt
from tinygpt.lab import page

CHAPTER = lab.find_chapter("transformer")
FACTS = """---
chapter:
  tier: Architecture
  difficulty: 4
  hours: 8 to 10
  needs:
    - softmax, from @sec-softmax
    - attention
---

# The Transformer {#sec-transformer}
"""


@pytest.fixture
def book(tmp_path, monkeypatch):
    """A book whose chapter has the given front matter; the working directory is inside it."""

    def make(text):
        (tmp_path / "_quarto.yml").write_text("project:\n  type: book\n", encoding="utf-8")
        (tmp_path / "book").mkdir()
        (tmp_path / "book" / "transformer.qmd").write_text(text, encoding="utf-8")
        monkeypatch.chdir(tmp_path / "book")

    return make


def test_header_shows_the_front_matter(book, capsys):
    book(FACTS)
    page.header("transformer")
    assert capsys.readouterr().out == (
        '::: {.callout-note .box-facts title="Chapter facts"}\n'
        "- **Tier:** Architecture\n"
        "- **Difficulty:** ●●●●○ (4 of 5)\n"
        "- **Time:** 8 to 10 hours, with the exercises\n"
        "- **What to know first:** softmax, from @sec-softmax; attention\n"
        "- **Exercises:** 5, checked by `tinygpt lab check transformer`\n"
        ":::\n\n"
    )


def test_header_links_the_notebook(book, capsys):
    book(FACTS.replace("tier:", "notebook: ../transformer.ipynb\n  tier:"))
    page.header("transformer")
    assert "[transformer.ipynb](../transformer.ipynb)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("chapter:", "other:", "needs a mapping `chapter:` with tier, difficulty, hours, needs"),
        ("tier:", "teir:", "`chapter:` has teir; known are tier, "),
        ("  tier: Architecture\n", "", "`chapter:` needs tier, a text or a number"),
        ("4", "6", "difficulty must be a whole number from 1 to 5, got 6"),
        ("4", "hard", "difficulty must be a whole number from 1 to 5, got hard"),
        ("    - softmax, from @sec-softmax\n    - attention", "    3", "needs must be a list of"),
        ("tier: Architecture", "tier: [", "the front matter is not YAML"),
        ("---\nchapter", "chapter", "there is no front matter between two lines ---"),
    ],
)
def test_wrong_front_matter_names_file_and_key(book, old, new, expected):
    assert old in FACTS
    book(FACTS.replace(old, new, 1))
    with pytest.raises(lab.LabError) as caught:
        page.header("transformer")
    assert str(caught.value).startswith("book/transformer.qmd: ") and expected in str(caught.value)


def test_outside_a_book(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(lab.LabError, match="is not inside a book: no _quarto.yml here or above"):
        page.header("transformer")


def test_a_chapter_that_is_not_there(book, tmp_path):
    book(FACTS)
    (tmp_path / "book" / "transformer.qmd").unlink()
    with pytest.raises(lab.LabError, match=r"^book/transformer.qmd: cannot be read"):
        page.header("transformer")


def test_failures_are_those_of_a_run(capsys):
    page.failures("transformer")
    out = capsys.readouterr().out
    for exercise in CHAPTER.exercises:
        assert f'title="{exercise.title}: {len(exercise.mistakes)} wrong versions"' in out
        for mistake in exercise.mistakes:
            entry = rf"`{re.escape(mistake.message)}`\n: From `test_\w+`\. "
            assert re.search(entry + re.escape(mistake.explanation) + "\n", out), mistake.name
        names = ", ".join(f"`{mistake.name}`" for mistake in exercise.mistakes)
        assert f"; in the order above they are called {names}.\n" in out


def test_failures_of_one_exercise_unfolded(capsys):
    page.failures("transformer", "layer_norm", fold=False)
    out = capsys.readouterr().out
    assert out.startswith(
        "`Mean should be ~0, got -0.9999988079071045`\n"
        ": From `test_unit_layer_norm`. The statistics were taken over the batch axis."
    )
    assert ":::" not in out and "fc1" not in out


def test_a_message_that_has_changed_stops_the_page():
    exercise = lab.exercise("layer_norm")
    wrong = dataclasses.replace(exercise.mistakes[0], message="Mean should be ~0, got -1")
    with pytest.raises(lab.LabError, match="^The mistake batch_axis of layer_norm now gives"):
        page._failure(exercise, wrong)


def test_tables_name_every_exercise_and_check(capsys):
    page.what_you_write("transformer")
    table = capsys.readouterr().out
    assert "{#tbl-transformer-write}" in table
    page.checks("transformer")
    checks = capsys.readouterr().out
    assert "{#tbl-transformer-checks}" in checks
    for exercise in CHAPTER.exercises:
        assert f"| `{exercise.name}` | {exercise.goal} | @{exercise.section} |" in table
        assert all(f"| `{check.__name__}` |" in checks for check in exercise.checks)
    for line in (table + checks).splitlines():
        assert not line.startswith("|") or line.count("|") in (3, 4)


def test_workflow_names_commands_that_exist(capsys):
    page.workflow("transformer")
    out = capsys.readouterr().out
    commands = re.findall(r"^tinygpt (lab[^#\n]*)#", out, flags=re.M)
    assert len(commands) == 6
    for command in commands:
        words = command.split()[:2]
        assert CliRunner().invoke(tinygpt, [*words, "--help"]).exit_code == 0
    assert 'lab.check("layer_norm", LayerNorm)' in out
    block = out.split("```bash\n")[1].split("```")[0]
    assert max(map(len, block.splitlines())) <= 84


def test_exercises_are_numbered_blocks_with_folded_hints(capsys):
    page.exercises("transformer", stubs=True)
    out = capsys.readouterr().out
    for exercise in CHAPTER.exercises:
        anchor = f"exr-transformer-{exercise.name}".replace("_", "-")
        assert f':::: {{#{anchor} name="{exercise.title}"}}\n{exercise.goal}' in out
        assert all(hint in out for hint in exercise.hints)
    assert len(re.findall("^:::: {", out, flags=re.M)) == len(re.findall("^::::$", out, flags=re.M))
    assert out.count("raise NotImplementedError") == 8


def test_read_why_names_a_section_for_each(capsys):
    page.read_why("transformer")
    out = capsys.readouterr().out
    assert all(f"- `{e.symbol}`: @{e.section}\n" in out for e in CHAPTER.exercises)


def test_an_unknown_chapter_lists_those_there_are():
    for function in (page.header, page.workflow, page.failures, page.read_why):
        with pytest.raises(lab.LabError, match="There is no chapter 'transfomer'.*Did you mean"):
            function("transfomer")

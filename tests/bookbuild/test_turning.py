"""No sentence turns near a trained value: words and rounded numbers whose inputs may move."""

import random
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from bookbuild.notebook import read_chapter
from bookbuild.trained import trained_names
from bookbuild.turning import find_turn
from tiny import edit, make_tiny_book, write

WORD = "'more than nine in ten' if score > 0.9 else 'fewer'"


def turn(expr, tolerances, moves=False, **values):
    return find_turn(values, expr, tolerances, moves)


def test_a_word_near_its_edge_turns_and_one_far_from_it_does_not():
    found = turn(WORD, {"score": 0.15}, score=0.94)
    assert found == ("more than nine in ten", "fewer", ["score"])
    assert turn(WORD, {"score": 0.03}, score=0.94) is None
    assert turn(WORD, {"other": 0.15}, score=0.94, other=1.0) is None


def test_a_rounded_number_without_a_tolerance_turns():
    assert turn("f'{loss:.2f}'", {"loss": 0.02}, loss=2.5) == ("2.50", "2.55", ["loss"])
    assert turn("f'{loss:.2f}'", {"loss": 0.02}, True, loss=2.5) is None
    # The words beside a number that may move may not.
    expr = "f'{loss:.1f}, ' + ('falls' if loss < 2.51 else 'rises')"
    now, then, _ = turn(expr, {"loss": 0.02}, True, loss=2.5)
    assert now == "2.5, falls" and then.endswith("rises")


@pytest.mark.parametrize(
    "values",
    [
        {"a": 1.00, "b": 1.01},
        {"a": np.float32(1.00), "b": np.float64(1.01)},
        {"a": torch.tensor(1.00), "b": torch.tensor(1.01)},
    ],
    ids=["floats", "numpy", "torch"],
)
def test_values_that_move_against_each_other_are_compared(values):
    # Up together and down together their order stays.
    assert turn("'less' if a < b else 'more'", dict.fromkeys(values, 0.02), **values)


@pytest.mark.parametrize(
    ("expr", "value"),
    [
        ("int(v.argmax())", np.array([1.0, 1.001, 0.2])),
        ("int(v.argmax())", torch.tensor([1.0, 1.001, 0.2])),
        ("max(v, key=v.get)", {"a": 1.0, "b": 1.001}),
        ("v[0] < v[1]", [1.0, 1.001]),
        ("v[0][1] < v[1][1]", [("a", 1.0), ("b", 1.001)]),
        ("v.loss < v.other.loss", SimpleNamespace(loss=1.0, other=SimpleNamespace(loss=1.001))),
    ],
)
def test_floats_inside_arrays_and_containers_move(expr, value):
    assert turn(expr, {"v": 0.05}, v=value)


def test_whole_numbers_and_texts_do_not_move():
    assert turn("(n, s, b, m.sum())", {"n": 0.5, "s": 0.5, "b": 0.5, "m": 0.5},
                n=3, s="3.5", b=True, m=np.arange(4)) is None  # fmt: skip


def test_functions_of_the_chapter_are_followed():
    namespace = {}
    exec("score = 0.94\ndef ratio():\n    return helper()\ndef helper():\n    return score",
         namespace)  # fmt: skip
    assert find_turn(namespace, "ratio() > 0.9", {"score": 0.15}, False)[:2] == ("True", "False")


def test_the_kernel_is_as_it_was_afterwards():
    rows, table = [1.0, 2.0], np.ones(3)
    namespace = {"rows": rows, "table": table, "random": random, "np": np, "torch": torch}
    states = random.getstate(), np.random.get_state()[1].copy(), torch.get_rng_state()
    before = dict(namespace)
    expr = "rows[0] * random.random() + np.random.rand() + float(torch.rand(1)) + table.sum()"
    find_turn(namespace, expr, {"rows": 0.1, "table": 0.1}, False)
    assert all(namespace[name] is value for name, value in before.items())
    assert rows == [1.0, 2.0] and table.tolist() == [1.0] * 3
    assert random.getstate() == states[0] and torch.equal(torch.get_rng_state(), states[2])
    assert (np.random.get_state()[1] == states[1]).all()


def test_an_expression_that_fails_with_moved_inputs_turns_and_harms_nothing():
    namespace = {"v": 1.0}
    found = find_turn(namespace, "{1.0: 'one'}[v]", {"v": 0.1}, False)
    assert found[0] == "one" and found[1].startswith("KeyError") and namespace["v"] == 1.0


# Which names are trained


def states(tmp_path, *cells):
    text = "\n\n".join(f"```{{python}}\n{cell}\n```" for cell in cells)
    return trained_names(read_chapter(write(tmp_path / "one.qmd", f"# One\n\n{text}\n")))


def test_names_of_a_cell_with_a_tolerance_are_trained(tmp_path):
    cell = "#| tolerance: 0.1\nloss = fit(x)\nfor a, b in loss: c = f(a)"
    found = states(tmp_path, "x = 1.5", cell)
    assert found[1] == {} and found[2] == {"loss": 0.1, "a": 0.1, "b": 0.1, "c": 0.1}


def test_what_a_later_cell_makes_of_them_is_trained_too(tmp_path):
    found = states(
        tmp_path,
        "#| tolerance: {rtol: 0.2}\nloss = fit()\nresults = {}",
        "best = min(loss)\nother = 3\nresults['a'] = loss\nkept.append(loss)",
        "best = 0.5",
    )
    assert found[2] == {"loss": 0.2, "best": 0.2, "results": 0.2, "kept": 0.2}
    assert "best" not in found[3]


def test_settings_that_the_author_wrote_are_not_trained(tmp_path):
    cell = "#| tolerance: 0.1\nrates = np.array([0.1, 0.3])\nsizes = [1.0, 2.0]\nruns = fit(rates)"
    assert states(tmp_path, cell)[1] == {"runs": 0.1}


# In the check


@pytest.mark.slow
def test_the_check_fails_with_both_words_and_the_line(tmp_path):
    root = make_tiny_book(tmp_path)
    cell = "```{python}\n#| tolerance: 0.15\nscore = mean([0.94])\nprint(score)\n```\n\n"
    line = f'It reads [more than nine in ten]{{.computed expr="{WORD}"}}.\n\n'
    edit(root / "book/counts.qmd", "```{python}\n#| output: asis\n#| echo: false\nprint(\"::: {",
         cell + line + "```{python}\n#| output: asis\n#| echo: false\nprint(\"::: {")  # fmt: skip
    from bookbuild.config import read_book
    from bookbuild.reference import write_references

    source = root / "book/counts.qmd"
    write_references(read_book(root), [source], say=lambda _: None)
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "bookbuild.check", str(source)],
        cwd=root, capture_output=True, encoding="utf-8",
    )  # fmt: skip
    assert result.returncode == 1
    turned = "the sentence turns: 'more than nine in ten' becomes 'fewer'"
    assert f"book/counts.qmd:25: {turned}" in result.stdout and "score by 0.15" in result.stdout

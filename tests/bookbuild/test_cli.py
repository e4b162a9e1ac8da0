"""The commands: what they print, and that what goes wrong is one sentence."""

import os
import re

import pytest
from tiny import edit, write

WAVES, COUNTS = "book/waves.qmd", "book/counts.qmd"


def build(bookbuild, root, **options):
    return bookbuild(root, "build", "--renderer", "pandoc", **options)


def test_build_prints_where_the_site_is_and_the_time_of_each_step(executed_book, bookbuild):
    done = build(bookbuild, executed_book)
    assert done.returncode == 0, done.stderr
    steps = re.findall(r"^(\w+) +\d+\.\d s$", done.stdout, flags=re.MULTILINE)
    assert steps == ["Read", "Run", "Render", "Write"]
    assert re.search(
        r"^The site is _site/index\.html, made in \d+\.\d s", done.stdout, re.MULTILINE
    )
    assert (executed_book / "_site/book/waves.html").is_file()


@pytest.mark.slow
def test_build_runs_from_a_folder_inside_and_says_a_wrong_number(executed_book, bookbuild):
    edit(executed_book / WAVES, "A wave with 8 samples has [8]", "A wave with 8 samples has [9]")
    done = bookbuild(executed_book / "book", "build", "--renderer", "pandoc")
    assert done.returncode == 1
    assert "book/waves.qmd:18: the prose says 9, computed is 8; correct it, or run" in done.stderr


# A terminal without UTF-8, and a Python that does not help itself.
ASCII = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.slow
def test_build_works_in_the_c_locale(tiny_book, bookbuild):
    edit(tiny_book / COUNTS, "There are {len", "Es gibt → {len")
    done = build(bookbuild, tiny_book, env=ASCII)
    assert done.returncode == 0, done.stderr
    assert "Es gibt →" in (tiny_book / "_site/book/counts.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_build_works_in_the_c_locale_in_a_folder_with_any_name(executed_book, bookbuild):
    root = executed_book.rename(executed_book.with_name("ä b c"))
    done = build(bookbuild, root, env=ASCII)
    assert done.returncode == 0, done.stderr
    assert "Euler" in (root / "_site/book/waves.html").read_text(encoding="utf-8")


def sentence(done):
    """The one sentence on stderr of a command that failed."""
    assert done.returncode == 1, done
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("bookbuild: "), done.stderr
    return done.stderr.removeprefix("bookbuild: ").strip()


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("_quarto.yml", "book/waves.qmd", "book/w.qmd", r"_quarto.yml: chapters lists book/w.qmd;"),
        ("_quarto.yml", "chapters:", "chapters: [", r"_quarto.yml:\d+: not YAML: "),
        ("_quarto.yml", "output-dir: _site", "output-dir: ../x", r"_quarto.yml: output-dir is "),
        ("_quarto.yml", "output-dir: _site", "output-dir: .", r"_quarto.yml: output-dir is '.'"),
        ("_quarto.yml", "type: book", "type: website", r"_quarto.yml: project: type is 'website';"),
        (WAVES, "# Waves {#sec-waves}", "```{python}", r"book/waves.qmd:9: the cell that opens"),
        (WAVES, "tier: foundations", "tier: [", r"book/waves.qmd:\d: not YAML in the front matter"),
        (COUNTS, "points.csv\n---", "p.csv\n---", r"book/counts.qmd:2: data lists book/p.csv;"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_book_is_one_sentence(tiny_book, bookbuild, file, old, new, said):
    text = (tiny_book / file).read_text(encoding="utf-8")
    write(tiny_book / file, text.replace(old, new, 1))
    assert re.match(said, sentence(build(bookbuild, tiny_book)))


def test_a_cell_that_raises_is_one_sentence(executed_book, bookbuild):
    edit(executed_book / COUNTS, "mean(points)\n```", "mean(nothing)\n```")
    assert sentence(build(bookbuild, executed_book)) == (
        "book/counts.qmd:14: the cell raises NameError: name 'nothing' is not defined"
    )
    assert not (executed_book / "_site/index.html").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["build", "--renderer", "latex"], "'latex' is not one of 'auto', 'quarto', 'pandoc'"),
        (["build", "--jobs", "0"], "0 is not in the range x>=1"),
        (["build", "--jobs", "many"], "'many' is not a valid integer"),
        (["serve", "--port", "99999"], "99999 is not in the range 1<=x<=65535"),
        (
            ["reference", "nothing"],
            "nothing is no chapter of this book; it has index, waves, counts",
        ),
        (["bulid"], "No such command 'bulid'. Did you mean 'build'?"),
    ],
)
def test_a_wrong_argument_is_one_sentence(tiny_book, bookbuild, arguments, said):
    assert said in sentence(bookbuild(tiny_book, *arguments))


def test_outside_a_book_is_one_sentence(tmp_path, bookbuild):
    said = sentence(bookbuild(tmp_path, "build"))
    assert said == f"{tmp_path}: no _quarto.yml here or in a folder above; run inside the book"


def run_main(monkeypatch, capsys, error):
    """What `bookbuild build` says and its exit code when its work raises `error`."""
    from bookbuild import cli

    def fail(*arguments):
        raise error

    monkeypatch.setattr("sys.argv", ["bookbuild", "build"])
    monkeypatch.setattr(cli, "read_book", fail)
    monkeypatch.setattr(cli, "find_root", lambda start: start)
    with pytest.raises(SystemExit) as caught:
        cli.main()
    return capsys.readouterr().err, caught.value.code


@pytest.mark.parametrize(
    ("error", "said", "code"),
    [
        (KeyboardInterrupt(), "\nStopped. What was finished is kept.\n", 130),
        (
            OSError(28, "No space left on device", "_site/x"),
            "bookbuild: no space is left on the disk; free some and run it again "
            "(nothing is lost)\n",
            1,
        ),
        (
            PermissionError(13, "Permission denied", "_site"),
            "bookbuild: _site: Permission denied\n",
            1,
        ),
        (
            RuntimeError("two\nlines"),
            "bookbuild: RuntimeError: two lines (set BOOKBUILD_DEBUG=1 for the traceback)\n",
            1,
        ),
    ],
)
def test_no_error_is_a_traceback(monkeypatch, capsys, error, said, code):
    assert run_main(monkeypatch, capsys, error) == (said, code)


def test_ctrl_c_while_importing_is_one_line(tmp_path, bookbuild):
    write(tmp_path / "click.py", "raise KeyboardInterrupt\n")
    done = bookbuild(tmp_path, "build", env=os.environ | {"PYTHONPATH": str(tmp_path)})
    assert (done.returncode, done.stderr.strip()) == (130, "Stopped. What was finished is kept.")


@pytest.mark.slow
def test_reference_takes_chapters_by_path_or_name(executed_book, bookbuild):
    done = bookbuild(executed_book, "reference", "counts", env=ASCII)
    assert done.returncode == 0 and "1 file changed." in done.stdout, done
    assert "  → 2.5" in done.stdout
    assert [p.name for p in (executed_book / "tests/reference").rglob("*.ipynb")] == [
        "counts.ipynb"
    ]
    done = bookbuild(executed_book / "book", "reference", "counts.qmd")
    assert done.returncode == 0 and "Nothing changed." in done.stdout, done

"""The site's files: what a page is given, and how files come into place."""

import errno
import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest
from bookbuild import publish as publishing
from bookbuild.config import Book, Entry
from bookbuild.document import RenderedPage, Section, TocItem
from bookbuild.fonts import math_characters, math_font
from bookbuild.publish import Report, publish
from bookbuild.search import search_index
from bookbuild.site import PRINT, SCRIPTS, STYLES, SiteError, nest, write_site
from fontTools.ttLib import TTFont
from nbformat.v4 import new_code_cell, new_notebook

FORMULA = "<math><mi>x</mi><mo>∈</mo><mi mathvariant='double-struck'>ℝ</mi></math>"


@pytest.fixture(autouse=True)
def quick_font(monkeypatch):
    """Cutting the font takes a second, and only the tests of the font look at it."""
    monkeypatch.setattr("bookbuild.site.math_font", lambda pages, cache: b"font")


@pytest.fixture
def book(tmp_path):
    """A front page and three chapters in two parts."""
    root = tmp_path / "book root"
    places = [
        ("index.qmd", None, None),
        ("book/waves.qmd", 1, "Curves & lines"),
        ("book/tides.qmd", 2, "Curves & lines"),
        ("book/counts.qmd", 3, "Numbers"),
    ]
    entries = []
    for name, number, part in places:
        source = root / name
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text("# Title\n", encoding="utf-8")
        entries.append(Entry(source, name.replace(".qmd", ".html"), number, part))
    meta = {"lang": "en", "book": {}}
    return Book(root, "Tiny <Book>", "A", "What & why", entries, [], root / "_site", None, meta)


@pytest.fixture
def pages(book):
    titles = ["Tiny <Book>", "Waves", "Tides", "Counts"]
    made = [
        RenderedPage(
            entry,
            title,
            title.replace("<", "&lt;").replace(">", "&gt;"),
            str(entry.number) if entry.number else None,
            f"<p>About {entry.source.stem}.</p>",
            sections=[Section("", title, f"About {entry.source.stem}.")],
            id=f"sec-{entry.source.stem}",
        )
        for entry, title in zip(book.entries, titles, strict=True)
    ]
    made[1].toc = [TocItem(2, "sec-a", "A"), TocItem(3, "sec-b", "B"), TocItem(2, "sec-c", "C")]
    return made


def read(book, name):
    return (book.output / name).read_text(encoding="utf-8")


def files(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def links(html, pattern):
    return re.findall(rf'<a [^>]*?href="([^"]*)"[^>]*{pattern}', html)


def test_the_navigation_holds_parts_and_chapters_in_order(book, pages):
    write_site(book, pages)
    html = read(book, "book/tides.html")
    nav = html[html.index('id="nav"') : html.index("<main")]
    chapters = re.findall(r'<li><a href="([^"]+)"( aria-current="page")?>', nav)
    assert chapters == [
        ("../index.html", ""),
        ("waves.html", ""),
        ("tides.html", ' aria-current="page"'),
        ("counts.html", ""),
    ]
    assert re.findall(r'<p class="part"[^>]*>(.*?)</p>', nav) == ["Curves &amp; lines", "Numbers"]
    assert "Front page" in nav


def test_previous_and_next_follow_the_order_of_the_book(book, pages):
    write_site(book, pages)
    found = {
        name: re.findall(r'<a class="(previous|next)" rel="\w+" href="([^"]+)"', read(book, name))
        for name in ["index.html", "book/waves.html", "book/counts.html"]
    }
    assert found == {
        "index.html": [("next", "book/waves.html")],
        "book/waves.html": [("previous", "../index.html"), ("next", "tides.html")],
        "book/counts.html": [("previous", "tides.html")],
    }


def test_plain_text_is_escaped_and_rendered_text_is_not(book, pages):
    pages[1].title, pages[1].title_html = "a < b", "<em>a</em> &lt; b"
    write_site(book, pages)
    html = read(book, "book/waves.html")
    assert "<title>1 a &lt; b – Tiny &lt;Book&gt;</title>" in html
    assert '<h1 id="sec-waves"><em>a</em> &lt; b</h1>' in html
    pages[1].description = "Sea & sky"
    write_site(book, pages)
    assert '<meta name="description" content="Sea &amp; sky">' in read(book, "book/waves.html")
    assert '<meta name="description" content="What &amp; why">' in read(book, "index.html")


def test_contents_are_nested_by_level():
    toc = [TocItem(level, f"s{n}", "") for n, level in enumerate([3, 2, 4, 3, 2])]

    def shape(items):
        return [(item["id"], shape(item["children"])) for item in items]

    assert shape(nest(toc)) == [("s0", []), ("s1", [("s2", []), ("s3", [])]), ("s4", [])]


def test_the_notebook_is_offered_beside_its_page(book, pages):
    pages[1].notebook = new_notebook(cells=[new_code_cell("1 + 1", id="c1")])
    write_site(book, pages)
    assert '<a href="waves.ipynb" download>' in read(book, "book/waves.html")
    assert json.loads(read(book, "book/waves.ipynb"))["cells"][0]["source"] == ["1 + 1"]
    assert "Download the notebook" not in read(book, "book/tides.html")


def test_the_source_can_be_edited_only_when_the_book_names_its_repository(book, pages):
    write_site(book, pages)
    assert "Edit this page" not in read(book, "book/waves.html")
    write_site(replace(book, repo_url="https://example.org/r/"), pages)
    assert 'href="https://example.org/r/edit/main/book/waves.qmd"' in read(book, "book/waves.html")
    meta = {"book": {"repo-branch": "dev", "repo-subdir": "/docs/"}}
    write_site(replace(book, repo_url="https://example.org/r", meta=meta), pages)
    assert "https://example.org/r/edit/dev/docs/book/waves.qmd" in read(book, "book/waves.html")


def test_files_that_a_page_shows_come_along(book, pages):
    image = book.root / "assets" / "a picture.svg"
    image.parent.mkdir()
    image.write_text("<svg/>", encoding="utf-8")
    (book.root / "book" / "points.csv").write_text("1\n", encoding="utf-8")
    pages[1].figures = {"book/waves_files/fig-1.png": b"PNG"}
    pages[1].body = (
        '<img alt="" src="../assets/a%20picture.svg"><a href="points.csv">data</a>'
        '<img src="waves_files/fig-1.png"><a href="tides.html#sec-x">there</a><a href="#here">h</a>'
        '<a href="https://example.org/x.png">out</a><a href="mailto:a@example.org">mail</a>'
        '<img src="data:image/png;base64,AAAA">'
    )
    write_site(book, pages)
    assert (book.output / "assets" / "a picture.svg").read_bytes() == image.read_bytes()
    assert (book.output / "book" / "points.csv").is_file()
    assert (book.output / "book" / "waves_files" / "fig-1.png").read_bytes() == b"PNG"


@pytest.mark.parametrize("link", ["missing.png", "../../outside.png", "../assets"])
def test_a_file_that_is_not_there_stops_the_build(book, pages, link):
    (book.root.parent / "outside.png").write_bytes(b"secret")
    (book.root / "assets").mkdir()
    pages[1].body = f'<p><img alt="x" src="{link}"></p>'
    with pytest.raises(SiteError, match=re.escape(f"book/waves.qmd: refers to {link}, which")):
        write_site(book, pages)
    assert not book.output.exists()


def test_nothing_unchanged_is_touched(book, pages):
    assert write_site(book, pages).unchanged == 0
    before = {path: path.stat().st_mtime_ns for path in book.output.rglob("*") if path.is_file()}
    again = write_site(book, pages)
    assert (again.written, again.removed) == (0, 0)
    assert before == {path: path.stat().st_mtime_ns for path in before}
    pages[2].body = "<p>Changed.</p>"
    assert write_site(book, pages).written == 1


def test_files_of_earlier_builds_are_removed_and_those_of_others_kept(book, pages):
    pages[3].figures = {"book/counts_files/fig.png": b"PNG"}
    write_site(book, pages)
    mine = book.output / "CNAME"
    mine.write_text("example.org", encoding="utf-8")
    report = write_site(book, pages[:3])
    assert report.removed == 2
    assert not (book.output / "book" / "counts.html").exists()
    assert not (book.output / "book" / "counts_files").exists()
    assert mine.is_file()


def test_what_only_quartos_pages_use_is_removed(book, pages):
    for name in ["site_libs/x.js", "book/waves_files/a.png", "search.json"]:
        path = book.output / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("", encoding="utf-8")
    write_site(book, pages)
    assert not [name for name in files(book.output) if "site_libs" in name or "_files" in name]
    assert not (book.output / "search.json").exists()


def test_a_list_of_files_that_leads_outside_removes_nothing_there(tmp_path):
    outside = tmp_path / "mine.txt"
    outside.write_text("", encoding="utf-8")
    output = tmp_path / "out"
    output.mkdir()
    listed = ["../mine.txt", str(outside), 3]
    (output / ".bookbuild.json").write_text(json.dumps(listed), encoding="utf-8")
    publish({"a": b""}, output)
    assert outside.exists()


KILLED = """
import os, signal, sys
from pathlib import Path
from bookbuild.publish import publish
moves = 0
move = os.replace
def replace(a, b):
    global moves
    moves += 1
    if moves > 3:
        os.kill(os.getpid(), signal.SIGKILL)
    move(a, b)
os.replace = replace
publish({f"page{n}.html": b"new" * 9999 for n in range(6)}, Path(sys.argv[1]))
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this system")
def test_a_killed_build_leaves_whole_pages_and_the_next_completes(tmp_path):
    output = tmp_path / "site"
    old = {f"page{n}.html": b"old" * 9999 for n in range(6)} | {"gone.html": b"old"}
    new = {f"page{n}.html": b"new" * 9999 for n in range(6)}
    publish(old, output)
    done = subprocess.run([sys.executable, "-c", KILLED, str(output)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert [(output / name).read_bytes() == new[name] for name in new] == [True] * 3 + [False] * 3
    assert all((output / name).read_bytes() in (old[name], new[name]) for name in new)
    assert publish(new, output) == Report(written=3, unchanged=3, removed=1)
    assert {name: (output / name).read_bytes() for name in new} == new
    assert sorted(files(output)) == [".bookbuild.json", *sorted(new)]


def test_a_full_disk_is_one_sentence_and_leaves_the_old_pages(tmp_path, monkeypatch):
    output = tmp_path / "site"
    publish({"a.html": b"old", "b.html": b"old"}, output)
    write = Path.write_bytes

    def full(path, content):
        if path.name == "b.html":
            write(path, content[:1])
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        return write(path, content)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(publishing.PublishError, match=r"b\.html: the disk is full; free some"):
        publish({"a.html": b"new", "b.html": b"new"}, output)
    assert {"a.html": b"old", "b.html": b"old"}.items() <= files(output).items()
    assert not list(output.glob(".partial*"))


def test_two_builds_at_the_same_time_do_not_meet(tmp_path, monkeypatch):
    output = tmp_path / "site"
    other = output / f".partial-{os.getppid()}" / "page.html"
    other.parent.mkdir(parents=True)
    other.write_bytes(b"of a build that runs")
    publish({"page.html": b"new"}, output)
    assert other.exists()


def test_an_output_that_is_a_file_is_one_sentence(book, pages):
    book.output.write_text("mine", encoding="utf-8")
    with pytest.raises(SiteError, match=r"_site: the site cannot be written there, it is a file"):
        write_site(book, pages)
    assert book.output.read_text(encoding="utf-8") == "mine"


def test_no_permission_is_one_sentence(book, pages, monkeypatch):
    def refuse(source, target):
        raise PermissionError(errno.EACCES, "Permission denied", str(target))

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(SiteError, match=r"no permission to write; make the folder yours"):
        write_site(book, pages)


def test_a_folder_in_the_place_of_a_page_is_one_sentence(book, pages):
    (book.output / "index.html").mkdir(parents=True)
    with pytest.raises(SiteError, match=r"index\.html: a folder and a file have the same name"):
        write_site(book, pages)


@pytest.mark.parametrize("output", [".", "..", "book"])
def test_the_site_is_never_written_over_the_book(book, pages, output):
    before = files(book.root)
    with pytest.raises(SiteError, match="over the book's own files"):
        write_site(replace(book, output=book.root / output), pages)
    assert files(book.root) == before


def test_the_index_holds_every_section_and_is_a_script(pages):
    pages[1].sections.append(Section("sec-a", "1.1 “A”", "first\n  second </script>"))
    script = search_index(pages)
    index = json.loads(script.removeprefix("window.bookIndex = ").removesuffix(";\n"))
    assert index["pages"][1] == ["book/waves.html", "1", "Waves"]
    assert index["sections"][2] == [1, "sec-a", "1.1 “A”", "first second </script>"]


def test_the_font_holds_what_the_formulas_show(tmp_path):
    formula = (
        '<math><mi>x</mi><mi>β</mi><mi mathvariant="normal">Γ</mi><mo>⨂</mo><mo>&lt;</mo>'
        '<annotation encoding="application/x-tex">\\Ж</annotation></math>'
    )
    assert math_characters(f"<p>ы</p>{formula}") >= {"𝑥", "𝛽", "Γ", "⨂", "<"}
    assert not math_characters(f"<p>ы</p>{formula}") & {"ы", "Ж", "&"}
    font = TTFont(BytesIO(math_font([formula], tmp_path)))
    shown = set(font.getBestCmap())
    assert {ord(c) for c in "𝑥𝛽Γ⨂ℎ𝐴0"} <= shown
    assert ord("Ж") not in shown
    # A bracket grows: the font keeps its taller forms and the parts of the tallest.
    variants = font["MATH"].table.MathVariants
    bracket = variants.VertGlyphCoverage.glyphs.index(font.getBestCmap()[ord("(")])
    grown = variants.VertGlyphConstruction[bracket]
    assert len(grown.MathGlyphVariantRecord) > 3
    assert grown.GlyphAssembly is not None
    assert any(
        record.FeatureTag == "ssty" for record in font["GSUB"].table.FeatureList.FeatureRecord
    )


def test_the_font_is_made_once_for_the_same_characters(tmp_path, monkeypatch):
    first = math_font([FORMULA], tmp_path)
    assert len(first) < 60_000
    monkeypatch.setattr("bookbuild.fonts._subset", lambda *_: pytest.fail("made again"))
    assert math_font([FORMULA + "<p>more prose</p>"], tmp_path) == first
    with pytest.raises(pytest.fail.Exception):
        math_font([FORMULA, "<math><mo>⨁</mo></math>"], tmp_path)


def test_a_page_is_light(book, pages):
    """The furniture of a page: what it weighs before its chapter's text."""
    write_site(book, pages)
    html = read(book, "book/waves.html")
    names = re.findall(r'(?:src|href)="\.\./(assets/theme/[^"?]+\.(?:js|css))', html)
    assert len(names) == len([*STYLES, PRINT, *SCRIPTS])
    assert len(html) + sum((book.output / name).stat().st_size for name in names) < 80_000

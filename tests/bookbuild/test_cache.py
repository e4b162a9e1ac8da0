"""The cache loses nothing, stays small, and is made again when it is broken."""

import os
import sqlite3
import subprocess
import sys
import textwrap

import pytest
import sqlalchemy.exc
from bookbuild.cache import BookCache, CacheError, CorruptCache
from bookbuild.config import read_book
from bookbuild.execute import execute_book
from nbformat.v4 import new_code_cell, new_notebook, new_output
from tiny import write

WAVES, COUNTS = "book/waves.qmd", "book/counts.qmd"


@pytest.fixture
def cache(tmp_path):
    cache = BookCache(tmp_path / "cache")
    yield cache
    cache.close()


def executed(source="print(1)", digest=None, line=1):
    output = new_output("stream", name="stdout", text="1\n")
    cell = new_code_cell(source, execution_count=1, outputs=[output])
    cell.metadata |= {"tags": [], "book": {"line": line}}
    return new_notebook(cells=[cell], metadata={"book_inputs": digest or {}})


def emptied(nb):
    nb.cells[0].outputs, nb.cells[0].execution_count = [], None
    return nb


def uris(cache):
    return sorted(record.uri for record in cache.list_cache_records())


def records(root):
    cache = BookCache(root / ".bookcache")
    try:
        return uris(cache)
    finally:
        cache.close()


def test_what_is_stored_is_fetched(cache):
    cache.store(executed(), "a.qmd", 0.1)
    nb = emptied(executed())
    assert cache.fetch(nb) and nb.cells[0].outputs[0].text == "1\n"
    assert nb.cells[0].execution_count == 1


def test_a_full_disk_leaves_no_half_written_file(cache, monkeypatch):
    def full(*paths):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(CacheError, match="No space left on device"):
        cache.store(executed(), "a.qmd", 0.1)
    assert not list(cache.path.rglob("*.tmp"))


def test_a_file_in_place_of_the_cache_is_said(tmp_path):
    path = write(tmp_path / ".bookcache", "")
    with pytest.raises(CacheError, match="this is a file, and the cache is a folder"):
        BookCache(path)


def test_the_key_is_code_and_digest_and_not_the_place_of_a_cell(cache):
    cache.store(executed(), "a.qmd", 0.1)
    assert cache.fetch(emptied(executed(line=99)))
    assert not cache.fetch(emptied(executed("print(2)")))
    assert not cache.fetch(emptied(executed(digest={"modules": {"a": "1"}})))


def test_storing_twice_keeps_one(cache):
    cache.store(executed(), "a.qmd", 0.1)
    cache.store(executed(), "a.qmd", 0.1)
    assert uris(cache) == ["a.qmd"]


def test_chapters_in_parallel_lose_no_record(_executed):
    assert records(_executed[0]) == [COUNTS, WAVES]


@pytest.mark.slow
def test_two_builds_at_once_share_the_cache(tiny_book):
    script = """
        from pathlib import Path
        from bookbuild.config import read_book
        from bookbuild.execute import execute_book
        execute_book(read_book(Path.cwd()))
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    builds = [subprocess.Popen(command, cwd=tiny_book) for _ in range(2)]
    assert [build.wait(timeout=120) for build in builds] == [0, 0]
    assert records(tiny_book) == [COUNTS, WAVES]


@pytest.mark.slow
def test_many_processes_write_one_cache(tmp_path):
    """Four at a time, from an empty folder on: nobody's record is lost or cut short."""
    script = """
        import sys, nbformat
        from pathlib import Path
        from bookbuild.cache import BookCache
        from nbformat.v4 import new_code_cell, new_notebook
        cache = BookCache(Path(sys.argv[1]))
        for k in range(10):
            nb = new_notebook(cells=[new_code_cell(f"{sys.argv[2]} + {k}", execution_count=1)])
            nb.cells[0].metadata["tags"] = []
            cache.store(nb, f"{sys.argv[2]}-{k}", 0.0)
            assert cache.fetch(nb)
            cache.prune()
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path / "cache")]
    writers = [subprocess.Popen([*command, str(i)]) for i in range(4)]
    assert [writer.wait(timeout=60) for writer in writers] == [0] * 4
    assert len(BookCache(tmp_path / "cache").list_cache_records()) == 40


@pytest.mark.parametrize("content", [None, b"", b"{}", b'{"cells": [', b"\xff\xfe"])
def test_a_record_whose_file_is_gone_or_cut_short_is_no_record(cache, tmp_path, content):
    cache.store(executed(), "a.qmd", 0.1)
    cache.store(executed("print(2)"), "b.qmd", 0.1)
    for file in (tmp_path / "cache/executed").glob("*/base.ipynb"):
        if "print(1)" in file.read_text(encoding="utf-8"):
            file.unlink() if content is None else file.write_bytes(content)
    assert not cache.fetch(emptied(executed()))
    assert uris(cache) == ["b.qmd"]
    cache.store(executed(), "a.qmd", 0.1)
    assert cache.fetch(emptied(executed()))


def test_a_record_of_a_run_that_did_not_end_is_no_record(cache):
    cache.store(emptied(executed()), "a.qmd", 0.1)
    assert not cache.fetch(emptied(executed()))


def test_a_table_that_another_process_has_just_made_is_no_error(cache, monkeypatch):
    from jupyter_cache.cache.db import create_db

    calls = []

    def too_late(path):
        calls.append(path)
        if len(calls) == 1:
            error = sqlite3.OperationalError("table nbproject already exists")
            raise sqlalchemy.exc.OperationalError("CREATE TABLE", {}, error)
        return create_db(path)

    monkeypatch.setattr("bookbuild.cache.create_db", too_late)
    cache.store(executed(), "a.qmd", 0.1)
    assert uris(cache) == ["a.qmd"] and len(calls) == 2


def break_database(folder):
    (folder / "global.db").write_bytes(b"not a database" * 100)


def break_tables(folder):
    with sqlite3.connect(folder / "global.db") as database:
        database.execute("ALTER TABLE nbcache RENAME COLUMN uri TO url")


@pytest.mark.parametrize("breaking", [break_database, break_tables])
def test_a_corrupt_database_is_told_from_one_that_cannot_be_used(cache, tmp_path, breaking):
    cache.store(executed(), "a.qmd", 0.1)
    cache.close()
    breaking(tmp_path / "cache")
    with pytest.raises(CorruptCache):
        cache.fetch(emptied(executed()))
    cache.drop()
    assert not cache.fetch(emptied(executed()))


def test_a_corrupt_cache_is_dropped_with_a_sentence_and_made_again(executed_book):
    break_database(executed_book / ".bookcache")
    said = []
    execute_book(read_book(executed_book), say=said.append, only=[executed_book / COUNTS])
    assert len([line for line in said if "the cache is damaged" in line]) == 1
    assert records(executed_book) == [COUNTS]


def test_the_cache_keeps_the_last_records_of_each_chapter(cache, tmp_path):
    for k in range(7):
        cache.store(executed(f"print({k})"), "a.qmd", 0.0)
    cache.store(executed("print(8)"), "b.qmd", 0.0)
    assert cache.fetch(emptied(executed("print(0)")))  # used again, so it stays
    orphan = write(tmp_path / "cache/executed/0123/base.ipynb", "{}").parent
    os.utime(orphan, (0, 0))
    cache.prune()
    assert uris(cache) == ["a.qmd"] * 4 + ["b.qmd"]
    assert len(list((tmp_path / "cache/executed").iterdir())) == 5
    assert [cache.fetch(emptied(executed(f"print({k})"))) for k in (0, 1, 3, 4, 5, 6)] == [
        True, False, False, True, True, True,
    ]  # fmt: skip


def test_a_full_disk_is_one_sentence_and_nothing_is_lost(executed_book, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(CacheError, match=r"\.bookcache: the cache cannot be written \(No space"):
        execute_book(read_book(executed_book), only=[executed_book / COUNTS], fresh=True)
    monkeypatch.undo()
    assert records(executed_book) == [COUNTS, WAVES]


def test_a_database_that_is_full_or_locked_is_not_thrown_away(cache, monkeypatch):
    cache.store(executed(), "a.qmd", 0.1)

    def fail(*arguments, **options):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr("sqlalchemy.engine.default.DefaultDialect.do_execute", fail)
    with pytest.raises(CacheError, match="cannot be used .*disk is full.*; free some space"):
        cache.store(executed("print(2)"), "b.qmd", 0.1)
    monkeypatch.undo()
    assert uris(cache) == ["a.qmd"]

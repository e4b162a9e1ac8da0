"""The cache of executed chapters: jupyter-cache, keyed by code and by what it depends on.

It has its own folder, `.bookcache/`. (Quarto adds a cell of its own before it hashes, so
its `.jupyter_cache/` cannot be shared.)
"""

import os
import shutil
import time
from collections import defaultdict
from pathlib import Path

import nbformat
import sqlalchemy.exc
from jupyter_cache.cache.db import NbCacheRecord, OrmBase, create_db
from jupyter_cache.cache.main import JupyterCacheBase
from nbformat import NotebookNode

FOLDER = ".bookcache"
_KEPT = 4  # records of each chapter: going back to an earlier state runs nothing again
_AN_HOUR = 3600
_NO_FAULT_OF_THE_CACHE = ("disk is full", "readonly", "unable to open", "disk I/O", "locked")


class CacheError(Exception):
    """The cache cannot be read or written, and starting it afresh would not help."""


class CorruptCache(Exception):
    """The cache's database is broken; the cache has to be started afresh."""


class BookCache(JupyterCacheBase):
    """Executed chapters of one book. Several processes may use it at the same time."""

    def __init__(self, path: Path):
        super().__init__(path)
        with _explained(path):
            path.mkdir(parents=True, exist_ok=True)

    @property
    def db(self):
        # Two processes may make the tables at the same time; then one of them is too late.
        for attempt in range(5):
            if self._db is not None:
                break
            try:
                engine = create_db(self.path)
                OrmBase.metadata.create_all(engine)
                self._db = engine
            except sqlalchemy.exc.OperationalError as error:
                if attempt == 4 or "already exists" not in str(error.orig):
                    raise
        return self._db

    def create_hashed_notebook(
        self, nb, nb_metadata=("kernelspec", "book_inputs"), cell_metadata=()
    ):
        # A cell's metadata say where it stands, which changes with the prose.
        return super().create_hashed_notebook(nb, nb_metadata, cell_metadata)

    def truncate_caches(self) -> None:
        """Nothing: jupyter-cache would delete what another process has just written.

        `prune` keeps the cache small, once a build has ended.
        """

    def fetch(self, nb: NotebookNode) -> bool:
        """Fill in the outputs of a notebook that ran before, and say whether it has.

        One that shows sources of the companion has not, if they read otherwise by now.

        Raises:
            CorruptCache: the database is broken.
            CacheError: it cannot be read.
        """
        with _explained(self._path):
            try:
                record = self.match_cache_notebook(nb)
            except KeyError:
                return False
            try:
                executed = self.get_cache_bundle(record.pk).nb
                complete = _same_cells(nb, executed) and _same_sources(nb, executed)
            except (sqlalchemy.exc.SQLAlchemyError, RuntimeError):
                raise
            except Exception:  # a file that is gone, cut short or of another form
                complete = False
            if not complete:
                self._remove(record)
                return False
        for cell, done in zip(nb.cells, executed.cells, strict=True):
            cell.outputs, cell.execution_count = done.outputs, done.execution_count
        return True

    def store(self, nb: NotebookNode, uri: str, seconds: float) -> None:
        """Keep an executed notebook.

        The file is complete before the database names it, so a build that is killed
        leaves at worst a file that nothing refers to.

        Raises:
            CorruptCache: the database is broken.
            CacheError: no room, or no permission to write.
        """
        hashed, key = self.create_hashed_notebook(nb)
        hashed.metadata.pop("book_sources", None)
        path = self._get_notebook_path_cache(key)
        with _explained(self._path):
            path.parent.mkdir(parents=True, exist_ok=True)
            beside = path.with_name(f"{os.getpid()}.tmp")
            try:
                beside.write_text(nbformat.writes(hashed, nbformat.NO_CONVERT), encoding="utf-8")
                os.replace(beside, path)
            finally:
                beside.unlink(missing_ok=True)
            data = {"execution_seconds": round(seconds, 3)}
            try:
                NbCacheRecord.create_record(uri, key, self.db, data=data)
            except ValueError:  # it ran before, or another process was faster
                NbCacheRecord.touch_hashkey(key, self.db)

    def prune(self) -> None:
        """Drop all but the last used records of each chapter, and what no record names."""
        with _explained(self._path):
            chapters = defaultdict(list)
            for record in self.list_cache_records():
                chapters[record.uri].append(record)
            for records in chapters.values():
                records.sort(key=lambda record: record.accessed, reverse=True)
                for record in records[_KEPT:]:
                    self._remove(record)
            known = {record.hashkey for record in self.list_cache_records()}
            for folder in self._path.glob("executed/*"):
                old = folder.stat().st_mtime < time.time() - _AN_HOUR
                if old and folder.name not in known:
                    shutil.rmtree(folder, ignore_errors=True)

    def drop(self) -> None:
        """Start afresh."""
        self.close()
        shutil.rmtree(self._path, ignore_errors=True)
        with _explained(self._path):
            self._path.mkdir(parents=True, exist_ok=True)

    def close(self) -> None:
        if self._db is not None:
            self._db.dispose()
            self._db = None

    def _remove(self, record: NbCacheRecord) -> None:
        NbCacheRecord.remove_records([record.pk], self.db)
        folder = self._get_notebook_path_cache(record.hashkey).parent
        shutil.rmtree(folder, ignore_errors=True)


def _same_cells(nb: NotebookNode, executed: NotebookNode) -> bool:
    """Whether a cached notebook holds every cell, each run unless it is not to run."""
    if [cell.source for cell in nb.cells] != [cell.source for cell in executed.cells]:
        return False
    return all(
        isinstance(done.outputs, list)
        and (done.execution_count is not None or "skip-execution" in cell.metadata.tags)
        for cell, done in zip(nb.cells, executed.cells, strict=True)
    )


def _same_sources(nb: NotebookNode, executed: NotebookNode) -> bool:
    now, shown = nb.metadata.get("book_sources", {}), executed.metadata.get("book_shown", {})
    return all(now.get(name, "") == digest for name, digest in shown.items())


class _explained:
    """Turns what a database or a disk raises into a sentence about the cache."""

    def __init__(self, path: Path):
        self.path = path

    def __enter__(self):
        return self

    def __exit__(self, kind, error, _):
        if isinstance(error, OSError) and self.path.is_file():
            raise CacheError(
                f"{self.path}: this is a file, and the cache is a folder of that name; remove it"
            ) from None
        if isinstance(error, OSError):
            raise CacheError(
                f"{self.path}: the cache cannot be written ({error.strerror or error}); "
                "free some space or set its permissions"
            ) from None
        if isinstance(error, RuntimeError | sqlalchemy.exc.SQLAlchemyError):
            source = error if isinstance(error, sqlalchemy.exc.SQLAlchemyError) else error.__cause__
            reason = str(getattr(source, "orig", None) or source or error)
            if any(words in reason for words in _NO_FAULT_OF_THE_CACHE):
                raise CacheError(
                    f"{self.path}: the cache's database cannot be used ({reason}); "
                    "free some space, set its permissions or end the other build"
                ) from None
            raise CorruptCache(reason) from None

"""Runs the chapters: those that changed, in parallel, each in a kernel of its own."""

import asyncio
import contextlib
import logging
import math
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import BinaryIO

from nbformat import NotebookNode
from tqdm import tqdm

from bookbuild.cache import FOLDER, BookCache, CorruptCache
from bookbuild.config import Book
from bookbuild.digest import book_inputs
from bookbuild.kernel import (
    FigureSettings,
    Workspace,
    line_in_cell,
)
from bookbuild.notebook import Chapter, ChapterError, read_chapter, to_notebook
from bookbuild.printed import clean, join_streams, strip_controls
from bookbuild.shown import shown_sources, source_digests

DEFAULT_TIMEOUT = 300  # seconds for one cell
_LONGEST_MESSAGE = 400
_PLACE_OF_SYNTAX_ERROR = re.compile(r" \(\d+\.py, line \d+\)$")  # in a file of IPython's
_SILENT = logging.Logger("bookbuild.execute", logging.CRITICAL + 1)  # what fails is raised


class CellError(ChapterError):
    """A cell that raises, takes too long, or takes its kernel with it."""


@dataclass
class Run:
    """A chapter that is to run, and what it takes."""

    chapter: Chapter
    nb: NotebookNode
    name: str  # the chapter's path inside the book
    figures: FigureSettings
    timeout: float
    read: set[str] = field(default_factory=set)  # sources that its kernel has read as text


def execute_book(
    book: Book,
    *,
    jobs: int = 2,
    only: list[Path] | None = None,
    fresh: bool = False,
    say: Callable[[str], None] = print,
) -> dict[Path, NotebookNode]:
    """Run every chapter whose code, companion modules or data changed.

    Args:
        book: the book.
        jobs: how many chapters run at the same time, at least 1.
        only: sources of the chapters to run; all without it.
        fresh: run them even if nothing changed.
        say: receives a line for each chapter that has run, and for what went astray.

    Returns:
        The executed notebook of each chapter (as from `to_notebook`, with outputs), by
        its source, in reading order.

    Raises:
        ChapterError: a chapter cannot be read, or one of its cells fails.
        CacheError: the cache cannot be written.
        KeyboardInterrupt: on Ctrl-C, after the kernels have ended; finished chapters
            are kept.
    """
    if not isinstance(jobs, int) or jobs < 1:
        raise ValueError(f"execute_book: jobs is {jobs!r}; give a whole number, at least 1")
    sources = [e.source for e in book.entries if only is None or e.source in only]
    runs = [_prepare(book, source) for source in sources]
    cache = BookCache(book.root / FOLDER)
    try:
        runnable = [run for run in runs if _anything_to_run(run.nb)]
        waiting = [r for r in runnable if fresh or not _rebuilding(cache, say, "fetch", r.nb)]
        if waiting:
            asyncio.run(_run_all(waiting, book.root, cache, jobs, say))
            _rebuilding(cache, say, "prune")
    finally:
        cache.close()
    return {run.chapter.path: run.nb for run in runs}


def keep_run(run: Run, root: Path, seconds: float) -> None:
    """Keep the outputs of a chapter that ran by other means; the next build need not run it.

    Raises:
        CacheError: the cache cannot be written.
    """
    for cell in run.nb.cells:
        _clean_outputs(cell, root)
    cache = BookCache(root / FOLDER)
    try:
        _store(cache, run, root, seconds, print)
        _rebuilding(cache, print, "prune")
    finally:
        cache.close()


def _store(cache: BookCache, run: Run, root: Path, seconds: float, say) -> None:
    """Keep a chapter, unless what it depends on has changed while it ran."""
    before = run.nb.metadata["book_sources"]
    try:
        now = source_digests(root)
        shown = {name: before.get(name, "") for name in shown_sources(run.nb, run.read, root)}
        unchanged = _inputs(run.chapter, root, run.figures) == run.nb.metadata["book_inputs"]
        unchanged = unchanged and all(now.get(name, "") == shown[name] for name in shown)
    except (ChapterError, OSError):  # such as a file that has gone
        unchanged = False
    if unchanged:
        run.nb.metadata["book_shown"] = shown
        _rebuilding(cache, say, "store", run.nb, run.name, seconds)


def _inputs(chapter: Chapter, root: Path, figures: FigureSettings) -> dict:
    """What the outputs of a chapter depend on, besides its code."""
    return book_inputs(chapter, root) | {"figures": asdict(figures)}


def _anything_to_run(nb: NotebookNode) -> bool:
    return any("skip-execution" not in cell.metadata.tags for cell in nb.cells)


def prepare_chapter(book_meta: dict, root: Path, chapter: Chapter) -> Run:
    """What it takes to run a chapter: also for the check, which runs it by other means."""
    figures = FigureSettings.of(book_meta)
    nb = to_notebook(chapter)
    nb.metadata["book_inputs"] = _inputs(chapter, root, figures)
    nb.metadata["book_sources"] = source_digests(root)
    name = chapter.path.relative_to(root).as_posix()
    return Run(chapter, nb, name, figures, _timeout(chapter))


def _prepare(book: Book, source: Path) -> Run:
    return prepare_chapter(book.meta, book.root, read_chapter(source))


def _timeout(chapter: Chapter) -> float:
    value = (chapter.front.get("execute") or {}).get("timeout", DEFAULT_TIMEOUT)
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        line = next((i for i, s in enumerate(chapter.lines, 1) if "timeout:" in s), 2)
        raise ChapterError(
            chapter.path, line, f"execute: timeout is {value!r}; give seconds, above 0"
        )
    return value


def _rebuilding(cache: BookCache, say: Callable[[str], None], method: str, *args):
    """Call a method of the cache; if the cache is corrupt, drop it and call again."""
    try:
        return getattr(cache, method)(*args)
    except CorruptCache as error:
        say(f"{FOLDER}: the cache is damaged ({error}); starting it afresh")
        cache.drop()
        return getattr(cache, method)(*args)


async def _run_all(runs: list[Run], root: Path, cache: BookCache, jobs: int, say) -> None:
    """Run chapters, at most `jobs` at a time; the first that fails ends the others."""
    free = asyncio.Semaphore(jobs)
    # After Ctrl-C, tasks of nbclient's may still fail because their kernel has gone; what fails
    # otherwise is raised below.
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)

    async def run_one(position: int, run: Run) -> None:
        async with free:
            start = time.perf_counter()
            with _progress(run, position) as advance:
                await run_chapter(run, root, advance)
            seconds = time.perf_counter() - start
            _store(cache, run, root, seconds, say)
            if not _on_terminal():
                say(f"  {run.name}  {len(run.nb.cells)} cells  {seconds:.1f} s")

    tasks = [asyncio.create_task(run_one(i, run)) for i, run in enumerate(runs)]
    try:
        for next_done in asyncio.as_completed(tasks):
            await next_done
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _on_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


@contextlib.contextmanager
def _progress(run: Run, position: int) -> Iterator[Callable[[], None]]:
    with tqdm(
        total=len(run.nb.cells),
        desc=f"  {run.name}",
        unit="cell",
        position=position,
        dynamic_ncols=True,
        disable=not _on_terminal(),
    ) as bar:
        yield bar.update


async def run_chapter(run: Run, root: Path, advance: Callable[[], None]) -> None:
    """Run the cells of one chapter in a kernel of its own and keep their outputs in it."""
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    async with _kernel(run, root) as (client, workspace):
        log = workspace.path / "kernel.log"
        for index, cell in enumerate(run.nb.cells):
            try:
                await client.async_execute_cell(cell, index)
            except CellExecutionError as error:
                raise _raised(run, cell, error.ename, error.evalue, root) from None
            except CellTimeoutError:
                raise _cell_error(run, cell, too_long(run)) from None
            except DeadKernelError:
                raise _cell_error(
                    run, cell, f"ended its kernel, {_last_words(log)}; it may need too much memory"
                ) from None
            _clean_outputs(cell, root)
            advance()
        run.read = workspace.sources_read()


@contextlib.asynccontextmanager
async def _kernel(run: Run, root: Path):
    """A client with a kernel that runs, and the folder with what it says and has read."""
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient

    with Workspace(root, run.figures) as workspace:
        km = workspace.manager(AsyncKernelManager)
        client = NotebookClient(
            run.nb,
            km=km,
            timeout=math.ceil(run.timeout),
            iopub_timeout=60,
            raise_on_iopub_timeout=True,
            shutdown_kernel="immediate",
            coalesce_streams=False,  # its own takes the square of a long line's time
            record_timing=False,
            log=_SILENT,
        )
        log = workspace.path / "kernel.log"
        with log.open("wb") as said:
            try:
                await _start(run, client, workspace.start_arguments(), said, log)
                yield client, workspace
            finally:
                await _stop(client, km)


async def _start(run: Run, client, arguments: dict, said: BinaryIO, log: Path) -> None:
    try:
        await client.km.start_kernel(**arguments, stdout=said, stderr=said)
        await client.async_start_new_kernel_client()
    except (RuntimeError, OSError):
        raise CellError(
            run.chapter.path, 1, f"no kernel starts for this chapter, {_last_words(log)}"
        ) from None


async def _stop(client, km) -> None:
    """End a kernel and every process that it started."""
    group = getattr(km.provisioner, "pgid", None) if km.provisioner else None
    if client.km is not None:
        with contextlib.suppress(RuntimeError, OSError):
            await client._async_cleanup_kernel()
    if group and hasattr(os, "killpg") and group != os.getpgrp():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


def _last_words(log: Path) -> str:
    lines = strip_controls(log.read_text(encoding="utf-8", errors="replace")).split("\n")
    said = [line.strip() for line in lines if line.strip()]
    return f"whose last words are {said[-1]!r}" if said else "without a word"


def _clean_outputs(cell: NotebookNode, root: Path) -> None:
    """What a cell printed, as every machine prints it and a page can show it."""
    cell.outputs = join_streams(cell.outputs)
    for output in cell.outputs:
        if output.output_type == "stream":
            output.text = clean(output.text, root)
        elif output.output_type == "error":
            output.ename = strip_controls(output.ename)
            output.evalue = clean(output.evalue, root)
            output.traceback = [clean(line, root) for line in output.traceback]
        else:
            for mime, value in output.data.items():
                if isinstance(value, str) and not mime.startswith("image/"):
                    output.data[mime] = clean(value, root)
                elif mime == "image/svg+xml":
                    output.data[mime] = strip_controls(value)


def too_long(run: Run) -> str:
    """What is wrong with a cell that does not end in its time."""
    return (
        f"runs longer than {run.timeout:g} seconds; make it faster, or give it more in the front "
        "matter: `execute: timeout: SECONDS`"
    )


def _cell_error(run: Run, cell: NotebookNode, what: str, line: int | None = None) -> CellError:
    where = cell.metadata["book"]
    subject = f"the computed number `{where['expr']}`" if "expr" in where else "the cell"
    return CellError(run.chapter.path, line or where["line"], f"{subject} {what}")


def _raised(run: Run, cell: NotebookNode, ename: str, evalue: str, root: Path) -> CellError:
    outputs = [out for out in cell.outputs if out.output_type == "error"]
    return _cell_error(run, cell, *describe_error(cell, ename, evalue, outputs, root))


def describe_error(
    cell: NotebookNode, ename: str, evalue: str, outputs: list[NotebookNode], root: Path
) -> tuple[str, int]:
    """What a cell raised, in a sentence, and the line of the chapter where it did."""
    traceback = outputs[-1].traceback if outputs else []
    where = cell.metadata["book"]
    line = where["line"]
    if "code_line" in where and (inside := line_in_cell(traceback)):
        line = where["code_line"] + inside - 1
    if ename in ("CellExit", "SystemExit"):
        return "calls exit, and the cells after it need their kernel; leave that out", line
    said = " ".join(clean(evalue, root).split())
    said = _PLACE_OF_SYNTAX_ERROR.sub("", said)
    if len(said) > _LONGEST_MESSAGE:
        said = said[:_LONGEST_MESSAGE] + " …"
    text = clean("\n".join(traceback), root)
    frames = re.findall(r"(?:^|\n)(?:File (\S+?):(\d+)|Cell In)", text)
    inner = f" (in {frames[-1][0]}:{frames[-1][1]})" if frames and frames[-1][0] else ""
    return f"raises {ename}: {said}{inner}", line

"""Checks each chapter once on each processor that this machine can be, and prints a table.

What passed is remembered in `.bookcache/cpus/` until something that it depends on changes:
the chapter's code, what it imports and reads, its expected outputs, the values and
tolerances in its prose, the processor. What failed runs again.
"""

import contextlib
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from bookbuild.cache import FOLDER
from bookbuild.config import Book
from bookbuild.cpus import Processor, environment_for, processors
from bookbuild.execute import prepare_chapter
from bookbuild.notebook import read_chapter
from bookbuild.reference import reference_path

_RECIPE = 1  # raise it when the check starts to find more
_PLACE = re.compile(r"^\S+\.qmd:\d+: ", re.MULTILINE)


@dataclass(frozen=True)
class Outcome:
    """One chapter on one processor."""

    state: str  # "passed", "kept" (it passed before), "FAILED" or "skipped"
    said: str = ""  # of what failed; its first line begins with the file and the line

    @property
    def cell(self) -> str:
        """How the table shows it: what failed with the line of the first failure."""
        found = re.match(r"\S+?:(\d+): ", self.said)
        return f"{self.state} :{found[1]}" if found else self.state


def sweep(
    book: Book,
    only: list[Path] | None = None,
    *,
    jobs: int = 2,
    afresh: bool = False,
    say: Callable[[str], None] = print,
) -> int:
    """Check chapters on all processors and print what came of it.

    Args:
        book: the book.
        only: sources of the chapters; all that have something to run without it.
        jobs: how many cores there are to use, at least 1.
        afresh: also what is remembered.
        say: receives the lines.

    Returns:
        How many checks failed.

    Raises:
        KeyboardInterrupt: on Ctrl-C, after the checks that ran have ended; what passed is kept.
    """
    here = processors(book.root)
    for letter, processor in zip(_letters(), here, strict=False):
        reason = f"skipped, {processor.skipped}" if processor.skipped else processor.does
        say(f"  {letter}  {processor.combination.name}: {reason}")
    chapters = [_Chapter.of(book, e.source) for e in book.entries if not only or e.source in only]
    chapters = [chapter for chapter in chapters if chapter.runs]
    checks = _Checks(book, here, jobs, afresh)
    outcomes = checks.run([(c, p) for p in here for c in chapters], say)
    say("\n" + table([c.name for c in chapters], here, outcomes))
    failed = [(key, outcome) for key, outcome in outcomes.items() if outcome.state == "FAILED"]
    for (name, processor), outcome in failed:
        say(f"\n{name} on {processor}:\n{outcome.said}")
    return len(failed)


def _letters() -> str:
    return "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def table(names: list[str], here: list[Processor], outcomes: dict) -> str:
    """A line for each chapter, a column for each processor."""
    heads = [letter for letter, _ in zip(_letters(), here, strict=False)]
    rows = [["chapter", *heads]]
    for name in names:
        cells = [outcomes[name, p.combination.name].cell for p in here]
        rows.append([name, *cells])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) for row in rows]
    return "\n".join(line.rstrip() for line in lines)


@dataclass(frozen=True)
class _Chapter:
    source: Path
    name: str
    runs: bool  # whether it has anything to run
    digest: str

    @classmethod
    def of(cls, book: Book, source: Path) -> "_Chapter":
        run = prepare_chapter(book.meta, book.root, read_chapter(source))
        cells = [[c.source, c.metadata.tags, _compared(c.metadata["book"])] for c in run.nb.cells]
        path = reference_path(book.root, source)
        reference = path.read_bytes() if path.exists() else b""
        runs = any("skip-execution" not in cell.metadata.tags for cell in run.nb.cells)
        parts = [_RECIPE, cells, dict(run.nb.metadata), hashlib.sha256(reference).hexdigest()]
        text = json.dumps(parts, sort_keys=True, default=str)
        return cls(source, run.name, runs, hashlib.sha256(text.encode()).hexdigest())


def _compared(where: dict) -> dict:
    """What of a cell's place in the chapter decides whether it passes."""
    options = where.get("options", {})
    kept = {key: options.get(key) for key in ("tolerance", "fig-tolerance", "check")}
    return kept | {key: where.get(key) for key in ("typed", "expr")} | {
        "number's tolerance": where.get("tolerance")
    }


class _Checks:
    """Runs checks, as many at a time as there are cores for."""

    def __init__(self, book: Book, here: list[Processor], jobs: int, afresh: bool):
        self.book, self.jobs, self.afresh = book, jobs, afresh
        self.folder = book.root / FOLDER / "cpus"
        self.machine = [p.does for p in here]  # another machine remembers nothing of this one
        self.free, self.change = jobs, threading.Condition()
        self.running: set[subprocess.Popen] = set()
        self.stopped = False

    def run(self, pairs: Iterable[tuple[_Chapter, Processor]], say) -> dict:
        """The outcome of each pair, by the names of both."""
        outcomes, waiting = {}, []
        for chapter, processor in pairs:
            key = chapter.name, processor.combination.name
            if processor.skipped:
                outcomes[key] = Outcome("skipped")
            elif not self.afresh and self._passed(chapter, processor).exists():
                outcomes[key] = Outcome("kept")
            else:
                waiting.append((chapter, processor))
        on_terminal = sys.stderr is not None and sys.stderr.isatty()
        bar = tqdm(total=len(waiting), unit="check", dynamic_ncols=True, disable=not on_terminal)
        with bar, ThreadPoolExecutor(self.jobs) as pool:
            tasks = {pool.submit(self._check, *pair): pair for pair in waiting}
            try:
                for task in as_completed(tasks):
                    chapter, processor = tasks[task]
                    outcome, seconds = task.result()
                    outcomes[chapter.name, processor.combination.name] = outcome
                    bar.update()
                    line = f"  {chapter.name}  {processor.combination.name}  {outcome.cell}"
                    with bar.external_write_mode():
                        say(f"{line}  {seconds:.0f} s")
            except BaseException:
                self._stop(pool)
                raise
        return outcomes

    def _passed(self, chapter: _Chapter, processor: Processor) -> Path:
        """The file that is there when this chapter has passed on this processor."""
        parts = [chapter.digest, processor.environment, processor.does, self.machine]
        digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
        return self.folder / digest

    def _check(self, chapter: _Chapter, processor: Processor) -> tuple[Outcome, float]:
        cores = min(processor.combination.threads, self.jobs)
        with self._cores(cores):
            started = time.perf_counter()
            outcome = self._run(chapter, processor)
            seconds = time.perf_counter() - started
        if outcome.state == "passed":
            self.folder.mkdir(parents=True, exist_ok=True)
            named = f"{chapter.name} on {processor.combination.name}\n"
            self._passed(chapter, processor).write_text(named, encoding="utf-8")
        return outcome, seconds

    @contextlib.contextmanager
    def _cores(self, count: int):
        with self.change:
            self.change.wait_for(lambda: self.free >= count or self.stopped)
            self.free -= count
        try:
            yield
        finally:
            with self.change:
                self.free += count
                self.change.notify_all()

    def _run(self, chapter: _Chapter, processor: Processor) -> Outcome:
        with tempfile.TemporaryDirectory(prefix="book-") as folder:
            report = Path(folder) / "report.xml"
            command = [
                sys.executable, "-m", "pytest", "-q", "-p", "bookbuild.check",
                "-p", "no:cacheprovider", f"--junitxml={report}", str(chapter.source),
            ]  # fmt: skip
            with self.change:
                if self.stopped:
                    return Outcome("stopped")
                process = subprocess.Popen(
                    command, cwd=self.book.root, text=True, start_new_session=True,
                    env=environment_for(self.book.root, processor.environment),
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                )  # fmt: skip
                self.running.add(process)
            output = process.communicate()[0]
            self.running.discard(process)
            if process.returncode == 0:
                return Outcome("passed")
            said = _failures(report) or "\n".join(output.splitlines()[-10:])
            return Outcome("FAILED", said)

    def _stop(self, pool: ThreadPoolExecutor) -> None:
        """End what runs; pytest ends its kernels."""
        with self.change:
            self.stopped = True
            self.change.notify_all()
        pool.shutdown(wait=False, cancel_futures=True)
        for process in list(self.running):
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGINT)
        for process in list(self.running):
            try:
                process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)


def _failures(report: Path) -> str:
    """What a run of pytest found, from its report: each failure as the check words it."""
    try:
        cases = ElementTree.parse(report).getroot().iter("testcase")
    except (OSError, ElementTree.ParseError):
        return ""
    found = []
    for case in cases:
        for failure in [*case.findall("failure"), *case.findall("error")]:
            text = (failure.text or failure.get("message") or "").strip()
            place = _PLACE.search(text)
            found.append(text[place.start() :] if place else text)
    return "\n".join(found)

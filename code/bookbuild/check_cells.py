"""The chapters and cells that the pytest plugin collects; see check.py."""

import contextlib
import os
import time
from collections import defaultdict
from pathlib import Path
from queue import Empty

import pytest
from nbformat import NotebookNode
from nbval.plugin import IPyNbCell, IPyNbFile

from bookbuild.cache import FOLDER as CACHE
from bookbuild.cache import CacheError
from bookbuild.check_kernel import ChapterKernel, DeadKernel
from bookbuild.compare import (
    Difference,
    FigureError,
    Tolerances,
    find_difference,
    normal_outputs,
)
from bookbuild.computed import first_replaced, printed_number, same_number
from bookbuild.config import Book
from bookbuild.execute import Run, describe_error, keep_run, prepare_chapter, too_long
from bookbuild.kernel import THREADS, Workspace
from bookbuild.labels import NotExpected, wrong_references
from bookbuild.notebook import ChapterError, read_chapter
from bookbuild.printed import without_machine_paths
from bookbuild.reference import FOLDER, read_reference, reference_path
from bookbuild.trained import trained_names

_PATIENCE = 5  # seconds
_LABELS = pytest.StashKey[dict]()


class Failure(Exception):
    """What a reader of the report needs to know, in a few lines."""


class ChapterFile(IPyNbFile):
    """One chapter: an item for its expected outputs as a whole, and one for each cell."""

    def __init__(self, *, book: Book, **kwargs):
        super().__init__(**kwargs)
        self.book = book
        self.items: list[CellItem] = []
        self.done = 0  # how many of the items have run in the kernel
        self.passed: list[CellItem] = []  # in the order in which they ran
        self.rewrites = False  # whether a cell takes back what it has put out
        self.patience = 0.0  # until when an interrupted cell may put out what it has left
        self.broken: str | None = None  # where a cell failed in such a way that none can follow
        self.workspace: Workspace | None = None
        self.started = 0.0  # when the kernel did

    def collect(self):
        source = self.book.root / self.path.resolve().relative_to(self.book.root.resolve())
        try:
            self.run = prepare_chapter(self.book.meta, self.book.root, read_chapter(source))
            tolerances = [self._tolerances(cell) for cell in self.run.chapter.cells]
        except ChapterError as error:
            said = without_machine_paths(str(error), self.book.root)
            raise self.CollectError(said) from None
        path = reference_path(self.book.root, source)
        name = (FOLDER / self.run.name).with_suffix(".ipynb").as_posix()
        self.reference_name = name
        problem, expected = _match(self.run, path, name)
        yield ReferenceItem.from_parent(self, name="reference", problem=problem)
        if THREADS not in os.environ:  # labels are the same on every processor
            yield LabelsItem.from_parent(self, name="labels")
        if expected is None:
            return
        numbers = defaultdict(int)
        trained = trained_names(self.run.chapter)
        known = trained[0]  # what the cells so far have trained
        for index, cell in enumerate(self.run.nb.cells):
            if "skip-execution" in cell.metadata.tags:
                continue
            where = cell.metadata["book"]
            known = trained[where["cell"]] if "cell" in where else known
            label = f"line-{where['line']}"
            if "expr" in where:
                numbers[where["line"]] += 1
                label += f"-number-{numbers[where['line']]}"
                allowed = Tolerances()
            else:
                allowed = tolerances[where["cell"] - 1]
            item = CellItem.from_parent(
                self, name=label, index=index, cell=cell, allowed=allowed, trained=known,
                reference=expected.get(cell.id),
            )  # fmt: skip
            self.items.append(item)
            yield item

    def _tolerances(self, cell) -> Tolerances:
        try:
            return Tolerances.of(cell)
        except ValueError as error:
            raise ChapterError(self.run.chapter.path, cell.line, str(error)) from None

    def setup(self) -> None:
        """The kernel starts with the first cell that is to run (see `kernel_for`)."""

    def kernel_for(self, item: "CellItem") -> ChapterKernel:
        """The chapter's kernel, in which every cell before `item` has run, and no other."""
        place = self.items.index(item)
        if place < self.done:  # pytest was asked for another order
            self._stop()
        if self.kernel is None:
            self.started = time.perf_counter()
            self.workspace = Workspace(self.book.root, self.run.figures).__enter__()
            try:
                self.kernel = ChapterKernel(self.workspace)
            except (RuntimeError, OSError):
                self.broken = f"{self.run.name}: no kernel starts"
                raise Failure(f"{self.run.name}:1: no kernel starts for this chapter") from None
        # Those before are missing when pytest was asked for some of the cells only.
        for earlier in self.items[self.done : place]:
            msg_id = self.kernel.execute_cell_input(earlier.cell.source)
            self.kernel.await_reply(msg_id, timeout=self.run.timeout)
        self.done = place + 1
        return self.kernel

    def teardown(self) -> None:
        if self.workspace is not None:
            self._stop()
            self._keep()

    def _stop(self) -> None:
        super().teardown()  # nbval's: it stops the kernel
        self.run.read |= self.workspace.sources_read()
        self.workspace.__exit__()
        self.kernel, self.done = None, 0

    def get_kernel_message(self, *args, **kwargs) -> dict:
        if self.timed_out:  # its kernel was interrupted, which a cell may ignore, and print on
            self.patience = self.patience or time.monotonic() + _PATIENCE
            kwargs["timeout"] = max(0.0, self.patience - time.monotonic())
            if not kwargs["timeout"]:
                raise Empty
        message = super().get_kernel_message(*args, **kwargs)
        # nbval keeps what was put out before these, the build does not.
        self.rewrites |= message["msg_type"] in ("clear_output", "update_display_data")
        return message

    def _keep(self) -> None:
        """Give the build's cache the outputs of a chapter that is as it is expected.

        Only where every cell has run once and in order, as in a build, and not when
        `bookbuild cpus` has this machine be another.
        """
        if self.passed != self.items or self.rewrites or THREADS in os.environ:
            return
        for count, item in enumerate(self.items, 1):
            item.cell.outputs, item.cell.execution_count = item.test_outputs, count
        with contextlib.suppress(CacheError):  # the build says it; the check does not need it
            keep_run(self.run, self.book.root, time.perf_counter() - self.started)


def _match(run: Run, path: Path, path_name: str):
    """Whether the expected outputs are those of this chapter, and each cell's, by its id.

    Returns:
        What is wrong, or None; and the expected cells, or None if there are none at all.
    """
    nb, name = run.nb, run.name
    cells = [cell for cell in nb.cells if "computed" not in cell.metadata.tags]
    run_it = "look at the chapter and run make reference"
    if not path.exists():
        if not cells:
            return None, {}
        return f"{name}:{_line(cells[0])}: there is no {path_name}; {run_it}", None
    try:
        reference = read_reference(path)
        expected = reference.cells
    except ValueError as error:
        said = str(error).replace(str(path), path_name)
        return f"{name}:1: {said}", None
    for cell, old in zip(cells, expected, strict=False):
        if cell.source != old.source:
            both = zip(old.source.split("\n") + [""], cell.source.split("\n") + [""], strict=False)
            first = next(((a, b) for a, b in both if a != b), (old.source, cell.source))
            return (
                f"{name}:{_line(cell)}: the cell is not the one that {path_name} knows; {run_it}\n"
                f"  reference: {first[0]}\n  now:       {first[1]}"
            ), None
    if len(cells) != len(expected):
        line = _line(cells[len(expected)]) if len(cells) > len(expected) else 1
        return (
            f"{name}:{line}: the chapter has {len(cells)} cells, {path_name} has "
            f"{len(expected)}; {run_it}"
        ), None
    problem = None
    if found := first_replaced(run.chapter, reference.metadata.get("computed", [])):
        problem = (
            f"{name}:{found[0]}: {found[1]!r} is typed where a computed number stood; "
            'write [value]{.computed expr="…"}, or run make reference if it is none any more'
        )
    return problem, {cell.id: old for cell, old in zip(cells, expected, strict=True)}


def _line(cell: NotebookNode) -> int:
    return cell.metadata["book"]["line"]


class ReferenceItem(pytest.Item):
    """Whether the chapter has expected outputs, and of the cells that it has now."""

    def __init__(self, *, problem: str | None, **kwargs):
        super().__init__(**kwargs)
        self.problem = problem

    def runtest(self) -> None:
        if self.problem:
            raise Failure(self.problem)

    def repr_failure(self, excinfo):
        return str(excinfo.value)

    def reportinfo(self):
        return self.path, 0, f"{self.parent.run.name}: reference"


class LabelsItem(pytest.Item):
    """Whether what the chapter refers to and cites is in the book."""

    def runtest(self) -> None:
        try:
            wrong = labels_of(self.config, self.parent.book)
        except NotExpected as error:
            pytest.skip(f"labels are not known: {error}")
        if error := wrong.get(self.parent.run.chapter.path):
            raise Failure(without_machine_paths(str(error), self.parent.book.root))

    def repr_failure(self, excinfo):
        return str(excinfo.value)

    def reportinfo(self):
        return self.path, 0, f"{self.parent.run.name}: labels"


def labels_of(config: pytest.Config, book: Book) -> dict[Path, ChapterError]:
    """What is wrong in the whole book, looked for once: a label may stand in any chapter."""
    known = config.stash.setdefault(_LABELS, {})
    if book.root not in known:
        try:
            known[book.root] = wrong_references(book)
        except NotExpected as error:
            known[book.root] = error
    if isinstance(known[book.root], NotExpected):
        raise known[book.root]
    return known[book.root]


class CellItem(IPyNbCell):
    """One cell, or one number in prose."""

    def __init__(self, *, index: int, cell, allowed: Tolerances, trained, reference, **kwargs):
        where = cell.metadata["book"]
        options = {
            "check": where.get("options", {}).get("check", True) is not False,
            "check_exception": "raises-exception" in cell.metadata.tags,
            "skip": False,
        }
        kwargs |= {"cell_num": index, "cell": cell, "options": options}
        super().__init__(**kwargs)
        # nbval compares nothing where this is None; whether the reference ran is seen below.
        self.cell.execution_count = 1
        self.where, self.allowed, self.reference = where, allowed, reference
        self.trained = trained  # names of trained values, each with its tolerance
        self.output_timeout = 60

    def setup(self) -> None:
        if self.parent.broken:
            pytest.skip(f"not run, after {self.parent.broken}")

    def runtest(self) -> None:
        chapter = self.parent
        try:
            chapter.kernel_for(self)
            option = self.config.option
            before, option.nbval_cell_timeout = option.nbval_cell_timeout, chapter.run.timeout
            try:
                # nbval runs the cell and then calls raise_cell_error or compare_outputs.
                super().runtest()
            finally:
                option.nbval_cell_timeout = before
            chapter.passed.append(self)
        except (DeadKernel, Empty):
            chapter.broken = self._at(_line(self.cell))
            raise Failure(f"{chapter.broken}: {self._subject} ended its kernel") from None

    @property
    def _subject(self) -> str:
        return f"the computed number `{self.where['expr']}`" if self._number else "the cell"

    @property
    def _number(self) -> bool:
        return "expr" in self.where

    def _at(self, line: int) -> str:
        return f"{self.parent.run.name}:{line}"

    def raise_cell_error(self, message, *args, **kwargs):
        """Called by nbval when the cell raised or did not end."""
        line, errors = _line(self.cell), [o for o in self.test_outputs if "ename" in o]
        if self.parent.timed_out or not errors:
            said = too_long(self.parent.run)
        else:
            ename, evalue = errors[-1].ename, errors[-1].evalue
            root = self.parent.book.root
            said, line = describe_error(self.cell, ename, evalue, errors, root)
        self.parent.broken = self._at(line)
        raise Failure(f"{self._at(line)}: {self._subject} {said}")

    def compare_outputs(self, test, ref, skip_compare=None) -> bool:
        """Called by nbval with what the cell put out; `ref` is not used, `reference` is."""
        if self._number:
            self._compare_number(NotebookNode(outputs=test))
            return True
        if self.reference.execution_count is None:
            raise Failure(
                f"{self._at(_line(self.cell))}: the reference of this cell never ran; "
                "run make reference"
            )
        root = self.parent.book.root
        at = self._at(_line(self.cell))
        try:
            expected = normal_outputs(self.reference.outputs, root)
        except FigureError:
            raise Failure(
                f"{at}: the expected figure in {self.parent.reference_name} is not a PNG; "
                "run make reference"
            ) from None
        try:
            now = normal_outputs(test, root)
        except FigureError:
            raise Failure(f"{at}: the figure that the cell puts out is not a PNG") from None
        if found := find_difference(now, expected, self.allowed):
            raise Failure(self._told(found))
        return True

    def _compare_number(self, cell: NotebookNode) -> None:
        printed = printed_number(cell)
        if not same_number(printed, self.where):
            raise Failure(
                f"{self._at(_line(self.cell))}: the prose does not say what is computed; "
                "correct it, or run make reference\n"
                f"  in the prose: {self.where['typed']}\n"
                f"  computed:     {printed}   from {self.where['expr']}"
            )
        moves = self.where["tolerance"] is not None
        found = self.parent.kernel.evaluate(
            "__import__('bookbuild.turning', fromlist=['turning'])"
            f".find_turn(globals(), {self.where['expr']!r}, {self.trained!r}, {moves})",
            self.parent.run.timeout,
        )
        if found:
            now, then, names = found
            ways = [f"{name} by {self.trained[name]:g}" for name in names]
            raise Failure(
                f"{self._at(_line(self.cell))}: the sentence turns: {now!r} becomes {then!r} when "
                f"trained values move by their cell's tolerance ({', '.join(ways)}); choose "
                "settings that are farther from the edge, say less, or give the number a tolerance"
            )

    def _told(self, found: Difference) -> str:
        old, new = found.reference, found.now
        if isinstance(old, bytes):
            folder = self.parent.book.root / CACHE / "differences"
            stem = f"{self.parent.run.chapter.stem}-{_line(self.cell)}"
            files = [folder / f"{stem}.{which}.png" for which in ("reference", "now")]
            try:
                folder.mkdir(parents=True, exist_ok=True)
                for file, picture in zip(files, (old, new), strict=True):
                    file.write_bytes(picture)
            except OSError as error:
                old = new = f"not written to {CACHE}/differences ({error.strerror})"
            else:
                old, new = (file.relative_to(self.parent.book.root).as_posix() for file in files)
        said = f"{self._at(_line(self.cell))}: {found.what}"
        return f"{said}\n  reference: {old}\n  now:       {new}"

    def repr_failure(self, excinfo):
        if isinstance(excinfo.value, Failure):
            return str(excinfo.value)
        return super(IPyNbCell, self).repr_failure(excinfo)

    def reportinfo(self):
        return self.path, _line(self.cell) - 1, self._at(_line(self.cell))

"""Grade mutants, each in a process of its own that is forked from a warm one."""

import ast
import contextlib
import hashlib
import json
import multiprocessing
import multiprocessing.connection
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import tinygpt.lab
from tinygpt.lab import definitions, grading
from tinygpt.lab.definitions import Exercise

from tests.mutants import making
from tests.mutants.making import Mutant

KILLED, CRASHED, LATE, SURVIVED = "killed", "crashed", "late", "survived"
SHORTEST = 2.0  # seconds; or ten times what the solution takes
_GRACE = 8.0  # before a process that Python cannot interrupt is ended
_FORK = multiprocessing.get_context("fork")


@dataclass(frozen=True)
class Outcome:
    """What came of one mutant: killed, crashed, late or survived; and what the check said."""

    fate: str
    said: str = ""


def fate_of(exercise: Exercise, answer, seconds: float | None) -> Outcome:
    """Grade an answer and say how it ended."""
    result = grading.grade(exercise, answer, seconds)
    if result.status == grading.SOLVED:
        return Outcome(SURVIVED)
    fate = {"measured": KILLED, "late": LATE}.get(result.cause, CRASHED)
    return Outcome(fate, result.message)


def run(
    exercises: list[Exercise], processes: int, kept: Path, *, afresh: bool = False
) -> Iterator[tuple[Exercise, list[tuple[Mutant, Outcome]]]]:
    """Grade all mutants of each exercise, and give them exercise by exercise.

    Args:
        exercises: whose solutions to change.
        processes: how many run at once.
        kept: folder with the outcomes of earlier runs.
        afresh: run all of them again.
    """
    for exercise in exercises:
        mutants = making.mutants_of(exercise.solution)
        outcomes = None if afresh else _kept(kept, exercise, len(mutants))
        if outcomes is None:
            outcomes = _graded(exercise, mutants, processes)
            _keep(kept, exercise, outcomes)
        yield exercise, list(zip(mutants, outcomes, strict=True))


def _graded(exercise, mutants, processes) -> list[Outcome]:
    seconds = max(SHORTEST, 10 * _own_time(exercise))
    running, outcomes = {}, [None] * len(mutants)
    for number, mutant in enumerate(mutants):
        while len(running) >= processes:
            _collect(running)
        _start(running, exercise, mutant, seconds, outcomes, number)
    while running:
        _collect(running)
    return outcomes


def _own_time(exercise: Exercise) -> float:
    """Seconds that the checks take on the unchanged solution, built as a mutant is."""
    text = ast.unparse(ast.Module(making.definitions(exercise.solution), []))
    start = time.perf_counter()
    outcome = in_process(exercise, text, 120.0)
    if outcome.fate != SURVIVED:
        raise SystemExit(f"tests.mutants: the solution of {exercise.name} {outcome}")
    return time.perf_counter() - start


def in_process(exercise: Exercise, text: str, seconds: float) -> Outcome:
    """Grade the definitions of one text in a forked process."""
    running, outcomes = {}, [None]
    _start(running, exercise, Mutant("", "", text), seconds, outcomes, 0)
    while running:
        _collect(running)
    return outcomes[0]


def _start(running, exercise, mutant, seconds, outcomes, number) -> None:
    here, there = _FORK.Pipe(duplex=False)
    process = _FORK.Process(target=_child, args=(there, exercise, mutant.text, seconds))
    process.start()
    there.close()
    running[here] = (process, time.monotonic() + seconds + _GRACE, outcomes, number)


def _collect(running) -> None:
    """Take in the outcomes of processes that have ended or are long past their time."""
    left = min(deadline for _, deadline, _, _ in running.values()) - time.monotonic()
    ready = multiprocessing.connection.wait(list(running), max(0.0, left))
    for here in list(running):
        process, deadline, outcomes, number = running[here]
        if here in ready:
            try:
                outcome = Outcome(*here.recv())
            except EOFError:
                outcome = Outcome(CRASHED, "the process ended")
        elif time.monotonic() >= deadline:
            outcome = Outcome(LATE, "the process could not be interrupted")
        else:
            continue
        outcomes[number] = outcome
        process.kill()
        process.join()
        here.close()
        del running[here]


def _child(there, exercise, text, seconds) -> None:
    with contextlib.suppress(Exception):
        import resource

        used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        size = used * os.sysconf("SC_PAGE_SIZE") + 2 * 1024**3
        resource.setrlimit(resource.RLIMIT_AS, (size, size))
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    try:
        answer = making.build(exercise.solution, text)
    except BaseException as error:
        outcome = Outcome(CRASHED, repr(error))
    else:
        outcome = fate_of(exercise, answer, seconds)
    there.send((outcome.fate, outcome.said))
    os._exit(0)


def _digest(exercise: Exercise) -> str:
    """Of what decides an outcome: the solution's module, the checks, and this tool."""
    lab = Path(tinygpt.lab.__file__).parent
    files = [Path(sys.modules[exercise.solution.__module__].__file__)]
    files += sorted(Path(sys.modules[exercise.stub.__module__].__file__).parent.glob("*.py"))
    files += [Path(definitions.__file__), Path(grading.__file__), *sorted(lab.glob("measures*.py"))]
    files += sorted(Path(__file__).parent.glob("[cmr]*.py"))
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()


def _kept(folder, exercise, count):
    if folder is None:
        return None
    try:
        record = json.loads((folder / f"{exercise.name}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if record["digest"] != _digest(exercise) or len(record["outcomes"]) != count:
        return None
    return [Outcome(*outcome) for outcome in record["outcomes"]]


def _keep(folder, exercise, outcomes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    record = {"digest": _digest(exercise), "outcomes": [(o.fate, o.said) for o in outcomes]}
    path = folder / f"{exercise.name}.json"
    path.write_text(json.dumps(record), encoding="utf-8")

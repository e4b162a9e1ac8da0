"""`python -m tests.mutants [CHAPTER | EXERCISE …]` measures how much the checks find.

Each solution is changed in one place at a time: operators, comparisons, constants, slices,
axes, names of functions, arguments, whole statements. A check that measures must find it.

A mutant counts as killed when a check measured something wrong. One that raises an error
(crashed) or takes ten times as long as the solution (late) shows nothing about the check: it
has a column and no part in the score, which is killed / (killed + survived). Listed as
equivalent are those that behave as the solution does, with the reason (`equivalent/`).
Not made are mutants with the same bytecode, and changes of docstrings, annotations, and
of what only checks arguments (`raise`, and calls like `positive_integer("keep_top_k", "k", k)`):
no exercise asks for it. Of a class `__init__`, `forward` and the methods that they use are
changed; of a function also the private functions of its module that it uses.

The exit status is 1 when fewer than 97 % are killed over all or 90 % in an exercise, when more
than one in ten of an exercise's mutants is listed as equivalent, or when the list is out of
date. Outcomes are kept in .bookcache/mutants for as long as solution and checks stay the same;
`--afresh` runs all of them again.
"""

import argparse
import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

from tinygpt import lab

from tests.mutants.equivalent import equivalent_mutants
from tests.mutants.running import run
from tests.mutants.scoring import head, report, row, score

KEPT = Path(__file__).parents[2] / ".bookcache" / "mutants"


def main(arguments: list[str]) -> int:
    """Print the table and what survived; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("names", nargs="*", metavar="CHAPTER|EXERCISE")
    parser.add_argument("--afresh", action="store_true", help="use no kept outcomes")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--all", action="store_true", help="show what was said of every mutant")
    options = parser.parse_args(arguments)
    exercises = chosen(options.names)
    _warm()
    scores, listed = [], equivalent_mutants()
    width = max(len(exercise.name) for exercise in exercises)
    print(head(width))
    for exercise, outcomes in run(exercises, options.processes, KEPT, afresh=options.afresh):
        scores.append(score(exercise.name, outcomes, listed.get(exercise.name, [])))
        print(row(scores[-1], width), flush=True)
        if options.all:
            for mutant, outcome in outcomes:
                print(f"  {outcome.fate:8}  {mutant.before}  ->  {mutant.after}  [{outcome.said}]")
    text, status = report(scores, width)
    print(text)
    return status


def chosen(names: list[str]) -> list:
    """Return the exercises that the names mean: chapters, exercises, or all."""
    if not names:
        names = [chapter.name for chapter in lab.CHAPTERS]
    chapters = {chapter.name for chapter in lab.CHAPTERS}
    found = []
    for name in names:
        try:
            found += lab.find_chapter(name).exercises if name in chapters else [lab.exercise(name)]
        except lab.LabError as error:
            raise SystemExit(f"tests.mutants: {error}") from None
    return list(dict.fromkeys(found))


def _warm() -> None:
    """Import once what all forked processes need, and keep PyTorch to one thread."""
    if "torch" in sys.modules:
        import torch

        torch.set_num_threads(1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

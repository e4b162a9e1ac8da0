"""What the outcomes of an exercise's mutants come to."""

from dataclasses import dataclass, field

from tests.mutants.making import Mutant
from tests.mutants.running import CRASHED, KILLED, LATE, SURVIVED, Outcome

OVER_ALL, EACH = 0.97, 0.90
LISTED = 0.10  # of an exercise's mutants, at most


@dataclass
class Score:
    """The counts of one exercise, and what is wrong with its list of equivalent mutants."""

    name: str
    made: int = 0
    killed: int = 0
    crashed: int = 0
    late: int = 0
    equivalent: int = 0
    survivors: list[Mutant] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def share(self) -> float:
        """Killed, of those that a check measured and that are not equivalent."""
        judged = self.killed + len(self.survivors)
        return self.killed / judged if judged else 1.0


def score(
    name: str, outcomes: list[tuple[Mutant, Outcome]], listed: list[tuple[str, str, str]]
) -> Score:
    """Count, and compare with the list of equivalent mutants."""
    reasons = {(before, after): reason for before, after, reason in listed}
    counts = Score(name, made=len(outcomes))
    seen = {}
    for mutant, outcome in outcomes:
        seen[mutant.change] = outcome
        if outcome.fate == KILLED:
            counts.killed += 1
        elif outcome.fate == CRASHED:
            counts.crashed += 1
        elif outcome.fate == LATE:
            counts.late += 1
        elif mutant.change in reasons:
            counts.equivalent += 1
        else:
            counts.survivors.append(mutant)
    for change, reason in reasons.items():
        line = f"{name}: {change[0]}  ->  {change[1]}"
        if change not in seen:
            counts.wrong.append(f"{line} is listed as equivalent, and there is no such mutant")
        elif seen[change].fate != SURVIVED:
            counts.wrong.append(f"{line} is listed as equivalent, and {seen[change].fate}")
        if not reason.strip():
            counts.wrong.append(f"{line} is listed as equivalent without a reason")
    if counts.equivalent > LISTED * counts.made:
        counts.wrong.append(
            f"{name}: {counts.equivalent} of {counts.made} mutants are listed as equivalent; at "
            "most one in ten may be"
        )
    return counts


def head(width: int) -> str:
    """Return the table's first line."""
    columns = ("mutants", "killed", "crashed", "late", "equivalent", "survived", "score")
    return f"{'exercise':<{width}}" + "".join(f"{column:>11}" for column in columns)


def row(counts: Score, width: int) -> str:
    """Return a line of the table."""
    numbers = (
        counts.made,
        counts.killed,
        counts.crashed,
        counts.late,
        counts.equivalent,
        len(counts.survivors),
    )
    percent = f"{100 * counts.share:.1f} %"
    return f"{counts.name:<{width}}" + "".join(f"{n:>11,}" for n in numbers) + f"{percent:>11}"


def report(scores: list[Score], width: int) -> tuple[str, int]:
    """Return the total, the survivors and what is wrong, and the exit status."""
    total = Score("all")
    for one in scores:
        for count in ("made", "killed", "crashed", "late", "equivalent"):
            setattr(total, count, getattr(total, count) + getattr(one, count))
        total.survivors += one.survivors
    lines = [row(total, width), ""]
    for one in scores:
        if one.survivors:
            lines.append(f"Survivors of {one.name}:")
            for mutant in one.survivors:
                lines += [f"  - {mutant.before}", f"  + {mutant.after}"]
    wrong = [sentence for one in scores for sentence in one.wrong]
    wrong += [
        f"{one.name}: {100 * one.share:.1f} % killed, below {100 * EACH:.0f} %"
        for one in scores
        if one.share < EACH
    ]
    if total.share < OVER_ALL:
        share, least = 100 * total.share, 100 * OVER_ALL
        wrong.append(f"over all {share:.1f} % killed, below {least:.0f} %")
    return "\n".join(lines + wrong), int(bool(wrong))

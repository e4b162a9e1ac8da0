"""How two or more ways to do one thing are timed against each other."""

import random
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple


class Contestant(NamedTuple):
    """What runs in a race.

    Attributes:
        amount: how much work one run does, such as tokens.
        run: does it, with what `ready` returned.
        ready: makes itself ready, off the clock.
    """

    amount: float
    run: Callable[[Any], Any]
    ready: Callable[[], Any] = lambda: None


def race(
    contestants: dict[str, Contestant],
    rounds: int,
    check: Callable[[dict[str, Any]], None],
    at_most: float = float("inf"),
) -> dict[str, float]:
    """Return work per second of each contestant: the median over all rounds.

    Each round is in another order: what ran before leaves its traces in caches and threads.
    One more comes first, to warm up, and does not count. On a busy machine there are fewer
    rounds: no new one begins after `at_most` seconds, once three have counted.

    Args:
        contestants: what runs, by name.
        rounds: how often each runs.
        check: takes what each returned in a round, and raises if it is not the right thing.
        at_most: seconds for all of them.
    """
    speeds = {name: [] for name in contestants}
    deadline = time.perf_counter() + at_most
    for number in range(rounds + 1):
        if number > 3 and time.perf_counter() > deadline:
            break
        results = {}
        for name, one in random.sample(list(contestants.items()), len(contestants)):
            prepared = one.ready()
            start = time.perf_counter()
            results[name] = one.run(prepared)
            speeds[name].append(one.amount / (time.perf_counter() - start))
        check(results)
    return {name: statistics.median(each[1:]) for name, each in speeds.items()}

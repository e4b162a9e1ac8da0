"""`python -m tests.bench` prints the ratios; `python -m tests.bench train` trains for minutes."""

import sys

from tests.bench import train_scratch, train_step

BENCHES = {"step": train_step.main, "train": train_scratch.main}


def main(names):
    """Run the named benches; the fast one when none is named."""
    for name in names or ["step"]:
        if name not in BENCHES:
            raise SystemExit(
                f"tests.bench: {name!r} is not a bench; choose from {', '.join(BENCHES)}"
            )
        BENCHES[name]()


main(sys.argv[1:])

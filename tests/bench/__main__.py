"""`python -m tests.bench` measures and writes assets/speed.json; `… train` trains for minutes."""

import datetime
import json
import os
import platform
import sys
from pathlib import Path

import numpy as np
import torch
from tinygpt.files import write_whole

from tests.bench import convolution, generation, tokenizer, train_scratch, train_step

RESULTS = Path(__file__).parents[2] / "assets" / "speed.json"


def main(names):
    """Run the fast benches, or the long one when it is named."""
    if names == ["train"]:
        train_scratch.main()
    elif names:
        raise SystemExit(f"tests.bench: {names[0]!r} is not a bench; there is train, or nothing")
    else:
        report(write())


def write() -> dict:
    """Measure everything and keep it for the book's page on speed."""
    results = {
        "date": datetime.date.today().isoformat(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "threads": torch.get_num_threads(),
        "versions": {
            "Python": platform.python_version(),
            "NumPy": np.__version__,
            "PyTorch": torch.__version__.partition("+")[0],
        },
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "training": train_step.measure(),
        "generation": generation.measure(),
        "convolution": convolution.measure(),
        "tokenizer": tokenizer.measure(),
    }
    text = json.dumps(results, indent=2) + "\n"
    write_whole("bench", RESULTS, text.encode("utf-8"))
    return results


def report(results: dict):
    """Print the speeds and the ratios that are wanted."""
    training, writing = results["training"], results["generation"]
    machine, threads, load = (results[key] for key in ("machine", "threads", "load"))
    print(f"{machine}, {threads} threads, load {load} at the start")
    for title, speeds in [("training", training), ("generation", writing)]:
        for name, speed in speeds.items():
            print(f"{title:>11}  {name:<20} {speed:>9,.0f} tokens/s")
    rival = training["nanoGPT's idiom"]
    print(f"PyTorch / nanoGPT's idiom: {training['PyTorch'] / rival:.2f} (at least 1.00 wanted)")
    print(f"NumPy / nanoGPT's idiom:   {training['NumPy'] / rival:.2f} (at least 0.50 wanted)")
    convolution.report(results["convolution"])
    tokenizer.report(results["tokenizer"])


main(sys.argv[1:])

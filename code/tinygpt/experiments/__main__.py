"""`python -m tinygpt.experiments [NAME …]`: run experiments and keep what comes of them.

Without a name: those whose script or data have changed since, or that have not been run.
"""

import hashlib
import importlib
import json
import platform
import sys
import time

import numpy as np
import torch
from tqdm import tqdm

from tinygpt.data import load_digits, shakespeare, tinyshakespeare, write_atomically
from tinygpt.experiments import (
    ExperimentError,
    names,
    record,
    result_file,
    script_checksum,
)


def data_checksum(name: str) -> str:
    """SHA-256 of a corpus, or of the digits' pixels.

    Raises:
        ExperimentError: there is no such corpus.
    """
    texts = {"shakespeare": shakespeare, "tinyshakespeare": tinyshakespeare}
    if name == "digits":
        digits = load_digits()
        parts = [part.images for part in (digits.train, digits.test)]
        content = b"".join(np.ascontiguousarray(part).tobytes() for part in parts)
    elif name in texts:
        content = texts[name]().encode()
    else:
        raise ExperimentError(f"DATA must name {', '.join(texts)} or digits, got {name!r}")
    return hashlib.sha256(content).hexdigest()


def inputs(name: str) -> dict:
    """What a result depends on: the script and the data, each by its checksum."""
    module = importlib.import_module(f"tinygpt.experiments.{name}")
    data = {each: data_checksum(each) for each in module.DATA}
    return {"script": script_checksum(name), "data": data}


def is_current(name: str) -> bool:
    """Whether the result that is kept was made from this script and this data."""
    try:
        return record(name)["inputs"] == inputs(name)
    except ExperimentError:
        return False


def run(name: str) -> None:
    """Run an experiment and keep its result, whole or not at all."""
    start = time.perf_counter()
    module = importlib.import_module(f"tinygpt.experiments.{name}")
    made_from = inputs(name)  # before the run: a script changed meanwhile did not make it
    result = module.run()
    made = {
        "seconds": round(time.perf_counter() - start),
        "threads": torch.get_num_threads(),
        "cpu": f"{platform.machine()} {torch.backends.cpu.get_cpu_capability()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "torch": torch.__version__.partition("+")[0],
    }
    kept = {"inputs": made_from, "made": made, "result": result}
    text = json.dumps(kept, indent=1, ensure_ascii=False, allow_nan=False)
    write_atomically(result_file(name), (text + "\n").encode())


def main() -> None:
    """Run the experiments that are named, or those that are out of date."""
    chosen = sys.argv[1:] or [name for name in names() if not is_current(name)]
    if unknown := [name for name in chosen if name not in names()]:
        sys.exit(f"experiments: there is no {unknown[0]!r}; there is {', '.join(names())}")
    for name in tqdm(chosen, unit="experiment", disable=not sys.stderr.isatty()):
        run(name)
        print(f"{name}: kept in {result_file(name).name}", flush=True)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("Stopped. What was finished is kept.")
    except ExperimentError as error:
        sys.exit(f"experiments: {error}")

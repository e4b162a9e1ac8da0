"""Any text file, or a folder of them, piece by piece.

The pieces have the same characters on every machine: the files are read as UTF-8, with or
without a byte-order mark, and each end of a line is a line feed, however it is written.
"""

import codecs
import io
import os
from collections.abc import Iterator
from pathlib import Path

from tinygpt.data.files import DataError

SUFFIXES = (".txt", ".md")
# In the folder of a training run, whose samples are no part of a corpus.
RUN_MARK = ".tinygpt"
_PIECE = 1 << 18  # bytes


def text_files(path: Path) -> list[Path]:
    """The file itself, or a folder's text files (.txt, .md) with those of its subfolders.

    They are in the order of their names, folder by folder. Hidden files and folders, whose
    names begin with a dot, are left out, as are the folders of training runs, and links to
    folders are not followed.

    Raises:
        DataError: there is no such path, it is neither a file nor a folder, or the folder
            cannot be read or holds no text file.
    """
    if os.path.isfile(path):
        return [path]
    if not os.path.isdir(path):
        what = "is neither a file nor a folder" if os.path.lexists(path) else "is not there"
        if os.path.islink(path):
            what = "is a link that leads nowhere, or to itself"
        raise DataError(f"{path} {what}; give a text file or a folder of text files")
    found = []
    for folder, subfolders, names in os.walk(path, onerror=_cannot_be_read):
        subfolders[:] = [
            name
            for name in subfolders
            if not name.startswith(".") and not os.path.exists(Path(folder, name, RUN_MARK))
        ]
        files = [Path(folder, n) for n in names if n.lower().endswith(SUFFIXES) and n[0] != "."]
        found += [file for file in files if os.path.isfile(file)]
    if not found:
        raise DataError(f"{path} holds no text file; give a folder with .txt or .md files in it")
    return sorted(found, key=lambda file: file.relative_to(path).parts)


def read_pieces(files: list[Path], piece: int = _PIECE) -> Iterator[str]:
    """The text of the files one after the other, never more than one piece in memory.

    Args:
        files: what `text_files` found. Of several, each ends with the end of a line: where
            it does not, a line feed is added.
        piece: bytes to read at a time.

    Raises:
        DataError: a file cannot be read, or is not UTF-8, or holds a zero byte.
    """
    for file in files:
        end = "\n"
        for text in _decoded(file, piece):
            end = text[-1]
            yield text
        if end != "\n" and len(files) > 1:
            yield "\n"


def _decoded(file: Path, piece: int) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    newlines = io.IncrementalNewlineDecoder(None, translate=True)
    for content, position in _bytes(file, piece):
        final = not content
        try:
            text = newlines.decode(decoder.decode(content, final), final)
        except UnicodeDecodeError as error:
            # The decoder's own buffer, the end of the last piece, comes before the content.
            offset = position + len(content) - len(error.object) + error.start
            raise DataError(
                f"{file}: not UTF-8 (byte 0x{error.object[error.start]:02x} at offset "
                f"{offset:,}); save it as UTF-8"
            ) from None
        if text:
            yield text


def _bytes(file: Path, piece: int) -> Iterator[tuple[bytes, int]]:
    """Each piece of a file and where it begins; at the end an empty one."""
    position = 0
    try:
        with open(file, "rb") as opened:
            while True:
                content = opened.read(piece)
                if not position and content.startswith((b"\xff\xfe", b"\xfe\xff")):
                    raise DataError(
                        f"{file}: not UTF-8 (byte 0x{content[0]:02x} at offset 0, the mark of "
                        "UTF-16); save it as UTF-8"
                    )
                if (zero := content.find(0)) >= 0:
                    raise DataError(
                        f"{file}: a binary file (a zero byte at offset {position + zero:,}); "
                        "give a text file"
                    )
                yield content, position
                if not content:
                    return
                position += len(content)
    except OSError as error:
        _cannot_be_read(error, file)


def _cannot_be_read(error: OSError, path=None) -> None:
    raise DataError(
        f"{path or error.filename}: cannot be read ({error.strerror}); give a text file or a "
        "folder of text files that can be read"
    ) from None

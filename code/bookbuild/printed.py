"""What a cell printed, as every machine prints it and as a page can show it.

Every function takes time in proportion to its text, whatever stands in it: a pattern is
looked for inside a word, and never tried again from each of a word's characters.
"""

import os
import re
from pathlib import Path

from nbformat import NotebookNode

# Colours and cursor movements; titles and links, up to their end or to the line's; the rest.
_ESCAPES = re.compile(
    r"\x1b\[[0-9;:<=>?]*[ -/]*[@-~]"
    r"|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?"
    r"|\x1b[ -/]*[0-~]?"
)
# What HTML does not allow; tab, line feed, form feed and carriage return are white space.
_CONTROLS = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
# What a line showed before a carriage return began it again.
OVERWRITTEN = re.compile(r"^.*\r(?=[^\n])", re.M)
_WORD = re.compile(r"\S+")
_PATH = re.compile(r"[^\s\"'(<>:]+")
_CELL_FILE = re.compile(r"ipykernel_\d+[/\\]\d+\.py")
_PACKAGES = re.compile(r"[/\\](?:site|dist)-packages(?=[/\\])")
_LIBRARY = re.compile(r"[/\\]lib[/\\]python3\.\d+(?=[/\\])")


def join_streams(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Each stream in one piece, where it began, as a terminal leaves its progress bars.

    What arrived first is a matter of chance, so stdout comes before stderr beside it.
    """
    joined, streams = [], {}
    for output in outputs:
        if output.output_type != "stream":
            joined.append(output)
        elif output.name in streams:
            streams[output.name].append(output.text)
        else:
            joined.append(output)
            streams[output.name] = [output.text]
    for i, output in enumerate(joined):
        if output.output_type == "stream":
            output.text = OVERWRITTEN.sub("", "".join(streams[output.name]))
            if i and output.name == "stdout" and joined[i - 1].get("name") == "stderr":
                joined[i - 1], joined[i] = joined[i], joined[i - 1]
    return joined


def control_character(text: str) -> re.Match | None:
    """The first character that no page can show."""
    return _CONTROLS.search(text)


def strip_controls(text: str) -> str:
    """The text without the codes that steer a terminal, and without control characters."""
    return _CONTROLS.sub("", _ESCAPES.sub("", text))


def without_machine_paths(text: str, root: Path) -> str:
    """The text as it reads on every machine: files of the book relative to its root."""
    text = text.replace(str(root) + os.sep, "").replace(str(root), ".")
    text = _WORD.sub(_cell_name, text)
    return _PATH.sub(_library_name, text)


def clean(text: str, root: Path) -> str:
    """Both: what is kept of a text that a cell put out."""
    return without_machine_paths(strip_controls(text), root)


def _cell_name(word: re.Match) -> str:
    ends = [found.end() for found in _CELL_FILE.finditer(word[0])]
    return "<cell>" + word[0][ends[-1] :] if ends else word[0]


def _library_name(path: re.Match) -> str:
    name = path[0]
    for pattern, short in ((_PACKAGES, "site-packages"), (_LIBRARY, "python")):
        ends = [found.end() for found in pattern.finditer(name)]
        name = short + name[ends[-1] :] if ends else name
    return name

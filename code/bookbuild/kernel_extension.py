"""What a chapter's kernel does beyond IPython: loaded into it as an extension.

A cell's output has a limit, kept here so that neither the kernel nor who listens holds
more. A cell cannot end its kernel with `exit()`. The kernel notes which sources of the book
were read as text, and the colours that a figure was given.
"""

import functools
import os
import sys
from collections import defaultdict
from pathlib import Path

LIMIT = 1_000_000  # characters that a cell may print, and as many to stderr and to displays
CUT = f"[The output is cut here: a cell keeps its first {LIMIT:,} characters.]"
WORKSPACE = "BOOKBUILD_WORKSPACE"  # the variable that names the kernel's own folder
READ = "read"  # the file there: the sources that were read, one a line
_EACH = 100  # characters that one more display counts for, whatever it shows


def load_ipython_extension(shell) -> None:
    session = shell.kernel.session
    limit = OutputLimit()
    session.send = limit.around(session.send)
    shell.events.register("pre_run_cell", lambda _: limit.reset())
    shell.ask_exit = _refuse_to_exit
    folder = os.environ.get(WORKSPACE)
    if folder:
        sys.addaudithook(_SourcesRead(Path.cwd() / "code", Path(folder) / READ))
    formatter = shell.display_formatter.mimebundle_formatter
    formatter.for_type_by_name("matplotlib.figure", "Figure", figure_colours)


class CellExit(Exception):
    """`exit()` or `quit()` in a cell."""


def _refuse_to_exit() -> None:
    raise CellExit


class OutputLimit:
    """Cuts what one cell puts out, message by message, with a sentence where it cuts."""

    def __init__(self):
        self.reset()

    def reset(self) -> None:
        self._used: dict[str, int] = defaultdict(int)

    def around(self, send):
        """The session's `send`, which gets no more than the limit."""

        @functools.wraps(send)
        def limited(stream, msg_or_type, content=None, *args, **kwargs):
            whole = isinstance(msg_or_type, dict)
            kind = msg_or_type["msg_type"] if whole else msg_or_type
            inside = msg_or_type.get("content") if whole else content
            if isinstance(inside, dict) and not self.keep(kind, inside):
                return None
            return send(stream, msg_or_type, content, *args, **kwargs)

        return limited

    def keep(self, kind: str, content: dict) -> bool:
        """Cut a message's content, in place; whether anything is left to send."""
        if kind == "clear_output":
            self.reset()
        elif kind == "stream":
            content["text"] = self._cut(content["name"], content["text"])
            return bool(content["text"])
        elif kind in ("display_data", "execute_result", "update_display_data"):
            return self._keep_display(content)
        elif kind in ("error", "execute_reply") and "evalue" in content:
            content["evalue"] = content["evalue"][:LIMIT]
            content["traceback"] = [line[:LIMIT] for line in content["traceback"]]
        return True

    def _keep_display(self, content: dict) -> bool:
        if self._used["display"] > LIMIT:
            return False
        data = content["data"] = dict(content["data"])  # the cell may hold the given one
        for mime, value in data.items():
            if isinstance(value, str) and not mime.startswith("image/"):
                data[mime] = self._cut("display", value)
        if self._used["display"] <= LIMIT:
            self._used["display"] += _EACH
            if self._used["display"] > LIMIT:
                data["text/plain"] = CUT
        return True

    def _cut(self, where: str, text: str) -> str:
        """What is left of a text; the sentence stands after the last piece."""
        used = self._used[where]
        if used > LIMIT:
            return ""
        self._used[where] += len(text)
        if self._used[where] <= LIMIT:
            return text
        return f"{text[: LIMIT - used]}\n{CUT}\n"


class _SourcesRead:
    """An audit hook: notes each source of the book that is opened, except to import it."""

    def __init__(self, code: Path, file: Path):
        self.code, self.file, self.seen = str(code.resolve()) + os.sep, str(file), set()

    def __call__(self, event: str, arguments: tuple) -> None:
        if event != "open" or not isinstance(arguments[0], str | bytes | os.PathLike):
            return
        name = os.fsdecode(arguments[0])
        if not name.endswith(".py") or _imports():
            return
        path = os.path.realpath(name)
        if path in self.seen or not path.startswith(self.code):
            return
        self.seen.add(path)
        with open(self.file, "a", encoding="utf-8") as file:
            file.write(path.removeprefix(self.code) + "\n")


def _imports() -> bool:
    """Whether a file is opened to be run, which shows nothing of its text."""
    reader = sys._getframe(2)
    return (
        reader.f_code.co_name == "get_data"
        and reader.f_back is not None
        and reader.f_back.f_code.co_name == "get_code"
        and "importlib" in reader.f_back.f_code.co_filename
    )


def figure_colours(figure) -> tuple[dict, dict]:
    """No data, and as metadata the colours that a figure's parts were given, by kind.

    Where a colour stands for a value (an image, a scatter with `c=`), the processor that
    computed the value has a say in it, so it is left out.
    """
    from matplotlib.collections import Collection
    from matplotlib.colors import to_hex
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.text import Text

    found = defaultdict(set)

    def note(kind: str, *colours) -> None:
        written = {to_hex(colour, keep_alpha=True) for colour in colours}
        found[kind] |= {c[:7] if c.endswith("ff", 7) else c for c in written if c[7:] != "00"}

    parts = figure.findobj(lambda artist: artist.get_visible())
    parts += [p.arrow_patch for p in parts if getattr(p, "arrow_patch", None) is not None]
    for part in parts:
        if isinstance(part, Text):
            note("text", part.get_color())
        elif isinstance(part, Line2D):
            note("lines", part.get_color())
            if part.get_marker() not in ("None", "none", " ", "", None):
                note("lines", part.get_markerfacecolor(), part.get_markeredgecolor())
        elif isinstance(part, Patch):
            note("areas", part.get_facecolor(), *([part.get_edgecolor()] * bool(part.get_lw())))
        elif isinstance(part, Collection) and part.get_array() is None:
            note("areas", *part.get_facecolor(), *part.get_edgecolor())
    return {}, {"colours": {kind: sorted(given) for kind, given in sorted(found.items()) if given}}

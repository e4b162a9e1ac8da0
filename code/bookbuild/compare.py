"""Whether two runs of a cell say the same: text exactly, numbers and figures within tolerance.

Outputs are compared, and kept in tests/reference/, in a normal form: what depends on the
machine or on the moment is gone, and figures are small.
"""

import base64
import io
import math
import re
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import numpy as np
from nbformat import NotebookNode
from nbformat.v4 import new_output
from PIL import Image

from bookbuild.notebook import Cell
from bookbuild.printed import OVERWRITTEN, clean

FIGURE_WIDTH = 400  # pixels, at most
FIGURE_TOLERANCE = 0.004  # root mean square distance of two figures' pixels, 1 is black to white
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,16}\b")
_NUMBER = re.compile(
    r"[-+\u2212]?(?:(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
    r"|[-+\u2212]?\b(?:nan|inf)\b"
)


@dataclass(frozen=True)
class Tolerances:
    """What a cell's options allow. Text is exact where `relative` is None."""

    relative: float | None = None
    absolute: float = 0.0
    figure: float = FIGURE_TOLERANCE

    @classmethod
    def of(cls, cell: Cell) -> "Tolerances":
        """The options `tolerance` and `fig-tolerance` of a cell.

        Raises:
            ValueError: one of them is not what it can be; the message says what.
        """
        given = cell.options.get("tolerance")
        both = given if isinstance(given, dict) else {"rtol": given, "atol": 0.0}
        if given is not None and not (
            both and set(both) <= {"rtol", "atol"} and all(map(_not_negative, both.values()))
        ):
            raise ValueError(
                f"tolerance is {given!r}; give a share such as 0.02, or {{rtol: 0.02, atol: 0.001}}"
            )
        figure = cell.options.get("fig-tolerance", FIGURE_TOLERANCE)
        if not _not_negative(figure):
            raise ValueError(f"fig-tolerance is {figure!r}; give a share such as 0.02")
        relative = None if given is None else float(both.get("rtol", 0.0))
        return cls(relative, float(both.get("atol", 0.0)), float(figure))


def _not_negative(value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


class FigureError(Exception):
    """An output that is said to be a PNG and is not."""


@dataclass(frozen=True)
class Difference:
    """Where two outputs part: what has changed, and both values, each a line or a figure."""

    what: str
    reference: str | bytes
    now: str | bytes


# Normal form


def normal_outputs(outputs: list[NotebookNode], root: Path) -> list[NotebookNode]:
    """Outputs without warnings, addresses, machine paths and metadata, with small figures.

    What a cell prints comes first, in one piece; what it displays keeps its order.
    """
    printed = "".join(o.text for o in outputs if o.output_type == "stream" and o.name == "stdout")
    normal = []
    if printed:
        normal.append(new_output("stream", name="stdout", text=_normal_text(printed, root)))
    for output in outputs:
        if output.output_type == "error":
            value = _normal_text(output.evalue, root)
            normal.append(new_output("error", ename=output.ename, evalue=value, traceback=[]))
        elif output.output_type in ("display_data", "execute_result"):
            colours = output.get("metadata", {}).get("colours")
            metadata = {"colours": colours} if colours else {}
            data = _normal_data(output.data, root)
            normal.append(new_output("display_data", data=data, metadata=metadata))
    return normal


def _normal_text(text: str, root: Path) -> str:
    text = OVERWRITTEN.sub("", text)
    return _ADDRESS.sub("0x…", clean(text, root))


def _normal_data(data: dict, root: Path) -> dict:
    normal = {}
    for mime, value in sorted(data.items()):
        if mime == "image/png":
            picture = small_figure(_decoded(value))
            normal[mime] = base64.b64encode(picture).decode("ascii") + "\n"
        elif isinstance(value, str):
            normal[mime] = _normal_text(value, root)
        elif mime != "application/vnd.jupyter.widget-view+json":  # its identifiers are random
            normal[mime] = value
    return normal


def _decoded(value: str) -> bytes:
    try:
        return base64.b64decode(value)
    except ValueError:
        raise FigureError("the figure is not a PNG, or a damaged one") from None


def small_figure(png: bytes) -> bytes:
    """A PNG on white, at most `FIGURE_WIDTH` pixels wide.

    Raises:
        FigureError: it is no picture, or a damaged one.
    """
    try:
        with Image.open(io.BytesIO(png)) as image:
            image = image.convert("RGBA")
    except Exception:  # Pillow raises whatever its decoder meets
        raise FigureError("the figure is not a PNG, or a damaged one") from None
    white = Image.new("RGBA", image.size, "white")
    image = Image.alpha_composite(white, image).convert("RGB")
    if image.width > FIGURE_WIDTH:
        height = max(1, round(image.height * FIGURE_WIDTH / image.width))
        image = image.resize((FIGURE_WIDTH, height), Image.Resampling.BOX)
    file = io.BytesIO()
    image.save(file, "PNG", optimize=True)
    return file.getvalue()


# Comparison


def find_difference(
    now: list[NotebookNode], reference: list[NotebookNode], allowed: Tolerances
) -> Difference | None:
    """The first difference between two outputs in normal form, or None."""
    kinds_now, kinds_reference = [_kinds(o) for o in now], [_kinds(o) for o in reference]
    if kinds_now != kinds_reference:
        return Difference("the cell puts out something else", _listed(reference), _listed(now))
    for new, old in zip(now, reference, strict=True):
        for mime, value in _parts(old).items():
            if found := _difference_in(mime, _parts(new)[mime], value, allowed):
                return found
        if found := _difference_in_colours(new, old):
            return found
    return None


def _parts(output: NotebookNode) -> dict:
    if output.output_type == "stream":
        return {"what it prints": output.text}
    if output.output_type == "error":
        return {"what it raises": f"{output.ename}: {output.evalue}"}
    return output.data


def _kinds(output: NotebookNode) -> str:
    names = {"image/png": "a figure", "text/plain": "a value"}
    kinds = [names.get(kind, kind) for kind in _parts(output)]
    return "a figure" if "a figure" in kinds else " and ".join(kinds)


def _listed(outputs: list[NotebookNode]) -> str:
    return ", ".join(map(_kind_and_text, outputs)) or "nothing"


def _kind_and_text(output: NotebookNode) -> str:
    """As `what it prints: 1.5 …`; the dots stand for the lines that follow."""
    kind, parts = _kinds(output), _parts(output)
    text = parts.get("text/plain") if output.output_type == "display_data" else [*parts.values()][0]
    if kind == "a figure" or not isinstance(text, str) or not text.strip():
        return kind
    first, *more = text.strip("\n").split("\n")
    return f"{kind}: {first}{' …' if more else ''}"


def _difference_in(mime: str, now, reference, allowed: Tolerances) -> Difference | None:
    if mime == "image/png":
        return _difference_in_figure(base64.b64decode(now), base64.b64decode(reference), allowed)
    if not isinstance(now, str) or not isinstance(reference, str):
        same = now == reference
        return None if same else Difference("the output has changed", str(reference), str(now))
    return difference_in_text(now, reference, allowed)


def difference_in_text(now: str, reference: str, allowed: Tolerances) -> Difference | None:
    """The first line in which two texts differ, numbers within the tolerance, or None."""
    if now == reference:
        return None
    pairs = zip_longest(now.split("\n"), reference.split("\n"))
    for number, (new, old) in enumerate(pairs, 1):
        if new is None or old is None or not _same_line(new, old, allowed):
            many = "\n" in reference.strip("\n") or "\n" in now.strip("\n")
            what = "the output has changed" + (f" in its line {number}" if many else "")
            if allowed.relative is not None:
                what += f", beyond the tolerance of {allowed.relative:g}"
                what += f" and {allowed.absolute:g}" if allowed.absolute else ""
            return Difference(what, _or_nothing(old), _or_nothing(new))
    return None


def _or_nothing(line: str | None) -> str:
    return "(no such line)" if line is None else line or "(an empty line)"


def _same_line(now: str, reference: str, allowed: Tolerances) -> bool:
    if allowed.relative is None:
        return now == reference
    # The width of a number may change, and with it the spaces around it.
    words = [[" ".join(s.split()) for s in _NUMBER.split(line)] for line in (now, reference)]
    if words[0] != words[1]:
        return False
    numbers = zip(_NUMBER.findall(now), _NUMBER.findall(reference), strict=True)
    return all(_close(_value(new), _value(old), allowed) for new, old in numbers)


def _value(number: str) -> float:
    return float(number.replace(",", "").replace("\u2212", "-"))


def _close(now: float, reference: float, allowed: Tolerances) -> bool:
    if math.isnan(now) and math.isnan(reference):
        return True
    if math.isinf(now) or math.isinf(reference):
        return now == reference
    return abs(now - reference) <= allowed.absolute + allowed.relative * abs(reference)


def _difference_in_figure(now: bytes, reference: bytes, allowed: Tolerances) -> Difference | None:
    new, old = Image.open(io.BytesIO(now)), Image.open(io.BytesIO(reference))
    if any(abs(a - b) > max(2, 0.02 * b) for a, b in zip(new.size, old.size, strict=True)):
        sizes = [f"{image.width} × {image.height} pixels" for image in (old, new)]
        return Difference(f"the figure has changed from {sizes[0]} to {sizes[1]}", reference, now)
    distance = figure_distance(new, old)
    if distance <= allowed.figure:
        return None
    what = f"the figure has changed: RMS distance {distance:.4f}, allowed {allowed.figure:g}"
    return Difference(what, reference, now)


def _difference_in_colours(now: NotebookNode, reference: NotebookNode) -> Difference | None:
    """The colours that a figure's parts were given, exactly: no processor has a say in them.

    A slight change of a thin line's or a text's colour is far below what pixels may differ.
    """
    old, new = (output.get("metadata", {}).get("colours") for output in (reference, now))
    if not old or not new:  # an expected output from before colours were noted
        return None
    for kind in dict.fromkeys([*old, *new]):
        if old.get(kind) != new.get(kind):
            given = [", ".join(colours.get(kind, [])) or "none" for colours in (old, new)]
            return Difference(f"the colours of the figure's {kind} have changed", *given)
    return None


def figure_distance(now: Image.Image, reference: Image.Image) -> float:
    """The root mean square difference of two figures' pixels; 1 is from black to white."""
    now = now.convert("RGB").resize(reference.size)
    pixels = [np.asarray(image, dtype=np.float64) for image in (now, reference.convert("RGB"))]
    return float(np.sqrt(np.mean((pixels[0] - pixels[1]) ** 2))) / 255

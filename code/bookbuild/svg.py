"""Makes a hand-written SVG a part of the page, where it takes the page's colours."""

import math
import re
import xml.etree.ElementTree as ET

NAMESPACE = "http://www.w3.org/2000/svg"
_ALLOWED = frozenset({
    "svg", "g", "defs", "title", "desc", "style", "path", "rect", "circle", "ellipse", "line",
    "polyline", "polygon", "text", "tspan", "textPath", "marker", "linearGradient",
    "radialGradient", "stop", "pattern", "clipPath", "mask", "use", "symbol",
})  # fmt: skip
_RULE = re.compile(r"\s*([^{}]+)\{([^{}]*)\}")
_COMMENT = re.compile(r"/\*.*?\*/", re.S)
_FONT_SIZE = re.compile(r"font(?:-size)?:[^;}]*?(\d+(?:\.\d+)?)(?:px|\s*(?:;|}|$))")
_SMALLEST = 11  # pixels, of a label that can be read on a phone
_URL = re.compile(r"url\(\s*['\"]?([^'\")]*)['\"]?\s*\)")


class SvgError(Exception):
    """An SVG that cannot be part of a page: why."""


def inline_svg(text: str, prefix: str, label: str, title: str, width: str | None = None) -> str:
    """The SVG as an element of a page.

    Args:
        text: the file.
        prefix: makes its ids and styles its own; they begin with it.
        label: what the figure shows, for a screen reader.
        title: the tooltip, where the file brings none.
        width: as CSS has it; without one the drawing fills its place.

    Raises:
        SvgError: not an SVG, or one with scripts, event handlers, outside addresses,
            foreign elements or style rules that reach beyond it.
    """
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise SvgError("it has a DOCTYPE; remove it")
    try:
        root = ET.fromstring(text)
    except ET.ParseError as error:
        raise SvgError(f"it is not XML: {error}") from None
    if root.tag != f"{{{NAMESPACE}}}svg":
        raise SvgError(f'its root is not <svg xmlns="{NAMESPACE}">')
    for element in root.iter():
        _own(element, prefix)
    if "viewBox" not in root.attrib:
        raise SvgError("it has no viewBox, so it cannot shrink on a phone; add one")
    legible = _legible_width(root)
    style = [
        root.get("style"),
        f"--legible: {legible}px" if legible else None,
        f"width: {width}" if width else None,
    ]
    if any(style):
        root.set("style", "; ".join(filter(None, style)))
    root.attrib |= {"id": prefix, "role": "img", "aria-label": label}
    if root.find(f"{{{NAMESPACE}}}title") is None:
        element = ET.Element(f"{{{NAMESPACE}}}title")
        element.text = title
        root.insert(0, element)
    return _plain(ET.tostring(root, encoding="unicode"))


def _legible_width(root: ET.Element) -> int | None:
    """The width in pixels at which the smallest letters of the drawing have 11 pixels.

    None where it says no size of letters.
    """
    texts = [element.text or "" for element in root.iter() if _local(element.tag) == "style"]
    texts += [element.get("style", "") for element in root.iter()]
    texts += [f"font-size: {element.get('font-size')}" for element in root.iter()]
    sizes = [float(size) for text in texts for size in _FONT_SIZE.findall(text)]
    box = root.attrib["viewBox"].replace(",", " ").split()
    return math.ceil(float(box[2]) * _SMALLEST / min(sizes)) if sizes else None


def _local(name: str) -> str:
    return name.rsplit("}")[-1]


def _own(element: ET.Element, prefix: str) -> None:
    name = element.tag.removeprefix(f"{{{NAMESPACE}}}")
    if name not in _ALLOWED:
        raise SvgError(f"it has the element <{name}>; known: {', '.join(sorted(_ALLOWED))}")
    for key, value in list(element.attrib.items()):
        local = key.rsplit("}")[-1]
        if local.startswith("on"):
            raise SvgError(f"it has the event handler {local}; remove it")
        if local == "id":
            element.set(key, f"{prefix}-{value}")
        elif local == "href":
            if not value.startswith("#"):
                raise SvgError(f"it links to {value}; only #ids of its own")
            del element.attrib[key]
            element.set("href", f"#{prefix}-{value[1:]}")
        elif local in ("aria-labelledby", "aria-describedby"):
            element.set(key, " ".join(f"{prefix}-{part}" for part in value.split()))
        else:
            element.set(key, _own_urls(value, prefix))
    if name == "style":
        element.text = "\n" + _own_style(element.text or "", prefix) + "\n"


def _own_urls(value: str, prefix: str) -> str:
    def own(match: re.Match) -> str:
        if not match[1].startswith("#"):
            raise SvgError(f"it refers to {match[1]}; only #ids of its own")
        return f"url(#{prefix}-{match[1][1:]})"

    return _URL.sub(own, value)


def _own_style(css: str, prefix: str) -> str:
    """Let each rule reach only this SVG."""
    css, out, at = _COMMENT.sub("", css), [], 0
    while css[at:].strip():
        rule = _RULE.match(css, at)
        if not rule or rule[1].lstrip().startswith("@"):
            start = css[at:].strip().split("\n")[0]
            raise SvgError(f"its style has {start!r}; only rules like .name {{ fill: … }}")
        selectors = [
            re.sub(r"#([\w-]+)", rf"#{prefix}-\1", selector.strip())
            for selector in rule[1].split(",")
        ]
        selectors = [f"#{prefix} {selector}" for selector in selectors]
        out.append(f"{', '.join(selectors)} {{ {_own_urls(rule[2], prefix).strip()} }}")
        at = rule.end()
    return "\n".join(out)


def _plain(text: str) -> str:
    """Without the namespace prefix that ElementTree writes."""
    return re.sub(r"(</?)ns0:", r"\1", text).replace("xmlns:ns0=", "xmlns=")

"""Writes a formula as one line of text, for the search and for descriptions."""

import re
import unicodedata
import xml.etree.ElementTree as ET

FORMULA = re.compile(r"<math\b.*?</math>", re.S)

# Signs with room on both sides; ElementTree gives the rest as it stands.
_RELATIONS = frozenset("=≈≠≤≥<>∈→←∼≡∝+−±")
_INVISIBLE = re.compile("[\u2061-\u2064]")  # function application and its like
_BARE = ("′", "″", "ˆ", "^", "¯", "˜", "~", "⊤", "*")
_SCRIPTS = {"msub": "_", "munder": "_", "msup": "^", "mover": "^"}


def formula_text(math: str) -> str:
    """`<math>` as a line: `d_k`, `1/√(d_k)`, `∑_(i=1)^n x_i`.

    A script or a part of a fraction of more than one sign is put in brackets.
    """
    text = _INVISIBLE.sub("", _write(ET.fromstring(math)))
    return " ".join(text.split())


def _write(element: ET.Element) -> str:
    name = element.tag.rsplit("}")[-1]
    if name == "semantics":
        return _write(element[0])
    if name in ("annotation", "mspace", "mphantom"):
        return " " if name == "mspace" and element.get("width") not in ("0", None) else ""
    parts = [_write(child) for child in element]
    if name == "mfrac":
        return f"{_group(parts[0])}/{_group(parts[1])}"
    if name == "msqrt":
        return f"√{_group(''.join(parts))}"
    if name == "mroot":
        return f"{_group(parts[0])}^(1/{parts[1].strip()})"
    if name in _SCRIPTS:
        return _script(parts[0], _SCRIPTS[name], parts[1])
    if name in ("msubsup", "munderover"):
        return _script(_script(parts[0], "_", parts[1]), "^", parts[2])
    if name == "mtable":
        return "; ".join(parts)
    if name == "mtr":
        return " ".join(parts)
    text = (element.text or "").strip() if not parts else "".join(parts)
    if name == "mo":
        if text in _RELATIONS and element.get("form") != "prefix":
            return f" {text} "
        return f"{text} " if text in (",", ";") else text
    return f"{text} " if name == "mtext" else text


def _script(base: str, sign: str, script: str) -> str:
    """`x_i`; an accent or a prime stands after its letter without a sign."""
    script = script.strip()
    if not script:  # as in `{}`, which only makes room
        return base
    if unicodedata.combining(script[0]) or (sign == "^" and script in _BARE):
        return base + script
    room = " " if base[:1] in "∑∏∫" else ""
    return f"{base.rstrip()}{sign}{_group(script)}{room}"


def _group(text: str) -> str:
    text = text.strip()
    plain = re.fullmatch(r"\w+|.|[\w√]+", text) or re.fullmatch(r"\([^()]*\)", text)
    return text if plain else f"({text})"

"""Calls Pandoc: reads Markdown, sets citations, writes HTML and Markdown.

A call takes some hundredths of a second, so nothing is kept between calls.
"""

import io
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import panflute as pf
import pypandoc

from bookbuild.owned import OwnedFolder

# Pandoc turns `<div>` and `<span>` into its own divs and spans; here they stay raw HTML,
# which the vocabulary then refuses.
READER = "markdown-native_divs-native_spans"
# What the Markdown cells of a notebook understand.
NOTEBOOK = "commonmark+pipe_tables+tex_math_dollars+strikeout"
HTML = ["--to=html5", "--mathml", "--section-divs", "--wrap=none", "--email-obfuscation=none"]
# Pandoc takes the names of files in the locale's encoding, and in the C locale knows no "ä".
_LOCALE = "en_US.UTF-8" if sys.platform == "darwin" else "C.UTF-8"


class PandocError(Exception):
    """Pandoc stopped; the message is its own."""


def read_markdown(text: str) -> tuple[pf.Doc, list[dict]]:
    """The syntax tree of `text`, and what Pandoc noted while reading it.

    Each note is a dictionary with `type`, `pretty` and, for some, positions.
    """
    output, log = call(["--from", READER, "--to=json"], text)
    return load(output), log


def read_inlines(texts: list[str]) -> list[list[pf.Inline] | None]:
    """What each text holds when it is one paragraph; None when it is anything else."""
    lines = [" ".join(text.split()) for text in texts]
    if not lines:
        return []
    blocks = list(read_markdown("\n\n".join(lines))[0].content)
    if len(blocks) == len(lines) and all(isinstance(block, pf.Para) for block in blocks):
        return [list(block.content) for block in blocks]
    if len(lines) == 1:
        return [None if blocks else []]
    return [read_inlines([line])[0] for line in lines]


def set_citations(doc: pf.Doc, bibliography: list[Path], csl: Path | None, lang: str) -> pf.Doc:
    """Replace citations by their text and fill the div `refs`."""
    arguments = ["--from=json", "--to=json", "--citeproc", "--metadata=link-citations=true"]
    arguments += [f"--metadata=lang={lang}"]
    arguments += [f"--bibliography={path}" for path in bibliography]
    arguments += [f"--csl={csl}"] if csl else []
    return load(call(arguments, dump(doc))[0])


def write_html(doc: pf.Doc) -> tuple[str, list[dict]]:
    """The HTML of the document, and what Pandoc noted while writing it."""
    return call(["--from=json", *HTML], dump(doc))


def write_notebook_markdown(doc: pf.Doc) -> str:
    """The document as Markdown for the cells of a notebook."""
    return call(["--from=json", f"--to={NOTEBOOK}", "--wrap=preserve"], dump(doc))[0]


def citation_keys(bibliography: list[Path]) -> set[str]:
    """The keys of the works in the bibliography.

    Raises:
        PandocError: a file that is missing or cannot be read.
    """
    keys = set()
    for path in bibliography:
        if not path.is_file():
            raise PandocError(f"{path}: no such file; _quarto.yml lists it as bibliography")
        try:
            path.read_bytes().decode("utf-8")
        except UnicodeDecodeError as error:
            line = error.object[: error.start].count(b"\n") + 1
            raise PandocError(f"{path}:{line}: not UTF-8; save the file as UTF-8") from None
        try:
            records = json.loads(call([str(path), "--to=csljson"], "")[0])
        except PandocError as error:
            raise PandocError(f"{path}: the bibliography cannot be read: {error}") from None
        keys.update(record["id"] for record in records)
    return keys


def load(text: str) -> pf.Doc:
    return pf.load(io.StringIO(text))


def dump(doc: pf.Doc) -> str:
    return json.dumps(doc.to_json(), ensure_ascii=False)


def copy_inlines(inlines: list[pf.Inline]) -> list[pf.Inline]:
    """Copies that can stand in a second place (`copy.deepcopy` copies the whole document)."""
    doc = pf.Doc()
    data = doc.to_json()
    data["blocks"] = [{"t": "Plain", "c": [inline.to_json() for inline in inlines]}]
    return list(load(json.dumps(data)).content[0].content) if inlines else []


def call(arguments: list[str], text: str) -> tuple[str, list[dict]]:
    """Run Pandoc on `text`.

    Raises:
        PandocError: it could not be run, or it stopped.
    """
    with OwnedFolder() as folder:
        log = folder / "log.json"
        done = subprocess.run(
            [_program(), f"--log={log}", "--quiet", *arguments],
            input=text.encode(),
            capture_output=True,
            check=False,
            env=os.environ | {"LC_ALL": _LOCALE},
        )
        if done.returncode != 0:
            message = " ".join(done.stderr.decode(errors="replace").split())
            raise PandocError(message or f"Pandoc stopped with code {done.returncode}")
        notes = json.loads(log.read_text(encoding="utf-8")) if log.exists() else []
    return done.stdout.decode(), notes


@cache
def _program() -> str:
    try:
        return pypandoc.get_pandoc_path()
    except OSError:
        raise PandocError(
            "there is no Pandoc; install the requirements: pip install -r requirements.lock"
        ) from None

"""The book as `_quarto.yml` describes it: title, parts, chapters in order."""

import os
from dataclasses import dataclass
from pathlib import Path

import yaml


class ConfigError(Exception):
    """A `_quarto.yml` that does not describe a book."""


@dataclass(frozen=True)
class Entry:
    """One page of the book. `number` counts chapters; the front page has none."""

    source: Path  # absolute path of the .qmd
    href: str  # path of the page inside the site, with forward slashes
    number: int | None
    part: str | None


@dataclass(frozen=True)
class Book:
    """The book: where it is and what it holds, in reading order."""

    root: Path
    title: str
    author: str
    description: str
    entries: list[Entry]
    bibliography: list[Path]
    output: Path
    repo_url: str | None
    meta: dict  # the whole of _quarto.yml


def find_root(start: Path) -> Path:
    """The nearest folder at or above `start` that holds a `_quarto.yml`."""
    for folder in [start.resolve(), *start.resolve().parents]:
        if (folder / "_quarto.yml").is_file():
            return folder
    raise ConfigError(f"{start}: no _quarto.yml here or in a folder above; run inside the book")


def read_book(root: Path) -> Book:
    """Read `_quarto.yml`.

    Raises:
        ConfigError: no such file, not YAML, not a book project, or a chapter that is missing.
    """
    path = root / "_quarto.yml"
    try:
        meta = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such file; run inside the book") from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ConfigError(f"{path}:{line}: not UTF-8; save the file as UTF-8") from None
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date such as 2026-13-01
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or " ".join(str(error).split())
        raise ConfigError(f"{path}:{mark.line + 1 if mark else 1}: not YAML: {problem}") from None
    book = meta.get("book") if isinstance(meta, dict) else None
    if not isinstance(book, dict) or not book.get("chapters"):
        raise ConfigError(f"{path}: a book needs `project: type: book` and `book: chapters:`")
    output = _output(root, path, meta.get("project"))
    entries = _entries(root, path, book["chapters"])
    bibliography = meta.get("bibliography") or []
    if isinstance(bibliography, str):
        bibliography = [bibliography]
    return Book(
        root=root,
        title=str(book.get("title", "")),
        author=str(book.get("author", "")),
        description=str(book.get("description", "")),
        entries=entries,
        bibliography=[root / name for name in bibliography],
        output=output,
        repo_url=book.get("repo-url"),
        meta=meta,
    )


def _output(root: Path, path: Path, project) -> Path:
    """The folder of the site: a build removes what it does not know there, so it is the book's."""
    if not isinstance(project, dict) or project.get("type") != "book":
        given = project.get("type") if isinstance(project, dict) else project
        raise ConfigError(f"{path}: project: type is {given!r}; write `type: book`")
    name = project.get("output-dir", "_book")
    folder = Path(os.path.normpath(root / str(name)))  # it may be a link to elsewhere
    if not isinstance(name, str) or Path(os.path.normpath(root)) not in folder.parents:
        raise ConfigError(
            f"{path}: output-dir is {name!r}; name a folder inside the book, such as _site"
        )
    return root / name


def _entries(root: Path, path: Path, chapters: list) -> list[Entry]:
    flat = []
    for item in chapters:
        if isinstance(item, dict):
            flat += [(name, item.get("part")) for name in item.get("chapters", [])]
        else:
            flat.append((item, None))
    entries, number = [], 0
    for name, part in flat:
        source = root / str(name)
        if source.suffix != ".qmd" or not source.is_file():
            raise ConfigError(f"{path}: chapters lists {name}; there is no such .qmd file")
        if source.stem != "index":
            number += 1
        href = source.relative_to(root).with_suffix(".html").as_posix()
        entries.append(Entry(source, href, number if source.stem != "index" else None, part))
    return entries

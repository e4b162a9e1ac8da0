"""The search's index: what stands under every heading, as a script that a page loads.

It is a script and not JSON because a page opened from a folder (`file://`) may load the
one and not the other. The page's own code (assets/theme/find.js) does the finding.
"""

import json
from collections.abc import Iterable
from pathlib import Path

import yaml

from bookbuild.document import RenderedPage


class SynonymError(Exception):
    """A list of synonyms that cannot be read: what is wrong."""


def search_index(pages: Iterable[RenderedPage], synonyms: list[list[str]] | None = None) -> str:
    """The text of `search-index.js`: pages as [address, number, title], their sections as
    [page, id, title, text, kind], and groups of words that mean the same."""
    titles, sections = [], []
    for page in pages:
        titles.append([page.entry.href, page.number or "", page.title])
        for section in page.sections:
            text = " ".join(section.text.split())
            # The text before the first heading leads to the top of the page.
            row = [len(titles) - 1, section.id, section.title, text]
            sections.append([*row, section.kind] if section.kind else row)
    index = {"pages": titles, "sections": sections, "synonyms": synonyms or []}
    return f"window.bookIndex = {json.dumps(index, ensure_ascii=False, separators=(',', ':'))};\n"


def read_synonyms(path: Path) -> list[list[str]]:
    """The groups in a YAML file, one list of words for each; none where there is no file.

    Raises:
        SynonymError: not a list of lists of two words or more.
    """
    try:
        groups = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise SynonymError(f"{path}: not YAML: {' '.join(str(error).split())}") from None
    for group in groups if isinstance(groups, list) else [groups]:
        words = group if isinstance(group, list) else []
        if len(words) < 2 or not all(isinstance(word, str) for word in words):
            raise SynonymError(
                f"{path}: {group!r} is no group; write lines like - [RoPE, rotary positions]"
            )
    return groups

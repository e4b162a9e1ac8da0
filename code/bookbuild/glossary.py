"""Makes each entry of the glossary a place of its own, which links and the search reach.

The glossary is the page that is named so (`glossary.qmd`); its entries are the rows of its
tables, the term first.
"""

import re
from dataclasses import replace

from bookbuild.document import TERM, RenderedPage, Section
from bookbuild.outline import plain_text

NAME = "glossary"
_BODY = re.compile(r"<tbody>(.*?)</tbody>", re.S)
_ROW = re.compile(r"<tr>(\s*<td\b[^>]*>(.*?)</td>\s*<td\b[^>]*>(.*?)</td>)", re.S)
_TABLE = re.compile(r"<table\b.*?</table>", re.S)


def split_glossary(page: RenderedPage) -> RenderedPage:
    """The glossary with an id on each row and each row as a section; another page as it is."""
    if page.entry.source.stem != NAME:
        return page
    terms: list[Section] = []

    def row(match: re.Match) -> str:
        term, meaning = plain_text(match[2]), plain_text(match[3])
        name = "term-" + re.sub(r"[^\w]+", "-", term.lower()).strip("-")
        terms.append(Section(name, term, meaning, TERM))
        return f'<tr id="{name}">{match[1]}'

    body = _BODY.sub(lambda match: f"<tbody>{_ROW.sub(row, match[1])}</tbody>", page.body)
    # What the rows say must not be found a second time as the text of their section.
    around = plain_text(_TABLE.sub("", body))
    sections = [replace(page.sections[0], text=around), *page.sections[1:]] if terms else []
    return replace(page, body=body, sections=[*(sections or page.sections), *terms])

"""The search's index: what stands under every heading, as a script that a page loads.

It is a script and not JSON because a page opened from a folder (`file://`) may load the
one and not the other. The page's own code (assets/theme/search.js) does the finding.
"""

import json
from collections.abc import Iterable

from bookbuild.document import RenderedPage


def search_index(pages: Iterable[RenderedPage]) -> str:
    """The text of `search-index.js`: pages as [address, number, title], and their sections
    as [page, id, title, text]."""
    titles, sections = [], []
    for page in pages:
        titles.append([page.entry.href, page.number or "", page.title])
        for section in page.sections:
            text = " ".join(section.text.split())
            # The text before the first heading leads to the top of the page.
            sections.append([len(titles) - 1, section.id, section.title, text])
    index = {"pages": titles, "sections": sections}
    return f"window.bookIndex = {json.dumps(index, ensure_ascii=False, separators=(',', ':'))};\n"

"""Puts the images of a page into place: from the book's files, or drawn by a cell."""

import posixpath
from collections.abc import Iterator
from html import escape
from pathlib import Path
from urllib.parse import quote, unquote

import panflute as pf

from bookbuild.cells import image_size
from bookbuild.crossref import Target
from bookbuild.normal import CAPTION, is_float, part
from bookbuild.reading import Where
from bookbuild.svg import SvgError, inline_svg

# A figure of a cell has letters of about 14 pixels; at this part of its width they have 11.
_LEGIBLE = 0.8
_KINDS = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg")


class Pictures:
    """The images of one page, and the files that they need in the site."""

    def __init__(self, root: Path, href: str, where: Where):
        self.root, self.href, self.where = root, href, where
        self.targets: dict[str, Target] = {}
        self.files: dict[str, bytes] = {}
        self.inlined = 0

    def keep(self, name: str, content: bytes) -> str:
        """Store an image that a cell drew; its address for the page."""
        folder = f"{posixpath.splitext(self.href)[0]}_files"
        self.files[f"{folder}/{name}"] = content
        return quote(f"{posixpath.basename(folder)}/{name}")

    def content(self, image: pf.Image) -> tuple[str, bytes]:
        """The path inside the site and the bytes of an image.

        Raises:
            ChapterError: there is no such file in the book, or it is no image.
        """
        url = unquote(image.url)
        if "book-drawn" in image.classes:
            name = posixpath.join(posixpath.dirname(self.href), url)
            return name, self.files[name]
        folder = self.root if url.startswith("/") else self.where.chapter.path.parent
        path = (folder / url.lstrip("/")).resolve()
        if not path.is_relative_to(self.root.resolve()):
            self.where.fail(image, image.url, f"the image {url} lies outside the book")
        if path.suffix.lower() not in _KINDS:
            self.where.fail(image, image.url, f"{url} is no image; give {', '.join(_KINDS)}")
        if not path.is_file():
            self.where.fail(image, image.url, f"there is no image {url}; the path starts at the "
                            "chapter's own folder")  # fmt: skip
        return path.relative_to(self.root.resolve()).as_posix(), path.read_bytes()

    def inline(self, image: pf.Image) -> pf.RawInline:
        """The HTML of an image."""
        name, content = self.content(image)
        alt = image.attributes.get("fig-alt") or pf.stringify(image)
        if name.endswith(".svg") and "book-drawn" not in image.classes:
            return pf.RawInline(self._svg(image, content, alt))
        self.files[name] = content
        width, height = image.attributes.get("width"), image.attributes.get("height")
        size, style = image_size(content), []
        if width is None and height is None and size:
            width, height = map(str, size)
        if name.endswith(".png") and width and width.removesuffix("px").isdigit():
            style.append(f"--legible: {round(_LEGIBLE * int(width.removesuffix('px')))}px")
        attributes = ""
        for key, value in (("width", width), ("height", height)):
            if value and value.removesuffix("px").isdigit():
                attributes += f' {key}="{value.removesuffix("px")}"'
            elif value:
                style.append(f"{key}: {value}")
        if style:
            attributes += f' style="{escape("; ".join(style))}"'
        url = quote(posixpath.relpath(name, posixpath.dirname(self.href) or "."))
        # In the dark theme the style sheet turns the lightness of a drawing round.
        drawn = "book-drawn" in image.classes and "book-picture" not in image.classes
        turns = " drawn" if drawn else ""
        return pf.RawInline(
            f'<img src="{url}" class="img-fluid figure-img{turns}" alt="{escape(alt)}"{attributes} '
            'loading="lazy" decoding="async">'
        )

    def _svg(self, image: pf.Image, content: bytes, alt: str) -> str:
        self.inlined += 1
        box = next((e for e in ancestors(image) if is_float(e)), None)
        target = self.targets.get(box.identifier) if box is not None else None
        prefix = f"{box.identifier}-svg" if target else f"svg-{self.inlined}"
        title = alt
        if target:
            title = f"{target.name}: {pf.stringify(part(box, CAPTION)).strip()}"
        try:
            return inline_svg(content.decode(), prefix, alt, title, image.attributes.get("width"))
        except (SvgError, UnicodeDecodeError) as error:
            self.where.fail(image, image.url, f"{image.url} cannot be shown: {error}")


def ancestors(element: pf.Element) -> Iterator[pf.Element]:
    """What the element stands in, from the inside out."""
    while element.parent is not None:
        element = element.parent
        yield element

"""Quarto runs this before it renders: it drops stale caches and computes the numbers in prose.

Quarto keys its cache by a chapter's code alone. So when the companion package, a data
file or a version has changed since the last time, the `.jupyter_cache` folders go.
The chapters run through the book's own cache, and what the numbers in their prose are now
is kept for the filter computed.lua, which sets it in.
"""

import hashlib
import json
import os
import shutil
import sys
from pathlib import Path

# As a script, this folder would come first among the places where modules are looked for,
# and our `site` and `search` before other people's.
if __name__ == "__main__":
    here = Path(__file__).resolve().parent
    sys.path[:] = [p for p in sys.path if Path(p or ".").resolve() != here] + [str(here.parent)]

_DIGEST = Path(".quarto/book-inputs.json")
_SKIPPED = {".git", ".venv", ".bookcache", ".quarto", "_site", "_book", "node_modules"}


def main() -> int:
    """Compare what chapters depend on with the last time; drop caches if it differs."""
    try:
        from bookbuild.cache import CacheError
        from bookbuild.computed import write_values, wrong_numbers
        from bookbuild.config import ConfigError, read_book
        from bookbuild.digest import book_inputs
        from bookbuild.execute import execute_book
        from bookbuild.notebook import ChapterError, read_chapter
    except ImportError as error:
        print(
            f"pre-render: the book's requirements are not installed in {sys.executable} "
            f"({error}); run make env and set QUARTO_PYTHON=.venv/bin/python",
            file=sys.stderr,
        )
        return 1
    root = Path(os.environ.get("QUARTO_PROJECT_DIR") or ".").resolve()
    try:
        book = read_book(root)
        chapters = [read_chapter(entry.source) for entry in book.entries]
        # Whole, because Quarto does not know which sources a chapter shows.
        inputs = {
            c.path.relative_to(root).as_posix(): book_inputs(c, root, whole=True) for c in chapters
        }
        dropped = drop_stale_caches(root, inputs)
        executed = execute_book(book, only=_rendered(root))
        write_values(book, executed)
    except (ConfigError, ChapterError, CacheError, OSError) as error:
        print(f"pre-render: {error}", file=sys.stderr)
        return 1
    if dropped:
        print(f"pre-render: the code or data of the book changed; {dropped} dropped")
    print("".join(f"{line}\n" for line in wrong_numbers(book, executed)), end="", file=sys.stderr)
    return 0


def _rendered(root: Path) -> list[Path] | None:
    """The sources that Quarto is about to render; None where these are all."""
    names = os.environ.get("QUARTO_PROJECT_INPUT_FILES")
    if os.environ.get("QUARTO_PROJECT_RENDER_ALL") or names is None:
        return None
    return [root / name for name in names.split("\n") if name]


def drop_stale_caches(root: Path, inputs: dict) -> str:
    """Drop Quarto's caches if `inputs` are not those of the last time; say which."""
    digest = hashlib.sha256(json.dumps(inputs, sort_keys=True).encode("utf-8")).hexdigest()
    kept = root / _DIGEST
    if kept.is_file() and kept.read_text(encoding="utf-8", errors="replace") == digest:
        return ""
    # Walk with the caches still in place; remove them; only then remember the new digest.
    caches = []
    for folder, names, _ in os.walk(root):
        caches += [Path(folder) / name for name in names if name == ".jupyter_cache"]
        names[:] = [n for n in names if n not in _SKIPPED and n != ".jupyter_cache"]
    for cache in caches:
        shutil.rmtree(cache)
    kept.parent.mkdir(exist_ok=True)
    beside = kept.with_suffix(f".{os.getpid()}.tmp")
    beside.write_text(digest, encoding="utf-8")
    os.replace(beside, kept)
    return ", ".join(sorted(cache.relative_to(root).as_posix() for cache in caches))


if __name__ == "__main__":
    sys.exit(main())

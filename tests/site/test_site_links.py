"""Every link and every fragment of the built sites leads somewhere."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


def lychee(folder: Path) -> subprocess.CompletedProcess:
    program = Path(sys.executable).parent / "lychee"
    options = ["--offline", "--include-fragments", "--no-progress", "--format", "detailed"]
    return subprocess.run(
        [str(program), *options, str(folder)],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def test_every_link_and_fragment_resolves(site):
    done = lychee(site.folder)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_checker_sees_a_missing_page_and_a_missing_fragment(tmp_path):
    page = '<html lang="en"><title>t</title><a href="{}">x</a>'
    (tmp_path / "b.html").write_text(page.format("#top"), encoding="utf-8")
    for link in ["missing.html", "b.html#missing"]:
        (tmp_path / "a.html").write_text(page.format(link), encoding="utf-8")
        assert lychee(tmp_path).returncode == 2, link

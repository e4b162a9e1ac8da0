"""Finds a Chromium or Chrome for the tests of the site, and installs one when there is none.

As a script (`make test` runs it first) it prints what it found. As a module it gives the
tests what the script has found or installed; it installs nothing itself.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
]
MAC_APPS = [
    "Chromium.app/Contents/MacOS/Chromium",
    "Google Chrome.app/Contents/MacOS/Google Chrome",
]
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
ABSENT = (
    "no Chromium or Chrome was found on PATH, among the usual names or by Playwright; install "
    "one, or name it: CHROMIUM=/path/to/chromium"
)


class BrowserError(Exception):
    """CHROMIUM names something that cannot be run."""


def find_browser() -> Path | None:
    """The browser that the tests use; None when there is none.

    Raises:
        BrowserError: the variable CHROMIUM is set and names no program.
    """
    named = os.environ.get("CHROMIUM")
    if named:
        found = shutil.which(named)
        if found is None:
            raise BrowserError(
                f"CHROMIUM={named}: there is no such program; give the path of a Chromium or "
                "Chrome, or unset CHROMIUM to have one looked for"
            )
        return Path(found)
    for name in NAMES:
        found = shutil.which(name)
        if found:
            return Path(found)
    for folder in [Path("/Applications"), Path.home() / "Applications"]:
        for app in MAC_APPS:
            if (folder / app).is_file():
                return folder / app
    return _playwrights_own()


def _playwrights_own() -> Path | None:
    from playwright.sync_api import Error, sync_playwright

    try:
        with sync_playwright() as playwright:
            path = Path(playwright.chromium.executable_path)
    except Error:
        return None
    return path if path.is_file() else None


def install_browser() -> Path | None:
    """Install a browser: Debian's when that is possible, else the one Playwright fetches."""
    if _is_debian_root():
        print("Installing Debian's chromium (apt-get; a minute or two)", flush=True)
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        apt = ["apt-get", "-qq", "-o", "Dpkg::Use-Pty=0"]
        for arguments in (["update"], ["install", "--yes", "--no-install-recommends", "chromium"]):
            if not _quietly([*apt, *arguments], environment):
                break
        else:
            return find_browser()
    print("Fetching a Chromium with Playwright (about 150 MB)", flush=True)
    if _quietly([sys.executable, "-m", "playwright", "install", "chromium"], dict(os.environ)):
        return find_browser()
    return None


def _is_debian_root() -> bool:
    try:
        release = Path("/etc/os-release").read_text(encoding="utf-8").splitlines()
    except OSError:
        return False
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    return root and "ID=debian" in release and shutil.which("apt-get") is not None


def _quietly(command: list[str], environment: dict[str, str]) -> bool:
    """Run a command and show what it says only when it fails."""
    done = subprocess.run(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode:
        last = (done.stdout.strip() or "it said nothing").splitlines()[-1]
        print(f"{' '.join(command[:1])} failed: {last}", flush=True)
    return done.returncode == 0


def must_have_browser() -> bool:
    """Whether tests without a browser are a failure: in CI."""
    return os.environ.get("CI", "").lower() in ("1", "true")


def main() -> int:
    """Find or install; 0 also without a browser, except in CI."""
    try:
        browser = find_browser() or install_browser()
    except BrowserError as error:
        print(f"browser: {error}", file=sys.stderr)
        return 1
    if browser is not None:
        print(f"Browser for the tests of the site: {browser}")
        return 0
    if must_have_browser():
        print(f"browser: {ABSENT} (CI is set, so this is a failure)", file=sys.stderr)
        return 1
    print(f"The browser tests will be skipped: {ABSENT}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

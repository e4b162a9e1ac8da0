"""`make env` with uv, without it, and where uv cannot do it. All programs are stand-ins."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="needs make")

# Writes down how it was called. `python -m venv FOLDER` puts another of the kind into it.
STAND_IN = """\
#!{python}
import os, pathlib, sys
name, words = pathlib.Path(sys.argv[0]).name, sys.argv[1:]
if words[:1] == ["-c"]:
    exec(words[1])
with open("{log}", "a") as log:
    log.write(" ".join([name, *words]) + "\\n")
if words[:2] == ["-m", "venv"]:
    inside = pathlib.Path(words[2]) / "bin" / "python"
    inside.parent.mkdir(parents=True)
    inside.write_text(pathlib.Path(__file__).read_text())
    inside.chmod(0o755)
if name == "uv":
    sys.exit({code})
"""
WITH_UV = "uv pip install --python .venv/bin/python --torch-backend=auto -r requirements.lock"
WITH_PIP = "python -m pip install --disable-pip-version-check -r requirements.lock"
COMPANION = (
    "python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation "
    "--editable ."
)


def make_env(folder: Path, uv: int | None) -> list[str]:
    """What `make env` calls, in order. `uv` is the exit code of the one on PATH; None: none is."""
    for name in ("Makefile", "requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, folder / name)
    programs, log = folder / "programs", folder / "log"
    programs.mkdir()
    for name in ["python", *(["uv"] if uv is not None else [])]:
        text = STAND_IN.format(python=sys.executable, log=log, code=uv)
        (programs / name).write_text(text, encoding="utf-8")
        (programs / name).chmod(0o755)
    tools = ["sh", "touch", "echo", "make"]
    for name in tools:  # what else is on this machine's PATH must not take part
        (programs / name).symlink_to(shutil.which(name))
    done = subprocess.run(
        ["make", "env", f"PYTHON={programs / 'python'}"],
        cwd=folder, env=os.environ | {"PATH": str(programs)}, capture_output=True,
        encoding="utf-8", timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (folder / ".venv/.installed").exists()
    return log.read_text(encoding="utf-8").splitlines()


def installed_by(calls: list[str]) -> list[str]:
    return [call for call in calls if " install " in call]


def test_uv_installs_where_it_is_there(tmp_path):
    assert installed_by(make_env(tmp_path, uv=0)) == [WITH_UV, COMPANION]


def test_pip_installs_where_uv_is_not(tmp_path):
    assert installed_by(make_env(tmp_path, uv=None)) == [WITH_PIP, COMPANION]


@pytest.mark.parametrize("code", [1, 2])  # 1: an index out of reach; 2: an option it lacks
def test_pip_installs_where_uv_cannot(tmp_path, code):
    assert installed_by(make_env(tmp_path, uv=code)) == [WITH_UV, WITH_PIP, COMPANION]


def test_the_line_for_pip_names_the_torch_of_the_lock():
    (command,) = re.findall(r"\$\((grep [^)]*)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    said = subprocess.run(shlex.split(command), cwd=ROOT, capture_output=True, encoding="utf-8")
    assert re.fullmatch(r"torch==[\d.]+\n", said.stdout)

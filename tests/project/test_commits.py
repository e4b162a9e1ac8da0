"""The limit of a commit's subject, as the hook and CI measure it."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 72
SUBJECTS = {"é" * LIMIT: True, "é" * (LIMIT + 1): False, "Short": True}


def hook() -> dict:
    whole = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    hooks = [hook for repo in whole["repos"] for hook in repo["hooks"]]
    return next(hook for hook in hooks if hook["id"] == "subject")


@pytest.mark.parametrize("subject", SUBJECTS, ids=len)
def test_the_hook_refuses_a_long_subject(subject):
    assert hook()["language"] == "pygrep" and hook()["args"] == ["--multiline"]
    found = re.compile(hook()["entry"], re.MULTILINE | re.DOTALL).search  # as pygrep does
    message = f"{subject}\n\n{'A long line of the body. ' * 9}\n"
    assert (found(message) is None) == SUBJECTS[subject]


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@pytest.mark.parametrize("subject", SUBJECTS, ids=len)
def test_ci_refuses_a_long_subject(subject, tmp_path):
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    script = workflow["jobs"]["commits"]["steps"][-1]["run"]

    def git(*words):
        name = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        done = subprocess.run(
            ["git", *name, *words], cwd=tmp_path, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    git("init", "--quiet")
    git("commit", "--allow-empty", "-m", "x" * 99)  # before the limit was made
    base = git("rev-parse", "HEAD")
    git("commit", "--allow-empty", "-m", subject, "-m", "A long line of the body. " * 9)
    environment = os.environ | {"BASE": base, "HEAD": "HEAD", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        ["bash", "-e", "-c", script], cwd=tmp_path, env=environment, capture_output=True,
        encoding="utf-8",
    )  # fmt: skip
    assert (done.returncode == 0) == SUBJECTS[subject], done.stdout + done.stderr
    assert subject in done.stdout or SUBJECTS[subject]

"""What GitHub reads fits its schemas, and names only what is there.

The schemas are those that check-jsonschema carries: no network is needed.
"""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from bookbuild.cli import serve

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
ACTIONS = sorted((ROOT / ".github/actions").glob("*/action.yml"))
STEPS = [*WORKFLOWS, *ACTIONS]
FORMS = [p for p in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml") if p.name != "config.yml"]
SCHEMAS = {
    "vendor.github-workflows": WORKFLOWS,
    "custom.github-workflows-require-timeout": WORKFLOWS,
    "vendor.github-actions": ACTIONS,
    "vendor.github-issue-forms": FORMS,
    "vendor.github-issue-config": [ROOT / ".github/ISSUE_TEMPLATE/config.yml"],
    "vendor.dependabot": [ROOT / ".github/dependabot.yml"],
    "vendor.citation-file-format": [ROOT / "CITATION.cff"],
}


def check(schema: str, *files: Path) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "check_jsonschema", "--force-filetype", "yaml"]
    return subprocess.run(
        [*command, "--builtin-schema", schema, *map(str, files)],
        capture_output=True, encoding="utf-8", timeout=120,
    )  # fmt: skip


@pytest.mark.parametrize("schema", SCHEMAS)
def test_it_fits_its_schema(schema):
    files = SCHEMAS[schema]
    assert files and all(file.is_file() for file in files)
    done = check(schema, *files)
    assert done.returncode == 0, done.stdout + done.stderr


BROKEN = {
    "vendor.github-workflows": ("ci.yml", "runs-on:", "runs-at:"),
    "custom.github-workflows-require-timeout": ("ci.yml", "timeout-minutes:", "time-out:"),
    "vendor.github-actions": ("action.yml", "using: composite", "using: magic"),
    "vendor.github-issue-forms": ("page.yml", "type: textarea", "type: essay"),
    "vendor.github-issue-config": ("config.yml", "true", "perhaps"),
    "vendor.dependabot": ("dependabot.yml", "interval: monthly", "interval: sometimes"),
    "vendor.citation-file-format": ("CITATION.cff", "title:", "titel:"),
}


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_mistake_in_it_is_found(schema, tmp_path):
    name, right, wrong = BROKEN[schema]
    text = next(f for f in SCHEMAS[schema] if f.name == name).read_text(encoding="utf-8")
    assert right in text
    (tmp_path / name).write_text(text.replace(right, wrong, 1), encoding="utf-8")
    done = check(schema, tmp_path / name)
    assert done.returncode == 1 and "Schema validation errors" in done.stdout


def steps(file: Path) -> list[dict]:
    """The steps of a workflow's jobs, or of an action."""
    whole = yaml.safe_load(file.read_text(encoding="utf-8"))
    jobs = whole["jobs"].values() if "jobs" in whole else [whole["runs"]]
    return [step for job in jobs for step in job["steps"]]


def unpinned(text: str) -> list[str]:
    """The actions of others that are not named by a commit, with its version beside it."""
    used = re.findall(r"uses: *(.*)", text)
    pinned = re.compile(r"[\w.-]+(/[\w.-]+)+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    return [name for name in used if not name.startswith("./") and not pinned.fullmatch(name)]


@pytest.mark.parametrize("file", STEPS, ids=lambda file: file.name)
def test_actions_are_pinned_to_a_commit(file):
    assert unpinned(file.read_text(encoding="utf-8")) == []


def test_a_tag_is_no_pin():
    assert unpinned("uses: a/b@v4\n  - uses: ./c\n") == ["a/b@v4"]


def test_an_action_has_the_same_commit_everywhere():
    pins = {}
    for file in STEPS:
        for step in steps(file):
            if "@" in step.get("uses", ""):
                name, commit = step["uses"].split("@")
                pins.setdefault(name, set()).add(commit)
    assert len(pins) > 5 and all(len(commits) == 1 for commits in pins.values()), pins


WRITES = {
    ("ci.yml", "publish"): {"pages": "write", "id-token": "write"},
    ("ci.yml", "notebooks"): {"contents": "write"},
    ("lock.yml", "renew"): {"contents": "write"},
}


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_only_the_jobs_that_publish_may_write(file):
    whole = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert whole["permissions"] == {"contents": "read"}
    assert "concurrency" in whole
    for name, job in whole["jobs"].items():
        assert job.get("permissions") == WRITES.get((file.name, name))


@pytest.mark.parametrize("file", STEPS, ids=lambda file: file.name)
def test_commands_of_steps_are_there(file):
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    for step in steps(file):
        script = step.get("run", "")
        done = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True)
        assert done.returncode == 0, done.stderr
        for words in re.findall(r"^(?:- run: )?make ([a-z -]+)", script, re.M):
            assert set(words.split()) <= set(targets), script
        for path in re.findall(r"(?<![\w/.])(?:\.ci|tests)/[\w./-]+", script):
            assert (ROOT / path).exists(), path
        if step.get("uses", "").startswith("./"):
            assert (ROOT / step["uses"] / "action.yml").is_file()


def test_nightly_targets_are_there():
    whole = yaml.safe_load((ROOT / ".github/workflows/nightly.yml").read_text(encoding="utf-8"))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = whole["jobs"]["measure"]["strategy"]["matrix"]["target"]
    assert sorted(targets) == ["mutants", "test-cpus"]
    assert all(f"\n{target}:" in makefile for target in targets)


def test_every_python_from_the_oldest_is_tested():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    whole = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    pythons = whole["jobs"]["everything"]["strategy"]["matrix"]["python"]
    oldest = int(project["requires-python"].removeprefix(">=3."))
    assert pythons == [f"3.{minor}" for minor in range(oldest, oldest + len(pythons))]
    assert len(pythons) == 3


def test_the_version_is_the_same_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert str(citation["version"]) == project["version"]
    assert re.findall(r"^## (\d+\.\d+\.\d+)", changes, re.M)[0] == project["version"]


def test_the_container_shows_the_port_of_serve():
    container = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text(encoding="utf-8"))
    port = next(option.default for option in serve.params if option.name == "port")
    assert container["forwardPorts"] == [port]
    assert list(container["portsAttributes"]) == [str(port)]
    assert container["postAttachCommand"] == "make serve"

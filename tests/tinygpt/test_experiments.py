"""Committed experiments: a result is believed while its script and its data are the same."""

import json
import sys

import pytest
from tinygpt import experiments
from tinygpt.experiments import ExperimentError
from tinygpt.experiments import __main__ as command

SCRIPT = '"""What is asked."""\nDATA = ()\n\n\ndef run():\n    return {"loss": [1.5, 2.0]}\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with one experiment, `probe`, instead of the book's."""
    monkeypatch.setattr(experiments, "FOLDER", tmp_path)
    monkeypatch.setattr(experiments, "__path__", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "tinygpt.experiments.probe", raising=False)
    (tmp_path / "probe.py").write_text(SCRIPT, encoding="utf-8")
    yield tmp_path
    sys.modules.pop("tinygpt.experiments.probe", None)


@pytest.mark.parametrize("name", experiments.names())
def test_a_committed_result_was_made_by_its_script_from_its_data(name):
    assert command.is_current(name), f"run `python -m tinygpt.experiments {name}`"


@pytest.mark.parametrize("name", experiments.names())
def test_an_experiment_says_what_is_asked(name):
    text = (experiments.FOLDER / f"{name}.py").read_text(encoding="utf-8")
    assert text.startswith('"""') and "?" in text.split('"""')[1], "a docstring with a question"


def test_a_result_that_nobody_makes_is_not_kept():
    made = {path.stem for path in experiments.FOLDER.glob("*.json")}
    assert made <= set(experiments.names())


def test_what_was_run_is_what_a_chapter_reads(folder):
    command.run("probe")
    assert experiments.result("probe") == {"loss": [1.5, 2.0]}
    left = sorted(path.name for path in folder.iterdir() if path.is_file())
    assert left == ["probe.json", "probe.py"]


def test_a_changed_script_is_refused_and_a_changed_comment_is_not(folder):
    command.run("probe")
    (folder / "probe.py").write_text("# why\n" + SCRIPT.replace("asked", "the question"))
    assert experiments.result("probe") == {"loss": [1.5, 2.0]}
    (folder / "probe.py").write_text(SCRIPT.replace("1.5", "1.25"))
    with pytest.raises(ExperimentError, match=r"probe\.py has changed since probe\.json was made"):
        experiments.result("probe")


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"inputs": {}}', b"\xff", b"null"])
def test_a_damaged_result_is_one_sentence(folder, damage):
    (folder / "probe.json").write_bytes(damage)
    with pytest.raises(ExperimentError, match=r"probe\.json cannot be read \(\w+\); run"):
        experiments.result("probe")


def test_one_that_was_not_run_or_is_not_there_is_one_sentence(folder):
    with pytest.raises(ExperimentError, match="probe has not been run; run"):
        experiments.result("probe")
    with pytest.raises(ExperimentError, match="name must be one of probe, got 'prob'"):
        experiments.result("prob")


def test_other_data_makes_a_result_old(folder, monkeypatch):
    (folder / "probe.py").write_text(SCRIPT.replace("()\n\n", '("shakespeare",)\n\n'))
    monkeypatch.setattr(command, "shakespeare", lambda: "To be")
    command.run("probe")
    assert command.is_current("probe")
    monkeypatch.setattr(command, "shakespeare", lambda: "or not")
    assert not command.is_current("probe")


def test_a_run_that_fails_keeps_the_older_result(folder):
    command.run("probe")
    before = (folder / "probe.json").read_bytes()
    sys.modules["tinygpt.experiments.probe"].run = lambda: {"loss": float("nan")}
    with pytest.raises(ValueError):
        command.run("probe")
    assert (folder / "probe.json").read_bytes() == before
    assert json.loads(before)["made"]["threads"] >= 1


def test_the_command_runs_what_is_out_of_date(folder, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["experiments"])
    command.main()
    command.main()
    assert capsys.readouterr().out == "probe: kept in probe.json\n"
    monkeypatch.setattr(sys, "argv", ["experiments", "prob"])
    with pytest.raises(SystemExit, match="there is no 'prob'; there is probe"):
        command.main()

"""The tool that measures the checks: a small exercise whose mutants are known."""

import inspect
import math

import numpy as np
import pytest
from tinygpt import lab
from tinygpt.lab.definitions import Exercise, require
from tinygpt.scratch import arrays

from tests.mutants import __main__ as command
from tests.mutants import equivalent, making, running, scoring


def root_of_mean(values, times=1):
    """Return the root of a mean."""
    if not values:
        raise ValueError("root_of_mean: values must not be empty")
    total = sum(values)
    return times * math.sqrt(total / len(values))


def stub(values, times=1):
    raise NotImplementedError


def check_one_value(root_of_mean):
    found = root_of_mean([4.0])
    require(found == 2.0, f"The root of the mean of 4 should be 2, got {found}")


def check_two_values(root_of_mean):
    found = root_of_mean([1.0, 7.0], times=3)
    require(found == 6.0, f"Three times the root of the mean of 1 and 7 should be 6, got {found}")


def _exercise(*checks):
    return Exercise(
        "root", "root_of_mean", "", "", "", "", stub, root_of_mean, root_of_mean, checks, (), ()
    )


def _fates(exercise, folder):
    [(_, outcomes)] = running.run([exercise], 2, folder)
    return {mutant.after: outcome.fate for mutant, outcome in outcomes}


def test_weak_check_lets_mutants_live_that_a_second_one_kills(tmp_path):
    weak = _fates(_exercise(check_one_value), tmp_path / "weak")
    strong = _fates(_exercise(check_one_value, check_two_values), tmp_path / "strong")
    line = "return times * math.sqrt(total * len(values))"
    assert (weak[line], strong[line]) == ("survived", "killed")
    line = "return times / math.sqrt(total / len(values))"
    assert (weak[line], strong[line]) == ("killed", "killed")
    assert weak[""] == strong[""] == "crashed"  # `total = …` dropped: a name is missing
    assert set(strong.values()) == {"killed", "crashed"}


def test_argument_checks_docstrings_and_messages_are_left_alone():
    texts = [mutant.text for mutant in making.mutants_of(root_of_mean)]
    assert texts and all("if not values:\n        raise ValueError(" in text for text in texts)
    assert not any("Return the root" in text for text in texts)
    assert len(texts) == len(set(texts))


def test_mutating_the_package_leaves_the_package_as_it_was():
    mutant = next(m for m in making.mutants_of(arrays.unbroadcast) if "!= shape" in m.after)
    answer = making.build(arrays.unbroadcast, mutant.text)
    grad = np.ones((2, 3))
    assert arrays.unbroadcast(grad, (2, 3)) is grad and answer(grad, (2, 3)) is not grad
    assert "grad.shape == shape" in inspect.getsource(arrays.unbroadcast)


def test_endless_mutant_is_late_and_no_kill():
    exercise = _exercise(check_one_value, check_two_values)
    text = "def root_of_mean(values, times=1):\n    while True:\n        pass"
    assert running.in_process(exercise, text, 0.2).fate == "late"
    assert running.in_process(exercise, text.replace("pass", "raise OSError"), 9).fate == "crashed"


def test_outcomes_are_kept_until_a_check_changes(tmp_path, monkeypatch):
    exercise = _exercise(check_one_value)
    first = _fates(exercise, tmp_path)
    monkeypatch.setattr(running, "_graded", lambda *a: pytest.fail("run again"))
    assert _fates(exercise, tmp_path) == first
    monkeypatch.setattr(running, "_digest", lambda exercise: "another")
    with pytest.raises(pytest.fail.Exception):
        _fates(exercise, tmp_path)


def _outcomes(**fates):
    mutants = [
        making.Mutant("before", f"{fate} {n}", "") for fate in fates for n in range(fates[fate])
    ]
    return [(m, running.Outcome(m.after.split()[0])) for m in mutants]


def test_score_leaves_out_what_shows_nothing_and_holds_the_limits():
    good = scoring.score("one", _outcomes(killed=97, survived=3, crashed=40, late=2), [])
    assert good.share == 0.97
    assert scoring.report([good], 4)[1] == 0
    bad = scoring.score("two", _outcomes(killed=8, survived=1), [])
    text, status = scoring.report([bad], 4)
    assert status == 1
    assert "two: 88.9 % killed, below 90 %" in text
    assert "- before\n  + survived 0" in text


def test_list_of_equivalents_is_held_to_what_is_so():
    outcomes = _outcomes(killed=10, survived=1)
    listed = [("before", "survived 0", "the same on every input")]
    assert scoring.score("one", outcomes, listed).wrong == []
    for after, said in [("killed 0", "and killed"), ("gone", "no such mutant")]:
        wrong = scoring.score("one", outcomes, [*listed, ("before", after, "so")]).wrong
        assert len(wrong) == 1 and said in wrong[0]
    outcomes = _outcomes(killed=8, survived=1)
    assert "at most one in ten" in scoring.score("one", outcomes, listed).wrong[0]


def test_command_names_what_it_does_not_know():
    assert [e.name for e in command.chosen(["causal_mask"])] == ["causal_mask"]
    assert len(command.chosen([])) == sum(len(c.exercises) for c in lab.CHAPTERS)
    with pytest.raises(SystemExit, match="no exercise 'causal'"):
        command.chosen(["causal"])


def test_every_line_of_the_list_names_an_exercise_and_gives_a_reason():
    names = {name for chapter in lab.CHAPTERS for name in chapter.exercises}
    for name, lines in equivalent.equivalent_mutants().items():
        assert name in names
        assert all(len(line) == 3 and len(line[2].split()) > 3 for line in lines), name

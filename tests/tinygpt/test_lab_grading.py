"""Checking an answer in the running process: what a notebook cell sees."""

import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest
from tinygpt import lab, scratch
from tinygpt.lab.definitions import CheckFailed, require
from tinygpt.lab.grading import FAILED, OPEN, grade
from tinygpt.scratch import Module

MASK = lab.exercise("causal_mask")
NORM = lab.exercise("layer_norm")
BLOCK = lab.exercise("transformer_block")


def answer(body):
    """A create_causal_mask that does `body`."""
    return lambda seq_len: body()


def test_solved_is_printed_and_returned(capsys):
    result = lab.check("causal_mask", lambda seq_len: np.tri(seq_len, dtype=bool))
    assert result.passed
    assert capsys.readouterr().out == "causal_mask  solved\n"


def test_failure_shows_message_and_explanation(capsys):
    result = lab.run_mistake("layer_norm", "batch_axis")
    out = capsys.readouterr().out
    first, *rest = out.splitlines()
    assert first == "layer_norm  failed: Mean should be ~0, got -0.9999988079071045"
    assert " ".join(" ".join(rest).split()) == "From test_unit_layer_norm. " + result.explanation


def test_an_explanation_fits_a_page(capsys):
    for exercise in lab.find_chapter("transformer").exercises:
        for mistake in exercise.mistakes:
            lab.run_mistake(exercise.name, mistake.name)
            rest = capsys.readouterr().out.splitlines()[1:]
            assert rest and max(map(len, rest)) <= 76


def test_a_failure_without_an_explanation_names_the_next_hint(capsys):
    result = lab.check("causal_mask", answer(lambda: np.full((4, 4), 2)))
    assert capsys.readouterr().out == (
        f"causal_mask  failed: {result.message}\n"
        '    `lab.hint("causal_mask")` gives the next hint.\n'
    )
    assert str(result) == f"causal_mask: failed: {result.message}"


def test_a_numpy_function_on_a_tensor_is_said_in_plain_words():
    for function in (np.sqrt, np.mean, np.exp):
        body = {"forward": lambda self, x, function=function: function(x)}
        message = grade(NORM, type("LayerNorm", (scratch.LayerNorm,), body)).message
        assert message.startswith("LayerNorm calls a NumPy function on a Tensor")
        assert " (line " in message


def test_a_notebook_does_not_show_the_result_twice(capsys):
    result = lab.check("mlp", scratch.MLP)
    capsys.readouterr()
    result._ipython_display_()
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (lambda: 1 / 0, "create_causal_mask raised ZeroDivisionError: division by zero (line "),
        (lambda: exit(3), "create_causal_mask ends Python with sys.exit"),
        (lambda: np.ones((10**7, 10**7)), "asks for more memory than there is (line "),
        (lambda: None, "The mask should be a NumPy array, got None"),
        (lambda: [[True]], "The mask should be a NumPy array, got list"),
        (lambda: np.ones((2, 2), bool), "(4) should have the shape (4, 4), got (2, 2)"),
        (lambda: np.full((4, 4), 2), "The mask should hold booleans, got int64, with values other"),
    ],
)
def test_whatever_an_answer_does_is_one_line(body, expected):
    result = grade(MASK, answer(body), 10)
    assert result.status == FAILED
    assert expected in result.message and "\n" not in result.message


def test_endless_recursion_is_reported():
    def create_causal_mask(seq_len):
        return create_causal_mask(seq_len)

    assert grade(MASK, create_causal_mask).message.startswith("create_causal_mask calls itself")


def test_endless_loop_is_stopped_and_its_line_named():
    def create_causal_mask(seq_len):
        while True:
            pass

    begin = time.perf_counter()
    result = grade(MASK, create_causal_mask, 0.2)
    assert time.perf_counter() - begin < 5
    line = create_causal_mask.__code__.co_firstlineno
    assert result.status == FAILED
    assert result.message in [
        f"no answer after 0.2 seconds; it was still running in line {line + n}" for n in (1, 2)
    ]


def test_loop_that_catches_exceptions_is_stopped():
    def create_causal_mask(seq_len):
        while True:
            try:
                time.sleep(10)
            except Exception:
                continue

    assert grade(MASK, create_causal_mask, 0.2).message.startswith("no answer after 0.2 seconds")


def test_without_the_main_thread_there_is_no_limit_but_an_answer():
    results = []
    thread = threading.Thread(
        target=lambda: results.append(grade(MASK, scratch.create_causal_mask, 5))
    )
    thread.start()
    thread.join()
    assert results[0].passed


def test_no_warnings_reach_the_page(recwarn):
    lab.run_mistake("layer_norm", "no_eps")
    grade(MASK, answer(lambda: warnings.warn("deprecated", stacklevel=1)))
    assert not recwarn.list


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (scratch.LayerNorm(4), "LayerNorm should be a class, got LayerNorm"),
        (lambda x: x, "LayerNorm should be a class, got a function"),
        (None, "LayerNorm should be a class, got NoneType"),
        (type("LayerNorm", (), {}), "LayerNorm should be a Module: start it with `class LayerNorm"),
        (
            type("LayerNorm", (Module,), {"__init__": lambda self, size: None}),
            "LayerNorm should be written as LayerNorm(normalized_shape, eps=1e-05), "
            "got LayerNorm(size)",
        ),
        (
            type("LayerNorm", (Module,), {"__init__": scratch.LayerNorm.__init__}),
            "LayerNorm should have a method forward of its own, got none",
        ),
        (
            type("LayerNorm", (Module,), {"forward": scratch.LayerNorm.forward}),
            "LayerNorm should have a method __init__ of its own, got none",
        ),
        (
            type("LayerNorm", (scratch.LayerNorm,), {"forward": lambda self: 1}),
            "LayerNorm.forward should be written as LayerNorm.forward(x), got LayerNorm.forward()",
        ),
        (
            type("LayerNorm", (scratch.LayerNorm,), {"forward": lambda self, x, mode: 1}),
            "LayerNorm.forward should be written as LayerNorm.forward(x), "
            "got LayerNorm.forward(x, mode)",
        ),
    ],
)
def test_wrong_signature_is_shown_beside_the_right_one(given, expected):
    result = grade(NORM, given)
    assert result.status == FAILED
    assert result.message.startswith(expected)


def test_additional_arguments_with_defaults_are_fine():
    class LayerNorm(scratch.LayerNorm):
        def __init__(self, normalized_shape, eps=1e-5, verbose=False):
            super().__init__(normalized_shape, eps)

    assert grade(NORM, LayerNorm).passed


def test_a_part_not_written_yet_is_named():
    """A block on the student's LayerNorm, which is still a stub."""
    unwritten = NORM.stub

    class TransformerBlock(scratch.TransformerBlock):
        def __init__(self, embed_dim, num_heads, mlp_ratio=4, dropout_prob=0.1):
            self.norm1 = unwritten(embed_dim)

    result = grade(BLOCK, TransformerBlock)
    assert result.status == OPEN
    assert result.message == (
        "TransformerBlock uses LayerNorm, which is not written yet; write that first, "
        "or use the book's, scratch.LayerNorm"
    )


def test_an_exception_that_cannot_be_printed():
    class Unprintable(Exception):
        def __str__(self):
            raise ValueError

    def create_causal_mask(seq_len):
        raise Unprintable

    message = grade(MASK, create_causal_mask).message
    assert message.startswith("create_causal_mask raised Unprintable (line ")


def test_long_and_many_lined_messages_are_cut():
    def create_causal_mask(seq_len):
        raise ValueError("word\n" * 1000)

    message = grade(MASK, create_causal_mask).message
    assert "\n" not in message and len(message) < 300 and "…" in message


def test_checks_do_not_need_assert_statements():
    """`python -O` removes asserts; require stays."""
    with pytest.raises(CheckFailed, match="^no$"):
        require(False, "no")
    require(True, "no")


def test_hints_come_one_at_a_time(capsys):
    lab._hints_shown.clear()
    hints = lab.exercise("causal_mask").hints
    for number in [1, 2, 3, 3]:
        lab.hint("causal_mask")
        out = " ".join(capsys.readouterr().out.split())
        assert f"Hint {number} of {len(hints)} for causal_mask:" in out
        assert hints[number - 1] in out
        assert ("tinygpt lab solution transformer causal_mask" in out) == (number == len(hints))
    lab.hint("causal_mask", 1)
    assert "Hint 1 of" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: lab.check("layernorm", None), "There is no exercise 'layernorm'; there is "),
        (lambda: lab.check("layernorm", None), "Did you mean layer_norm?"),
        (lambda: lab.check("mlp", scratch.MLP, seconds=-1), "seconds must be a number above 0"),
        (lambda: lab.hint("mlp", 9), "lab.hint: mlp has the hints 1 to 2, got 9"),
        (lambda: lab.mistake("mlp", "Relu"), "Did you mean relu?"),
        (lambda: lab.find_chapter("x"), "There is no chapter 'x'; there is "),
    ],
)
def test_wrong_requests_say_what_is_allowed(call, expected):
    with pytest.raises(lab.LabError) as caught:
        call()
    assert expected in str(caught.value) and "\n" not in str(caught.value)


def test_wrong_types_say_what_is_allowed():
    """In a Python without the tests' type checks, as a reader has it; and without torch."""
    code = """
import sys
from tinygpt import lab, scratch
calls = [
    lambda: lab.check(3, None),
    lambda: lab.check("mlp", scratch.MLP, seconds="1"),
    lambda: lab.hint("mlp", "first"),
    lambda: lab.source("LayerNorm"),
]
for call in calls:
    try:
        call()
    except lab.LabError as error:
        print(error)
print([name for name in ("torch", "click", "yaml", "matplotlib") if name in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True
    )
    first, *others = done.stdout.splitlines()
    assert first.startswith("There is no exercise '3'; there is topological_order, ")
    assert others == [
        "lab.check: seconds must be a number above 0, or None, got '1'",
        "lab.hint: mlp has the hints 1 to 2, got 'first'",
        "lab.source: a str has no source to show; give a function or a class",
        "[]",
    ]

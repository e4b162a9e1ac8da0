"""Source by symbol, and solutions that run when pasted."""

import inspect
import types

import pytest
from tinygpt import lab, scratch
from tinygpt.lab.grading import grade
from tinygpt.lab.listing import solution_text, source_text, start_text

CHAPTERS = [lab.find_chapter(listed.name) for listed in lab.CHAPTERS]
EXERCISES = [(c, e) for c in CHAPTERS for e in c.exercises]


def test_source_is_the_packages_own_text():
    block = lab.source(scratch.create_causal_mask, scratch.LayerNorm, checks=True)
    text = inspect.getsource(scratch.create_causal_mask)
    assert block.startswith("```python\n" + text)
    assert block.endswith("```\n") and inspect.getsource(scratch.LayerNorm) in block


def test_methods_are_dedented():
    assert source_text(scratch.GPT.forward).startswith("def forward(")


def test_docstrings_can_be_left_out():
    text = source_text(scratch.LayerNorm, docstrings=False)
    assert '"""' not in text and "class LayerNorm(Module):\n    def __init__" in text
    compile(text, "text", "exec")


def test_source_of_a_mistake_has_its_helpers():
    text = lab.source(lab.mistake("transformer_block", "mask_after_softmax"))
    assert text.index("class _MaskedAfterwards") < text.index("class MaskAfterSoftmax")


def test_a_notebook_prints_the_markdown_itself(capsys):
    block = lab.source(scratch.MLP)
    block._ipython_display_()
    assert capsys.readouterr().out == block + "\n"


@pytest.mark.parametrize("wrong", [(), (3,), (len,)])
def test_what_has_no_source_is_one_sentence(wrong):
    with pytest.raises(lab.LabError, match=r"^lab\.source: .*give a function or a class"):
        lab.source(*wrong)


@pytest.mark.parametrize(
    ("chapter", "exercise"), EXERCISES, ids=[exercise.name for _, exercise in EXERCISES]
)
def test_solution_passes_when_pasted_over_the_stub(chapter, exercise):
    """Only this one is pasted: the others are still stubs."""
    start = start_text(chapter)
    stub = source_text(exercise.stub)
    assert start.count(stub) == 1
    pasted = start.replace(stub, solution_text(exercise))
    for other in chapter.exercises:  # what uses another of the student's takes the book's
        if other is not exercise:
            package = other.book.__module__.split(".")[1]
            pasted = pasted.replace(f"= {other.symbol}(", f"= {package}.{other.symbol}(")
    module = types.ModuleType("pasted")
    exec(compile(pasted, "pasted.py", "exec"), vars(module))
    result = grade(exercise, vars(module)[exercise.symbol])
    assert result.passed, result.message


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda c: c.name)
def test_all_solutions_together_pass(chapter):
    text = start_text(chapter)
    for exercise in chapter.exercises:
        text = text.replace(source_text(exercise.stub), solution_text(exercise))
    module = types.ModuleType("solved")
    exec(compile(text, "solved.py", "exec"), vars(module))
    for exercise in chapter.exercises:
        assert grade(exercise, vars(module)[exercise.symbol]).passed


def test_the_start_file_has_no_remark_for_the_linter():
    assert "ruff" not in start_text(CHAPTERS[0])

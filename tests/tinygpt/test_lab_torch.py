"""Exercises in PyTorch: how they are graded, and that nothing else waits for PyTorch."""

import subprocess
import sys

import pytest
import torch
from tinygpt import lab
from tinygpt.lab import measures_torch
from tinygpt.lab.definitions import CheckFailed, Exercise
from tinygpt.lab.grading import FAILED, OPEN, grade
from tinygpt.lab.isolation import check_file
from tinygpt.lab.listing import solution_text, source_text, start_text
from torch import nn


class Twice(nn.Module):
    """Doubles what it is given."""

    def __init__(self, width):
        super().__init__()
        self.inner = nn.Linear(width, width)

    def forward(self, x):
        return 2 * x


class _Stub(nn.Module):
    def __init__(self, width):
        raise NotImplementedError

    def forward(self, x):
        raise NotImplementedError


def doubles(answer):
    x = torch.ones(2, 3)
    with measures_torch.left_alone("Twice", x):
        out = measures_torch.tensor_of("Twice", answer(3)(x), (2, 3))
    measures_torch.close("Twice of ones", out, 2 * x)


def made(forward=None, init=None, base=nn.Module):
    body = {"__init__": init or Twice.__init__, "forward": forward or Twice.forward}
    if init is None:
        body["__init__"] = lambda self, width: base.__init__(self)
    return type("Twice", (base,), body)


EXERCISE = Exercise(
    "twice", "Twice", "Twice", "Double.", "sec-x", "X", _Stub, Twice, Twice, (doubles,), (), ()
)


def test_a_right_answer_in_pytorch_is_solved():
    assert grade(EXERCISE, Twice).passed
    assert grade(EXERCISE, made()).passed


def test_an_untouched_stub_is_open():
    result = grade(EXERCISE, _Stub)
    assert (result.status, result.message) == (OPEN, "not written yet")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (
            type("Twice", (), {}),
            "Twice should be a Module: start it with `class Twice(nn.Module):`",
        ),
        (
            type("Twice", (nn.Module,), {"__init__": lambda self, width: None}),
            "Twice should have a method forward of its own, got none",
        ),
        (
            type("Twice", (nn.Module,), {"forward": Twice.forward}),
            "Twice should have a method __init__ of its own, got none",
        ),
        (
            made(init=lambda self, width: setattr(self, "inner", nn.Linear(width, width))),
            "Twice.__init__ should begin with super().__init__(), got parts before it",
        ),
        (made(lambda self, x: None), "Twice should return a torch.Tensor, got None"),
        (made(lambda self, x: x.numpy()), "Twice should return a torch.Tensor, got ndarray"),
        (made(lambda self, x: x[0]), "Twice should return the shape (2, 3), got (3,)"),
        (made(lambda self, x: x @ x), "Twice raised RuntimeError: mat1 and mat2 shapes cannot be"),
        (made(lambda self, x: x.mul_(2)), "Twice should leave its input as it was; it changed it"),
        (
            made(lambda self, x: torch.empty(10**12)),
            "Twice asks for more memory than there is (line ",
        ),
        (
            made(lambda self, x: nn.Module()(x)),
            "Twice raised NotImplementedError: Module [Module] is missing the required",
        ),
        (
            made(lambda self, x: torch.ones(2, 3, device="meta").tolist()),
            "Twice raised NotImplementedError: Cannot copy out of meta tensor",
        ),
        (
            made(lambda self, x: torch.set_grad_enabled(False) and 0 or 2 * x),
            "Twice should leave the recording of graphs as it was; it switched it off",
        ),
        (
            made(lambda self, x: torch.manual_seed(1) and 2 * x),
            "Twice should leave the random numbers that all code shares as they were; it seeds",
        ),
        (
            made(lambda self, x: 3 * x),
            "Twice of ones; the largest difference should be below 0.0001, got 1.00",
        ),
    ],
)
def test_whatever_an_answer_does_is_one_line(answer, expected):
    result = grade(EXERCISE, answer, 10)
    assert result.status == FAILED and "\n" not in result.message
    assert result.message.startswith(expected), result.message


def test_what_pytorch_code_shares_is_as_it_was():
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)

    def forward(self, x):
        torch.set_default_dtype(torch.float64)
        torch.set_grad_enabled(False)
        return torch.rand(3)

    grade(EXERCISE, made(forward))
    assert torch.equal(torch.rand(3), expected)
    assert torch.get_default_dtype() == torch.float32 and torch.is_grad_enabled()


def test_layers_begin_with_the_same_weights_in_every_check():
    seen = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        grade(EXERCISE, made(lambda self, x: seen.append(torch.rand(1)) or x))
    assert seen[0] == seen[1]


def test_measures_of_a_module():
    module = Twice(2)
    with pytest.raises(CheckFailed, match=r"^Twice should have a part self\.outer, got inner$"):
        measures_torch.has_part("Twice", module, "outer")
    measures_torch.has_part("Twice", module, "inner")
    with pytest.raises(CheckFailed, match="gave none to inner.weight$"):
        measures_torch.all_gradients("Twice", module)
    module.inner(torch.ones(2)).sum().backward()
    measures_torch.all_gradients("Twice", module)
    with pytest.raises(CheckFailed, match="got no graph$"):
        measures_torch.has_graph("Twice", torch.ones(2))
    measures_torch.has_graph("Twice", module.inner(torch.ones(2)))


def checked_file(tmp_path, answer):
    """The result for a student's file in which causal_attention is this text."""
    chapter, exercise = lab.find_chapter("gpt"), lab.exercise("causal_attention")
    path = tmp_path / chapter.file_name
    text = start_text(chapter).replace(source_text(exercise.stub), answer)
    path.write_text(text, encoding="utf-8")
    return check_file(chapter, exercise, path)


@pytest.mark.slow
def test_a_file_is_checked_in_a_process_of_its_own(tmp_path):
    """PyTorch and its libraries do not count against the file's memory."""
    result = checked_file(tmp_path, solution_text(lab.exercise("causal_attention")))
    assert result.passed, result.message


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux")
def test_a_file_that_takes_all_memory_is_stopped(tmp_path):
    answer = "def causal_attention(query, key, value):\n    return torch.ones(5 * 1024**3 // 4)"
    message = checked_file(tmp_path, answer).message
    assert message.startswith("causal_attention asks for more memory than there is (line ")


def test_the_lab_and_the_first_chapter_do_without_pytorch(tmp_path):
    """Status of all chapters, and everything about The Transformer, where torch is missing."""
    code = """
import sys
sys.modules["torch"] = None  # importing it raises ModuleNotFoundError
from tinygpt import lab, scratch
from tinygpt.commands import tinygpt
for words in (["lab"], ["lab", "start", "transformer"], ["lab", "hint", "transformer", "mlp"],
              ["lab", "solution", "transformer", "mlp"]):
    tinygpt.main(words, standalone_mode=False)
class MLP(scratch.Module):
    def __init__(self, embed_dim, hidden_dim=None, dropout_prob=0.1):
        hidden_dim = 4 * embed_dim if hidden_dim is None else hidden_dim
        self.fc1 = scratch.Linear(embed_dim, hidden_dim)
        self.fc2 = scratch.Linear(hidden_dim, embed_dim)
        self.dropout = scratch.Dropout(dropout_prob)
    def forward(self, x):
        return self.dropout(self.fc2(scratch.gelu(self.fc1(x))))
assert lab.check("mlp", MLP).passed
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, encoding="utf-8"
    )
    assert (done.returncode, done.stderr) == (0, "")
    for chapter in lab.CHAPTERS:
        assert f"{chapter.title} ({chapter.name}): 0 of {len(chapter.exercises)} solved" in (
            done.stdout
        )

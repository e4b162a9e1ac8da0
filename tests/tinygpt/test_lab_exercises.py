"""Every exercise of every chapter: solutions pass, mistakes say what is written, nothing else."""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from tinygpt import lab, scratch
from tinygpt.lab.grading import FAILED, OPEN, SOLVED, grade, without_line

BOOK = Path(__file__).parents[2] / "book"
CHAPTERS = [lab.find_chapter(listed.name) for listed in lab.CHAPTERS]
EXERCISES = [e for chapter in CHAPTERS for e in chapter.exercises]
MISTAKES = [(e, m) for e in EXERCISES for m in e.mistakes]
each_exercise = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)
each_mistake = pytest.mark.parametrize(
    ("exercise", "mistake"), MISTAKES, ids=[f"{e.name}-{m.name}" for e, m in MISTAKES]
)


@each_exercise
def test_solution_passes(exercise):
    assert grade(exercise, exercise.solution).status == SOLVED


@each_exercise
def test_book_version_passes(exercise):
    assert grade(exercise, exercise.book).status == SOLVED


@each_exercise
def test_untouched_stub_scores_nothing(exercise):
    result = grade(exercise, exercise.stub)
    assert (result.status, result.message) == (OPEN, "not written yet")


@each_exercise
def test_empty_answer_scores_nothing(exercise):
    result = grade(exercise, _emptied(exercise.stub, lambda *a, **k: None))
    assert result.status == FAILED and result.message


@each_exercise
def test_returning_the_input_scores_nothing(exercise):
    """A function that hands back its argument, a module that hands back x."""
    if not isinstance(exercise.stub, type):
        answer = _emptied(exercise.stub, _an_argument)
        if exercise.name == "generate":
            answer = _emptied(exercise.stub, lambda model, prompt, *a, **k: prompt)
    else:
        answer = _emptied(exercise.stub, lambda self, x, *a, **k: x)
    assert grade(exercise, answer).status == FAILED


@pytest.mark.parametrize(
    "exercise", [e for e in EXERCISES if isinstance(e.stub, type)], ids=lambda e: e.name
)
def test_right_parts_with_an_empty_forward_score_nothing(exercise):
    """`__init__` done and `forward` not: open while it raises, failed when it returns nothing."""
    half = type(exercise.symbol, (exercise.solution,), {"forward": exercise.stub.forward})
    assert grade(exercise, half).status == OPEN
    for returned in (lambda self, x, mask=None: None, lambda self, x, mask=None: x):
        name = type(exercise.symbol, (exercise.solution,), {"forward": returned})
        assert grade(exercise, name).status == FAILED


@each_mistake
def test_mistake_gives_its_message(exercise, mistake):
    result = grade(exercise, mistake.answer)
    assert result.status == FAILED
    assert without_line(result.message) == mistake.message
    assert result.explanation == mistake.explanation
    assert result.check in [check.__name__ for check in exercise.checks]


@each_exercise
def test_mistakes_are_enough_and_distinct(exercise):
    assert len(exercise.mistakes) >= 4
    for what in ("name", "message", "explanation", "answer"):
        assert len({getattr(m, what) for m in exercise.mistakes}) == len(exercise.mistakes), what
    for mistake in exercise.mistakes:
        sentences = re.findall(r"[.:?] |\.$", mistake.explanation)
        assert 2 <= len(sentences) <= 6, mistake.name
        assert len(mistake.explanation) < 450, mistake.name


@each_exercise
def test_texts_are_complete(exercise):
    assert len(exercise.hints) >= 2
    assert exercise.goal.endswith(".") and exercise.title
    assert all(check.__doc__ and check.__name__.startswith("test_") for check in exercise.checks)
    assert exercise.checks[0].__name__ == f"test_unit_{exercise.name}"
    assert exercise.stub.__name__ == exercise.symbol and inspect.getdoc(exercise.stub)


def test_names_are_unique_in_the_book():
    names = [e.name for e in EXERCISES]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("listed", lab.CHAPTERS, ids=lambda c: c.name)
def test_the_list_of_chapters_agrees_with_the_chapter(listed):
    chapter = lab.find_chapter(listed.name)
    assert (chapter.name, chapter.title) == (listed.name, listed.title)
    sections = {exercise.name: exercise.section_title for exercise in chapter.exercises}
    assert list(sections.items()) == list(listed.exercises.items())


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda c: c.name)
def test_sections_to_read_exist(chapter):
    text = (BOOK / f"{chapter.name}.qmd").read_text(encoding="utf-8")
    for exercise in chapter.exercises:
        heading = rf"^#+ {re.escape(exercise.section_title)} {{#{exercise.section}}}$"
        assert re.search(heading, text, flags=re.M), exercise.name


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda c: c.name)
def test_exercises_and_stubs_are_in_the_order_of_the_chapter(chapter):
    text = (BOOK / f"{chapter.name}.qmd").read_text(encoding="utf-8")
    stubs = inspect.getsource(chapter.stubs)
    for places in (
        [text.index(f"{{#{e.section}}}") for e in chapter.exercises],
        [re.search(rf"^(def|class) {e.symbol}\b", stubs, re.M).start() for e in chapter.exercises],
    ):
        assert places == sorted(places)


def test_messages_of_the_seed_to_the_digit():
    """Statistics over the batch axis, and absolute deviations, on rows 1 to 4 and 5 to 8."""
    messages = {m.name: m.message for m in lab.mistakes("layer_norm")}
    assert messages["batch_axis"] == "Mean should be ~0, got -0.9999988079071045"
    assert messages["absolute_deviations"] == "Std should be ~1, got 1.1180284023284912"


def test_same_mistake_with_other_rounding_is_recognised():
    """Another way to compute it changes the last digits, not the reason."""

    class LayerNorm(scratch.LayerNorm):
        def forward(self, x):
            centred = x - x.mean(axis=0)
            variance = (x * x).mean(axis=0) - x.mean(axis=0) * x.mean(axis=0)
            normed = centred * (1 - 2e-7) / (variance + self.eps).sqrt()
            return normed * self.weight + self.bias

    result = grade(lab.exercise("layer_norm"), LayerNorm)
    documented = lab.mistake("layer_norm", "batch_axis").message
    assert result.message != documented and result.message.startswith(documented[:30])
    assert result.explanation == lab.mistake("layer_norm", "batch_axis").explanation


def test_another_wrong_number_is_not_explained_away():
    class LayerNorm(scratch.LayerNorm):
        def forward(self, x):
            return x

    result = grade(lab.exercise("layer_norm"), LayerNorm)
    assert (result.message, result.explanation) == ("Mean should be ~0, got 2.5", "")


# ---- checks are not fooled ----------------------------------------------------------------------


def test_constant_outputs_do_not_pass():
    """Answers that return what the first check expects, whatever they are given."""
    expected = scratch.LayerNorm(4)(scratch.Tensor([[1, 2, 3, 4], [5, 6, 7, 8]])).data

    class LayerNorm(scratch.LayerNorm):
        def forward(self, x):
            return scratch.Tensor(np.resize(expected, x.shape))

    def generate(model, prompt_tokens, max_new_tokens=50, temperature=1.0, *, seed=None):
        steps = 1 + np.arange(max_new_tokens)
        model.forward(prompt_tokens)
        return np.concatenate([prompt_tokens, (prompt_tokens[:, -1:] + steps) % 10], axis=1)

    assert grade(lab.exercise("layer_norm"), LayerNorm).status == FAILED
    assert grade(lab.exercise("generate"), generate).status == FAILED


def test_exact_gelu_is_accepted():
    class MLP(scratch.MLP):
        def forward(self, x):
            return self.dropout(self.fc2(scratch.gelu(self.fc1(x), approximate="none")))

    assert grade(lab.exercise("mlp"), MLP).passed


def test_method_calls_in_place_of_calls_are_accepted():
    class TransformerBlock(scratch.TransformerBlock):
        def forward(self, x, mask=None):
            x = x + self.attention.forward(self.norm1.forward(x), mask=mask)
            return x + self.mlp.forward(self.norm2.forward(x))

    assert grade(lab.exercise("transformer_block"), TransformerBlock).passed


def test_generate_with_a_loop_over_rows_is_accepted():
    """Another order of draws than the book's: the shares hold within the check's tolerance."""

    def generate(model, prompt_tokens, max_new_tokens=50, temperature=1.0, *, seed=None):
        rng = np.random.default_rng(seed)
        mode, tokens = model.training, prompt_tokens
        model.eval()
        with scratch.no_grad():
            for _ in range(max_new_tokens):
                scores = model.forward(tokens[:, -model.max_seq_len :]).data[:, -1]
                chosen = []
                for row in scores.astype(np.float64):
                    if temperature == 0:
                        chosen.append(row.argmax())
                        continue
                    p = np.exp((row - row.max()) / temperature)
                    chosen.append(rng.choice(len(p), p=p / p.sum()))
                tokens = np.concatenate([tokens, np.array(chosen)[:, None]], axis=1)
        model.train(mode)
        return tokens

    assert grade(lab.exercise("generate"), generate).passed


def _emptied(stub, body):
    """The stub with every method or the function itself replaced by `body`."""
    if not isinstance(stub, type):

        def answer(*args, **kwargs):
            return body(*args, **kwargs)

        return answer

    base = stub.__mro__[1]

    class Emptied(base):
        def __init__(self, *args, **kwargs):
            super().__init__()

        def forward(self, *args, **kwargs):
            return body(self, *args, **kwargs)

    return Emptied


def _an_argument(first, second=None, *args, **kwargs):
    return first if second is None else second

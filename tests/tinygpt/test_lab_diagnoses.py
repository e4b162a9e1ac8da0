"""What a student really wrote gets its own explanation; what is left changed is found."""

import numpy as np
import pytest
from tinygpt import lab, scratch
from tinygpt.lab.grading import FAILED, grade
from tinygpt.lab.measures import leaves_alone
from tinygpt.scratch import GPT, Dropout, Linear, Module, Tensor, graph
from tinygpt.scratch.layers import evaluation_mode


def explained_as(exercise, answer):
    """The name of the mistake that an answer is taken for, or its message."""
    result = grade(lab.exercise(exercise), answer)
    assert result.status == FAILED
    names = [m.name for m in lab.mistakes(exercise) if m.explanation == result.explanation]
    return names[0] if names else result.message


def module(exercise, **methods):
    """The book's module with some methods replaced."""
    chosen = lab.exercise(exercise)
    return type(chosen.symbol, (chosen.book,), methods)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (lambda seq_len: np.tril(np.ones((seq_len, seq_len))), "ones_and_zeros"),
        (lambda seq_len: np.tri(seq_len, dtype=int), "ones_and_zeros"),
        (lambda seq_len: np.tri(seq_len, dtype=np.float32), "ones_and_zeros"),
        (lambda seq_len: np.triu(np.ones((seq_len, seq_len), dtype=bool)), "transposed"),
        (lambda seq_len: np.where(np.tri(seq_len) == 1, 0.0, -1e9), "minus_infinity"),
        (
            lambda seq_len: np.tri(seq_len) / 2,
            "The mask should hold booleans, got float64, with values other than 0 and 1",
        ),
        (
            lambda seq_len: np.zeros((seq_len, seq_len), bool),
            "The mask should be True in its lower triangle, got no True at all",
        ),
        (
            lambda seq_len: np.eye(seq_len, dtype=bool),
            "A position should see the ones before it too, got only itself",
        ),
    ],
)
def test_masks(answer, expected):
    assert explained_as("causal_mask", answer) == expected


class _Maps(Module):
    def __init__(self, embed_dim, hidden_dim=None, dropout_prob=0.1):
        self.fc1 = Linear(embed_dim, hidden_dim or 4 * embed_dim)
        self.fc2 = Linear(hidden_dim or 4 * embed_dim, embed_dim)
        self.p = dropout_prob

    def maps(self, x):
        return self.fc2(scratch.gelu(self.fc1(x)))


class _WithLayer(_Maps):
    def __init__(self, embed_dim, hidden_dim=None, dropout_prob=0.1):
        super().__init__(embed_dim, hidden_dim, dropout_prob)
        self.dropout = Dropout(0.1)


def _function(self, x):
    return scratch.dropout(self.maps(x), self.p, np.random.default_rng())


@pytest.mark.parametrize(
    ("base", "forward", "expected"),
    [
        (_Maps, lambda self, x: self.maps(x), "no_dropout_at_all"),
        (_WithLayer, lambda self, x: self.maps(x), "no_dropout"),
        (_WithLayer, lambda self, x: self.dropout(self.maps(x)), "dropout_prob_ignored"),
        (_Maps, lambda self, x: Dropout(self.p)(self.maps(x)), "new_dropout_each_time"),
        (_Maps, _function, "dropout_always"),
        (
            lab.exercise("mlp").book,
            lambda self, x: self.fc2(scratch.GELU(self.fc1(x))),
            "layer_made_of_its_input",
        ),
    ],
)
def test_dropout_and_activation(base, forward, expected):
    assert explained_as("mlp", type("MLP", (base,), {"forward": forward})) == expected


def test_a_block_that_adapts_the_mask_itself():
    def with_mask(change):
        def forward(self, x, mask=None):
            mask = None if mask is None else change(mask)
            return scratch.TransformerBlock.forward(self, x, mask)

        return module("transformer_block", forward=forward)

    assert explained_as("transformer_block", with_mask(lambda mask: None)) == "mask_dropped"
    assert explained_as("transformer_block", with_mask(lambda mask: mask.T)) == "mask_transposed"
    assert explained_as("transformer_block", with_mask(lambda mask: ~mask)) == "mask_inverted"

    def overwrites(mask):
        kept = mask.copy()
        mask[0] = True
        return kept

    expected = "TransformerBlock should leave the mask as it was; it changed it"
    assert explained_as("transformer_block", with_mask(overwrites)) == expected


# ---- what is left changed -----------------------------------------------------------------------


def _doing(exercise, what):
    """The book's module, doing something else as well."""
    book = lab.exercise(exercise).book.forward

    def forward(self, x, *mask):
        out = book(self, x, *mask)
        what(self, x)
        return out

    if exercise == "transformer_block":
        return module(exercise, forward=lambda self, x, mask=None: forward(self, x, mask))
    return module(exercise, forward=lambda self, x: forward(self, x))


CHANGES = {
    "leave its input as it was; it changed it": lambda self, x: x.data.__imul__(1.5),
    "stay in training when it is called; it switched": lambda self, x: self.eval(),
    "leave the random numbers that all code shares as they": lambda self, x: np.random.rand(),
    "leave the recording of graphs on, as it was; it is off": (
        lambda self, x: graph.recording.set(False)
    ),
    "leave its parameters as they were; a call changed ": (
        lambda self, x: self.parameters()[0].data.__iadd__(1e-7)
    ),
}


@pytest.mark.parametrize("exercise", ["layer_norm", "mlp", "transformer_block"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_module_that_changes_more_than_its_result(exercise, change):
    symbol, answer = lab.exercise(exercise).symbol, _doing(exercise, CHANGES[change])
    assert grade(lab.exercise(exercise), answer).status == FAILED
    assert graph.recording.get()
    built = answer(8, 2) if exercise == "transformer_block" else answer(8)
    with pytest.raises(lab.CheckFailed, match=f"^{symbol} should {change}"):
        leaves_alone(symbol, built, Tensor(np.ones((1, 2, 8))))
    assert graph.recording.get()


def generation(before=lambda model: None, after=lambda model, mode: None):
    """The book's generation with something done before and after it."""

    def generate(model, prompt_tokens, max_new_tokens=50, temperature=1.0, *, seed=None):
        mode = model.training
        before(model)
        out = GPT.generate(model, prompt_tokens, max_new_tokens, temperature, seed=seed)
        after(model, mode)
        return out

    return generate


def _only_the_top(model, mode):
    model.eval()
    model.training = mode


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (generation(after=lambda model, mode: model.train()), "always_training_after"),
        (generation(after=lambda model, mode: model.eval()), "left_in_eval"),
        (
            generation(after=_only_the_top),
            "The model was training before; all its parts should be again, and some are in eval "
            "mode",
        ),
        (generation(before=lambda model: np.random.seed(0)), "shared_random_numbers"),
        (
            generation(after=lambda model, mode: graph.recording.set(False)),
            "generate should leave the recording of graphs on, as it was; it is off",
        ),
        (
            generation(after=lambda model, mode: graph.recording.set(True)),
            "generate should leave the recording of graphs off, as it was; it is on",
        ),
    ],
)
def test_a_generation_that_leaves_something_changed(answer, expected):
    assert explained_as("generate", answer) == expected
    assert graph.recording.get()


def test_a_generation_that_switches_only_the_top_to_eval_mode():
    @scratch.no_grad()
    def generate(model, prompt_tokens, max_new_tokens=50, temperature=1.0, *, seed=None):
        mode, model.training = model.training, False
        rng, tokens = np.random.default_rng(seed), prompt_tokens
        for _ in range(max_new_tokens):
            logits = model(tokens[:, -model.max_seq_len :]).data[:, -1].astype(np.float64)
            chosen = logits.argmax(axis=-1)
            if temperature:
                weights = np.exp((logits - logits.max(axis=-1, keepdims=True)) / temperature)
                limits = weights.cumsum(axis=-1)
                draws = rng.random((len(tokens), 1)) * limits[:, -1:]
                chosen = (limits <= draws).sum(axis=-1)
            tokens = np.concatenate([tokens, chosen[:, None]], axis=1)
        model.training = mode
        return tokens

    assert explained_as("generate", generate) == "still_training"


def test_a_generation_that_sets_every_part_back_is_accepted():
    def generate(model, prompt_tokens, max_new_tokens=50, temperature=1.0, *, seed=None):
        with evaluation_mode(model):
            return GPT.generate(model, prompt_tokens, max_new_tokens, temperature, seed=seed)

    assert grade(lab.exercise("generate"), generate).passed


def test_only_new_tokens_and_a_total_length_are_told_apart():
    def only_new(model, prompt_tokens, max_new_tokens=50, temperature=1.0, *, seed=None):
        out = GPT.generate(model, prompt_tokens, max_new_tokens, temperature, seed=seed)
        return out[:, prompt_tokens.shape[1] :]

    def total(model, prompt_tokens, max_new_tokens=50, temperature=1.0, *, seed=None):
        new = max(0, max_new_tokens - prompt_tokens.shape[1])
        return GPT.generate(model, prompt_tokens, new, temperature, seed=seed)

    assert explained_as("generate", only_new) == "only_new_tokens"
    assert explained_as("generate", total) == "total_length"


def test_float32_and_missing_division_are_told_apart():
    """Both make NumPy say that probabilities do not sum to 1."""

    def with_choice(probabilities):
        @scratch.no_grad()
        def generate(model, prompt_tokens, max_new_tokens=50, temperature=1.0, *, seed=None):
            rng, tokens, mode = np.random.default_rng(seed), prompt_tokens, model.training
            model.eval()
            for _ in range(max_new_tokens):
                scores = model(tokens[:, -model.max_seq_len :]).data[:, -1]
                p = probabilities(scores / temperature) if temperature else np.eye(10)[[4, 8]]
                chosen = np.array([rng.choice(len(row), p=list(row)) for row in p])
                tokens = np.concatenate([tokens, chosen[:, None]], axis=1)
            model.train(mode)
            return tokens

        return generate

    def softmax(scores):
        return scratch.softmax(Tensor(scores, dtype=scores.dtype)).data

    assert explained_as("generate", with_choice(np.exp)) == "not_normalised"
    short = lab.exercise("generate").checks[2:]  # the others need every token at temperature 0
    with pytest.raises(lab.CheckFailed, match="got float32; convert the scores to float64"):
        short[0](with_choice(softmax))
    short[0](with_choice(lambda scores: softmax(scores.astype(np.float64))))


@scratch.no_grad()
def _one_draw_for_all_rows(model, prompt_tokens, max_new_tokens=50, temperature=1.0, *, seed=None):
    rng, tokens, mode = np.random.default_rng(seed), prompt_tokens, model.training
    model.eval()
    for _ in range(max_new_tokens):
        logits = model(tokens[:, -model.max_seq_len :]).data[:, -1].astype(np.float64)
        chosen = logits.argmax(axis=-1)
        if temperature:
            weights = np.exp((logits - logits.max(axis=-1, keepdims=True)) / temperature)
            limits = weights.cumsum(axis=-1)
            chosen = (limits <= rng.random() * limits[:, -1:]).sum(axis=-1)
        tokens = np.concatenate([tokens, chosen[:, None]], axis=1)
    model.train(mode)
    return tokens


def _last_rows_of_the_positions():
    torch = pytest.importorskip("torch")
    from tinygpt.lab.gpt import solutions

    class GPT(solutions.GPT):
        def forward(self, tokens):
            x = self.token_embedding(tokens)
            x = self.dropout(x + self.position_embedding.weight[-tokens.shape[1] :])
            for block in self.blocks:
                x = block(x)
            return self.head(self.final_norm(x))

    assert issubclass(GPT, torch.nn.Module)
    return GPT


def _empties_its_batches(model, optimizer, batches, clip):
    from tinygpt.lab.shakespeare import solutions

    total = solutions.train_step(model, optimizer, batches, clip)
    batches.clear()
    return total


@pytest.mark.parametrize(
    ("exercise", "answer"),
    [
        ("generate", _one_draw_for_all_rows),
        ("unbroadcast", lambda grad, shape: grad),
        ("gpt_model", _last_rows_of_the_positions()),
        ("train_step", _empties_its_batches),
    ],
)
def test_no_mistake_is_named_that_does_not_explain_all_that_was_measured(exercise, answer):
    """Each of these gives the message of a mistake that it does not make."""
    result = grade(lab.exercise(exercise), answer)
    assert (result.status, result.explanation) == (FAILED, "")

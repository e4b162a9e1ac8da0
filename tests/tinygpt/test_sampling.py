"""Sampling: what is kept, what is drawn, when it stops, and what it leaves as it was."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tinygpt import sampling, scratch
from torch import nn
from torch.nn import functional as F

VOCABULARY, CONTEXT = 11, 8


class Recurrent(nn.Module):
    """A small causal model that is not a transformer; `spread` moves it away from uniform."""

    def __init__(self, spread=6.0, dropout=0.0, seed=0):
        super().__init__()
        self.max_seq_len, self.vocab_size, self.spread = CONTEXT, VOCABULARY, spread
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self.embedding = nn.Embedding(VOCABULARY, 16)
            self.mixer = nn.GRU(16, 16, batch_first=True)
            self.head = nn.Linear(16, VOCABULARY)
        self.dropout = nn.Dropout(dropout)
        self.shapes = []

    def forward(self, tokens):
        assert tokens.dtype == torch.int64 and tokens.shape[1] <= CONTEXT
        self.shapes.append(tuple(tokens.shape))
        hidden, _ = self.mixer(self.embedding(tokens))
        return self.spread * self.head(self.dropout(hidden))


class Fixed(nn.Module):
    """A model with the same scores everywhere, and no parameters."""

    max_seq_len = 4

    def __init__(self, logits):
        super().__init__()
        self.logits, self.vocab_size = torch.tensor(logits), len(logits)

    def forward(self, tokens):
        return self.logits.expand(*tokens.shape, -1)


PROMPTS = [[1, 2, 3], [4], [5, 6, 7, 8, 9, 10, 1, 2, 3, 4], [0, 0]]


def lists(texts):
    return [text.tolist() for text in texts]


# What stays


def test_keep_top_k_keeps_exactly_k_and_the_first_of_equals():
    logits = torch.tensor([[1.0, 3.0, 2.0, 3.0], [2.0, 2.0, 2.0, 2.0]])
    expected = torch.tensor([[0, 1, 0, 1], [1, 1, 0, 0]]).bool()
    kept = sampling.keep_top_k(logits, 2)
    assert torch.equal(kept.isfinite(), expected)
    assert torch.equal(kept[expected], logits[expected])
    assert torch.equal(sampling.keep_top_k(logits, 1).argmax(-1), logits.argmax(-1))
    assert torch.equal(sampling.keep_top_k(logits, 4), logits)
    assert torch.equal(sampling.keep_top_k(logits, 1_000), logits)


@pytest.mark.parametrize(
    ("p", "kept"),
    [(0.0, 1), (0.3, 1), (0.49, 1), (0.51, 2), (0.79, 2), (0.81, 3), (0.949, 3), (0.96, 4), (1, 4)],
)
def test_keep_top_p_keeps_the_token_that_crosses_p(p, kept):
    logits = torch.tensor([0.15, 0.5, 0.05, 0.3]).log()
    stays = sampling.keep_top_p(logits, p).isfinite()
    assert set(stays.nonzero().flatten().tolist()) == set([1, 3, 0, 2][:kept])


def test_keep_top_p_of_one_keeps_tokens_that_the_sum_no_longer_sees():
    assert sampling.keep_top_p(torch.linspace(0, -100, 200), 1.0).isfinite().all()


def test_keep_top_p_takes_the_first_of_equals():
    assert sampling.keep_top_p(torch.zeros(4), 0.5).isfinite().tolist() == [
        True,
        True,
        False,
        False,
    ]


@given(
    st.lists(st.floats(-20, 20, width=32), min_size=1, max_size=30),
    st.floats(0, 1),
    st.integers(1, 40),
    st.floats(0.05, 20),
)
def test_kept_probabilities_are_the_smallest_set_that_reaches_p(logits, p, k, temperature):
    logits = torch.tensor(logits)
    full = F.softmax(logits.double(), dim=-1)
    stays = sampling.keep_top_p(logits, p).isfinite()
    assert stays.any() and full[stays].sum() >= p - 1e-9
    assert full[stays].min() >= full[~stays].max() if (~stays).any() else True
    if stays.sum() > 1 and p < 1:
        assert full[stays].sum() - full[stays].min() < p + 1e-9  # without its least it falls short
    drawn = sampling.next_token_probabilities(logits, temperature, k, p)
    assert drawn.dtype == torch.float64 and abs(drawn.sum() - 1) < 1e-9
    assert 1 <= (drawn > 0).sum() <= k
    order = logits.argsort(stable=True)
    assert (drawn[order].diff() >= -1e-12).all() or (drawn == 0).any()
    kept = order[drawn[order] > 0]
    assert (drawn[kept].diff() >= -1e-12).all()  # the order of the scores is kept


def test_temperature_comes_first_then_k_then_p(without_type_checks):
    logits = torch.tensor([0.4, 0.3, 0.2, 0.1]).log()
    expected = F.softmax(logits.double() / 2, -1)
    torch.testing.assert_close(sampling.next_token_probabilities(logits, 2), expected)
    three = expected[:3] / expected[:3].sum()  # 0.39 0.34 0.27: two reach 0.7
    two = torch.cat([expected[:2] / expected[:2].sum(), torch.zeros(2)])
    assert three[:2].sum() > 0.7 > expected[:2].sum()
    torch.testing.assert_close(sampling.next_token_probabilities(logits, 2, 3, 0.7), two)


def test_temperature_zero_puts_all_on_the_first_of_the_best():
    logits = torch.tensor([[1.0, 5.0, 5.0], [-float("inf"), -2.0, -3.0]])
    expected = torch.tensor([[0, 1, 0], [0, 1, 0]]).double()
    for options in ({}, {"top_k": 2}, {"top_p": 0.5}):
        assert torch.equal(sampling.next_token_probabilities(logits, 0, **options), expected)
    assert torch.equal(sampling.next_token_probabilities(logits[1], 1e-300), expected[1])


@pytest.mark.slow
def test_filters_agree_with_hugging_face():
    reason = "the oracle of these filters"
    process = pytest.importorskip("transformers", reason=reason).generation.logits_process
    logits = 3 * torch.randn(50, 100, generator=torch.Generator().manual_seed(0))
    for k, p, temperature in [(1, 0.9, 1.0), (10, 0.5, 0.7), (40, 0.95, 1.5), (500, 0.99, 3.0)]:
        theirs = process.TemperatureLogitsWarper(temperature)(None, logits)
        theirs = process.TopKLogitsWarper(k)(None, theirs)
        theirs = process.TopPLogitsWarper(p)(None, theirs)
        ours = sampling.next_token_probabilities(logits, temperature, k, p)
        torch.testing.assert_close(ours.float(), F.softmax(theirs, -1), atol=1e-6, rtol=1e-5)


# Drawing


def test_draws_follow_the_probabilities(without_type_checks):
    logits = [0.0, 2.0, 1.0, -1.0, 0.5]
    for options in ({}, {"temperature": 3.0}, {"top_k": 3}, {"top_p": 0.8, "temperature": 1.5}):
        texts = sampling.generate(Fixed(logits), [[0]] * 400, 10, seed=0, **options)
        share = np.bincount(torch.stack(texts)[:, 1:].flatten(), minlength=5) / 4_000
        expected = sampling.next_token_probabilities(torch.tensor(logits), **options)
        np.testing.assert_allclose(share, expected, atol=0.03)
        assert (share[expected == 0] == 0).all()


def test_the_last_draw_stays_in_the_vocabulary():
    for probabilities in ([0.5, 0.5, 0.0], [0.1] * 10, [1.0], [1 / 3] * 3):
        probabilities = torch.tensor(probabilities, dtype=torch.float64)
        highest = torch.tensor(1 - 2.0**-53, dtype=torch.float64)
        assert probabilities[sampling.draw(probabilities, highest)] > 0
    first = sampling.draw(torch.tensor([0.0, 1.0]), torch.tensor(0.0))
    assert first == 1  # nothing is drawn that has no probability


# Generation


def test_each_text_starts_with_its_whole_prompt_and_has_its_own_length(without_type_checks):
    model = Recurrent()
    texts = sampling.generate(model, PROMPTS, 7, seed=0)
    for text, prompt in zip(texts, PROMPTS, strict=True):
        assert text.dtype == torch.int64 and text.tolist()[: len(prompt)] == prompt
        assert len(text) == len(prompt) + 7
    assert lists(sampling.generate(model, PROMPTS, 0)) == PROMPTS
    assert sampling.generate(model, [], 5) == []
    as_array = sampling.generate(model, np.array([[1, 2], [3, 4]]), 5, seed=0)
    as_tensor = sampling.generate(model, torch.tensor([[1, 2], [3, 4]]), 5, seed=0)
    assert lists(as_array) == lists(as_tensor)


def test_greedy_equals_a_loop_for_each_prompt_by_itself(without_type_checks):
    """Padding and cropping change nothing, well beyond max_seq_len."""
    model = Recurrent()
    texts = sampling.generate(model, PROMPTS, 20, temperature=0)
    for text, prompt in zip(texts, PROMPTS, strict=True):
        expected = list(prompt)
        for _ in range(20):
            with torch.no_grad():
                expected.append(int(model(torch.tensor([expected[-CONTEXT:]]))[0, -1].argmax()))
        assert text.tolist() == expected
    assert len({tuple(text[-20:].tolist()) for text in texts}) > 1


def test_a_text_does_not_depend_on_the_rest_of_the_batch(without_type_checks):
    model = Recurrent(spread=2.0)
    together = lists(sampling.generate(model, PROMPTS, 30, seed=3))
    other = [[9, 9, 9, 9, 9], *PROMPTS[1:]]
    assert lists(sampling.generate(model, other, 30, seed=3))[1:] == together[1:]
    assert lists(sampling.generate(model, PROMPTS[:1], 30, seed=3)) == together[:1]
    stop = together[3][5]
    alone = lists(sampling.generate(model, PROMPTS, 30, seed=3, stop_token=stop))
    for row, text in enumerate(alone):
        assert text == together[row][: len(text)]


def test_a_seed_repeats_and_rows_differ(without_type_checks):
    model = Recurrent(spread=0.1)
    one, two, three = (
        lists(sampling.generate(model, [[1]] * 3, 30, seed=seed)) for seed in (1, 1, 2)
    )
    assert one == two != three and len({tuple(text) for text in one}) == 3
    free = [lists(sampling.generate(model, [[1]], 30)) for _ in range(2)]
    assert free[0] != free[1]


def test_a_row_ends_with_its_stop_token_and_is_run_no_further(without_type_checks):
    model = Recurrent(spread=0.1)
    texts = sampling.generate(model, [[4, 1]] * 6, 200, stop_token=4, seed=0)
    ends = [len(text) for text in texts]
    assert len(set(ends)) > 1 and max(ends) < 202 and min(ends) > 2
    for text in texts:
        assert text[-1] == 4 and (text[2:-1] != 4).all()
    rows = [shape[0] for shape in model.shapes]
    assert rows[0] == 6 and rows[-1] == 1 and sum(rows) == sum(ends) - 2 * 6


def test_streaming_gives_the_tokens_of_the_batch(without_type_checks):
    model = Recurrent(spread=1.0)
    batch = sampling.generate(model, [[1, 2]] * 3, 12, seed=5, top_p=0.9)
    for row in range(3):
        stream = sampling.generate_tokens(model, [1, 2], 12, seed=5, top_p=0.9, row=row)
        assert list(stream) == batch[row][2:].tolist()
    model.shapes.clear()
    stream = sampling.generate_tokens(model, [1], 10, seed=0)
    assert model.shapes == [] and next(stream) >= 0 and len(model.shapes) == 1


def test_dropout_is_off_and_training_is_put_back(monkeypatch, without_type_checks):
    model = Recurrent(dropout=0.9)
    model.mixer.eval()  # a part that was frozen stays so
    first, second = (sampling.generate(model, [[1]], 30, temperature=0) for _ in range(2))
    assert lists(first) == lists(second)

    def untouched():
        return model.training and model.head.training and not model.mixer.training

    assert untouched() and torch.is_grad_enabled()
    stream = sampling.generate_tokens(model, [1], 3)
    next(stream)
    assert untouched() and torch.is_grad_enabled()

    def interrupted(x):
        raise KeyboardInterrupt

    monkeypatch.setattr(model.head, "forward", interrupted)
    for call in (sampling.generate, sampling.beam_search):
        with pytest.raises(KeyboardInterrupt):
            call(model, [[1]] if call is sampling.generate else [1], 3)
        assert untouched() and torch.is_grad_enabled()


def test_nothing_is_recorded_for_a_backward_pass():
    model, seen = Recurrent(), []
    model.register_forward_hook(lambda module, inputs, output: seen.append(output.requires_grad))
    sampling.generate(model, [[1]], 2)
    assert seen == [False, False]


@pytest.mark.slow
def test_generation_runs_where_the_model_is():
    """On the meta device a tensor left on the CPU would be an error of its own."""
    model, devices = Recurrent(), []
    model.register_forward_pre_hook(lambda module, inputs: devices.append(inputs[0].device.type))
    with pytest.raises((NotImplementedError, RuntimeError), match="[Mm]eta"):
        sampling.generate(model.to("meta"), [[1], [2, 3]], 2)
    assert devices == ["meta"]


# What is refused


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([[1], []],), {}, "generate: prompt 1 is empty; give at least one token to continue"),
        (([[1, 11]],), {}, "generate: prompt 0: id 11 is outside 0..10"),
        (([[1.5]],), {}, "generate: prompt 0 must be integers, got float64"),
        (([1, 2],), {}, "generate: prompts must be a list of prompts; put one prompt into a list"),
        (("text",), {}, "generate: prompts must be a list of prompts, got str 'text'"),
        (([[1]], -1), {}, "generate: max_new_tokens must be an integer, 0 or more, got -1"),
        (([[1]], 5, -0.5), {}, "generate: temperature must be a finite number, 0 or more, got -0"),
        (([[1]],), {"top_k": 0}, "generate: top_k must be a positive integer, got 0"),
        (([[1]],), {"top_p": 1.5}, "generate: top_p must be between 0 and 1, got 1.5"),
        (([[1]],), {"stop_token": 11}, "generate: stop_token must be an integer from 0 to 10"),
        (([[1]],), {"seed": -1}, "generate: seed must be an integer, 0 or more, got -1"),
    ],
)
def test_wrong_arguments_are_one_sentence(arguments, options, message, without_type_checks):
    with pytest.raises((TypeError, ValueError)) as caught:
        sampling.generate(Recurrent(), *arguments, **options)
    assert str(caught.value).startswith(message) and "\n" not in str(caught.value)


def test_streaming_refuses_before_the_first_token(without_type_checks):
    with pytest.raises(ValueError, match="generate_tokens: prompt is empty; give at least one"):
        sampling.generate_tokens(Recurrent(), [])
    with pytest.raises(TypeError, match="model must be callable and have max_seq_len"):
        sampling.generate_tokens(nn.Linear(2, 2), [1])


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_scores_that_are_not_finite_are_named(wrong, without_type_checks):
    model = Fixed([0.0, wrong, 1.0])
    for call in (
        lambda: sampling.generate(model, [[0]], temperature=0),
        lambda: sampling.generate(model, [[0]]),
        lambda: sampling.beam_search(model, [0]),
    ):
        with pytest.raises(ValueError, match="logits must be finite.*; check the model's weights"):
            call()


# Against the model in NumPy


def test_greedy_equals_the_numpy_model_with_the_same_weights(without_type_checks):
    models = pytest.importorskip("tinygpt.models")
    theirs = scratch.GPT(11, 16, 2, 4, 8, dropout_prob=0.0, seed=0)
    for parameter in theirs.parameters():
        parameter.data *= 5
    ours = models.GPT(11, 16, 2, 4, 8, dropout_prob=0.0, seed=1)
    models.copy_weights(theirs, ours)
    texts = sampling.generate(ours, PROMPTS, 30, temperature=0)
    for text, prompt in zip(texts, PROMPTS, strict=True):
        assert text.tolist() == theirs.generate(prompt, 30, temperature=0).tolist()


# Measures


def test_entropy_is_that_of_known_distributions():
    known = torch.tensor([[1.0, 0.0, 0.0, 0.0], [0.25] * 4, [0.5, 0.25, 0.25, 0.0]])
    expected = torch.tensor([0.0, np.log(4), 1.5 * np.log(2)]).float()
    torch.testing.assert_close(sampling.entropy(known), expected)


def test_repetition_counts_what_has_been_there():
    assert sampling.repetition([1, 2, 3, 4], 2) == 0
    assert sampling.repetition([1, 2, 1, 2, 1], 2) == 0.5  # 12 21 12 21
    assert sampling.repetition(torch.tensor([7] * 10), 4) == pytest.approx(6 / 7)
    assert sampling.repetition([1, 2], 4) == 0


def test_surprise_is_the_cross_entropy_within_the_context(without_type_checks):
    model, text = Recurrent(), torch.randint(0, 11, (40,), generator=torch.manual_seed(0))
    surprise = sampling.surprise(model, text)
    assert surprise.shape == (39,) and len(sampling.surprise(model, [3])) == 0
    for end in (1, 5, 8, 9, 25, 39):
        with torch.no_grad():
            logits = model(text[max(0, end - CONTEXT) : end][None])[0, -1]
        expected = F.cross_entropy(logits[None], text[end : end + 1])
        torch.testing.assert_close(surprise[end - 1].float(), expected)

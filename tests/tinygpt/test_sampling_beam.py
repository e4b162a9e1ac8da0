"""Beam search against trying every text there is."""

import itertools

import pytest
import torch
from tinygpt import sampling
from torch import nn

VOCABULARY, STOP = 4, 3


class Recurrent(nn.Module):
    """A small causal model with scores far from uniform."""

    def __init__(self, seed):
        super().__init__()
        self.max_seq_len, self.vocab_size = 2, VOCABULARY
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self.embedding = nn.Embedding(VOCABULARY, 8)
            self.mixer = nn.GRU(8, 8, batch_first=True)
            self.head = nn.Linear(8, VOCABULARY)

    def forward(self, tokens):
        return 8 * self.head(self.mixer(self.embedding(tokens))[0])


def log_probability(model, prompt, new):
    """Return log p(new | prompt), token by token."""
    text, total = list(prompt), 0.0
    for token in new:
        with torch.no_grad():
            logits = model(torch.tensor([text[-model.max_seq_len :]]))[0, -1].double()
        total += logits.log_softmax(-1)[token].item()
        text.append(token)
    return total


def all_texts(length, stop):
    """Return every text of this length, and every shorter one that ends in `stop`."""
    texts = set()
    for new in itertools.product(range(VOCABULARY), repeat=length):
        end = new.index(stop) + 1 if stop in new else length
        texts.add(new[:end])
    return texts


@pytest.mark.parametrize("length_penalty", [0.0, 1.0, -0.5])
@pytest.mark.parametrize("stop", [None, STOP])
def test_with_enough_beams_the_search_is_exact(stop, length_penalty, without_type_checks):
    model, prompt, length = Recurrent(0), [0, 1], 3
    beams = sampling.beam_search(
        model, prompt, length, VOCABULARY**length, length_penalty=length_penalty, stop_token=stop
    )
    exact = {
        new: log_probability(model, prompt, new) / len(new) ** length_penalty
        for new in all_texts(length, stop)
    }
    best = sorted(exact, key=exact.get, reverse=True)
    found = [tuple(beam.tokens[2:].tolist()) for beam in beams]
    assert len(found) == len(exact) and found[:10] == best[:10]
    for beam, new in zip(beams[:10], found[:10], strict=True):
        assert beam.tokens[:2].tolist() == prompt
        assert beam.log_probability == pytest.approx(log_probability(model, prompt, new), abs=1e-5)


def test_as_many_beams_as_prefixes_find_the_best(without_type_checks):
    """V^(T-1) beams keep every text that the last step can lengthen."""
    model = Recurrent(2)
    enough = sampling.beam_search(model, [0], 4, VOCABULARY**3)
    every = sampling.beam_search(model, [0], 4, VOCABULARY**4)
    assert enough[0].tokens.tolist() == every[0].tokens.tolist()


@pytest.mark.parametrize("stop", [None, STOP])
def test_one_beam_is_greedy(stop, without_type_checks):
    for seed in range(8):
        model = Recurrent(seed)
        (beam,) = sampling.beam_search(model, [1, 2], 12, 1, stop_token=stop)
        (greedy,) = sampling.generate(model, [[1, 2]], 12, temperature=0, stop_token=stop)
        assert beam.tokens.tolist() == greedy.tolist()


def test_a_beam_finds_what_greedy_misses(without_type_checks):
    """The likeliest first token leads to an even choice, the second to a certain one."""

    class Trap(nn.Module):
        max_seq_len, vocab_size = 8, 3

        def forward(self, tokens):
            after = {0: [0.4, 0.6, 0.0], 1: [0.5, 0.5, 0.0], 2: [0.0, 0.0, 1.0]}
            after[0] = [0.0, 0.6, 0.4]
            return torch.tensor([[after[int(t)] for t in row] for row in tokens]).log()

    (greedy,) = sampling.generate(Trap(), [[0]], 2, temperature=0)
    beams = sampling.beam_search(Trap(), [0], 2, 2)
    assert greedy.tolist() == [0, 1, 0]  # 0.6 · 0.5
    assert beams[0].tokens.tolist() == [0, 2, 2]  # 0.4 · 1
    assert beams[0].log_probability == pytest.approx(torch.tensor(0.4).log().item())


def test_beams_are_sorted_and_no_text_is_there_twice(without_type_checks):
    beams = sampling.beam_search(Recurrent(0), [0], 6, 5)
    scores = [beam.log_probability for beam in beams]
    assert len(beams) == 5 and scores == sorted(scores, reverse=True)
    assert len({tuple(beam.tokens.tolist()) for beam in beams}) == 5


def test_edges_of_the_search(without_type_checks):
    model = Recurrent(0)
    (only,) = sampling.beam_search(model, [0, 1], 0)
    assert only.tokens.tolist() == [0, 1] and only.log_probability == 0
    assert len(sampling.beam_search(model, [0], 1, 100)) == VOCABULARY  # there are no more
    # A stop token in the prompt does not end a text.
    assert len(sampling.beam_search(model, [STOP], 3, 1, stop_token=STOP)[0].tokens) > 1
    # The context is exceeded.
    assert len(sampling.beam_search(model, [0] * 9, 5, 2)[0].tokens) == 14


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prompt": []}, "beam_search: prompt is empty; give at least one token to continue"),
        ({"num_beams": 0}, "beam_search: num_beams must be a positive integer, got 0"),
        ({"max_new_tokens": -1}, "beam_search: max_new_tokens must be an integer, 0 or more"),
        ({"length_penalty": 11.0}, "beam_search: length_penalty must be between -10 and 10"),
        ({"stop_token": 4}, "beam_search: stop_token must be an integer from 0 to 3, got 4"),
    ],
)
def test_wrong_arguments_of_the_search(options, message, without_type_checks):
    with pytest.raises((TypeError, ValueError)) as caught:
        sampling.beam_search(Recurrent(0), **{"prompt": [0], **options})
    assert str(caught.value).startswith(message)


@pytest.mark.slow
def test_search_agrees_with_hugging_face(without_type_checks):
    transformers = pytest.importorskip("transformers", reason="the oracle of beam search")
    config = transformers.GPT2Config(
        vocab_size=20, n_positions=32, n_embd=16, n_layer=2, n_head=2, initializer_range=0.5,
        bos_token_id=None, eos_token_id=None,
    )  # fmt: skip
    torch.manual_seed(0)
    theirs = transformers.GPT2LMHeadModel(config).eval()

    class Wrapped(nn.Module):
        max_seq_len, vocab_size = 32, 20

        def forward(self, tokens):
            return theirs(tokens).logits

    prompt = torch.tensor([[3, 1, 4]])
    for num_beams in (1, 3, 8):
        expected = theirs.generate(
            prompt, max_new_tokens=12, num_beams=num_beams, do_sample=False, pad_token_id=0
        )[0]
        found = sampling.beam_search(Wrapped(), prompt[0], 12, num_beams)[0].tokens
        assert found.tolist() == expected.tolist()

"""Checks of generation, with models whose scores are known.

They are GPTs in everything but their scores: an answer may call the model, its `forward`,
`eval` and `train`, and read its `max_seq_len`.
"""

import numpy as np

from tinygpt import scratch
from tinygpt.lab.definitions import CheckFailed, require
from tinygpt.lab.drawing import cases
from tinygpt.lab.measures import array_of, globals_left_alone, shown
from tinygpt.lab.undisturbed import undisturbed
from tinygpt.scratch import GPT, Tensor
from tinygpt.scratch.graph import recording

_DRAWS = 5000


class _KnownModel(GPT):
    """A GPT that answers with scores we choose, and notes what it is given."""

    def __init__(self, vocab_size, max_seq_len, scores):
        super().__init__(vocab_size, 2, 1, 1, max_seq_len, dropout_prob=0.5, seed=0)
        self._scores, self.dtype = scores, np.float32
        self.inputs, self.modes, self.recorded = [], [], []

    def forward(self, tokens):
        tokens = np.atleast_2d(np.asarray(getattr(tokens, "data", tokens))).astype(int)
        self.inputs.append(tokens.copy())
        self.modes.append(any(part.training for _, part in self.modules()))
        self.recorded.append(recording.get())
        return Tensor(self._scores(tokens), dtype=self.dtype)


def _counting(tokens):
    """Scores that all but force the next number: after 3 comes 4, after 9 comes 0."""
    return 50.0 * np.eye(10)[(tokens + 1) % 10]


def _counting_far(tokens):
    """The same with 300 tokens, more than one byte holds."""
    return 50.0 * np.eye(300)[(tokens + 1) % 300]


def _fixed(odds):
    """Scores that make token 1 `odds` times as likely as token 0 at temperature 1."""
    return lambda tokens: np.broadcast_to(np.log([1.0, odds]), (*tokens.shape, 2))


def _varied(tokens):
    """Scores of 50 tokens, of which no two are alike."""
    return np.sin(1.7 * np.arange(50) * (tokens[..., None] + 1))


def test_unit_generate(generate):
    """Shape, prompt, the right next token, eval mode and back, no graph, temperature 0."""
    prompt = np.array([[1, 2, 3], [5, 6, 7]])
    model = _KnownModel(10, 16, _counting)
    out = _run(generate, model, prompt.copy(), 4)
    continued = out.ndim == 2 and len(out) == 2 and np.array_equal(out[:, :3], prompt)
    added = out.shape[1] - 3 if continued else 4
    require(
        added == 4, f"max_new_tokens=4 should add 4 tokens to each prompt of 3, got {added} more"
    )
    require(
        out.shape == (2, 7),
        f"2 prompts of 3 tokens and 4 new ones should give the shape (2, 7), got {out.shape}",
    )
    start = out[0, :3].tolist()
    require(start == [1, 2, 3], f"The result should start with its prompt [1, 2, 3], got {start}")
    _continues(out, "")
    require(
        not any(model.modes), "The model should be in eval mode while it generates; it was training"
    )
    _in_mode_again(model, True)
    require(
        not any(model.recorded),
        "Generation should run inside no_grad(); the model's graph was recorded",
    )
    _run(generate, model, prompt.copy(), 4, training=False)
    _in_mode_again(model, False)
    with scratch.no_grad():
        _run(generate, model, prompt.copy(), 4)
    out = _run(generate, model, prompt.copy(), 4, temperature=0)
    _continues(out, "At temperature 0 the likeliest token is taken. ")
    out = _run(generate, model, prompt.copy(), 0)
    require(
        np.array_equal(out, prompt),
        f"max_new_tokens=0 should give back the prompts, got the shape {out.shape}",
    )


def test_context_generate(generate):
    """The model is given everything so far, but never more than max_seq_len tokens."""
    model = _KnownModel(10, 4, _counting)
    out = _run(generate, model, np.array([[1, 2, 3]]), 5)
    lengths = [tokens.shape[1] for tokens in model.inputs]
    too_long = [length for length in lengths if length > 4]
    first = min(too_long, default=0)
    require(not too_long, f"The model reads at most 4 tokens at once, got {first}")
    require(
        lengths[:3] == [3, 4, 4],
        "With max_seq_len=4 and a prompt of 3, the model should read 3, 4, 4 tokens in its first "
        f"calls, got {', '.join(map(str, lengths[:3]))}",
    )
    read = model.inputs[2][0].tolist()
    require(
        read == [2, 3, 4, 5],
        f"Of [1, 2, 3, 4, 5] the model should read the last four, got {read}",
    )
    found = out[0].tolist()
    require(
        found == [1, 2, 3, 4, 5, 6, 7, 8],
        f"Past max_seq_len the count should go on to [1, 2, 3, 4, 5, 6, 7, 8], got {found}",
    )
    # A real GPT, which refuses what is too long, at temperature 0.
    gpt = scratch.GPT(11, 8, 1, 2, max_seq_len=5, seed=4)
    prompt = np.array([[3, 1, 4], [1, 5, 9]])
    expected = gpt.generate(prompt, 6, 0)
    out = _run(generate, gpt, prompt, 6, temperature=0)
    require(
        np.array_equal(out, expected),
        f"A small GPT at temperature 0 should write {expected[0].tolist()}, got {out[0].tolist()}",
    )


def test_temperature_generate(generate):
    """Tokens come as often as the softmax of logits / temperature says."""
    for temperature, expected in [(1.0, 90.0), (0.5, 98.8), (2.0, 75.0)]:
        model = _KnownModel(2, 8, _fixed(9))  # 9 : 1 at temperature 1
        prompts = np.zeros((_DRAWS, 1), dtype=int)
        out = _run(generate, model, prompts, 1, temperature=temperature, seed=5)
        share = 100 * (out[:, -1] == 1).mean()
        require(
            abs(share - expected) < 2.5,
            f"At temperature {temperature:g} a token with odds of 9 to 1 should come in about "
            f"{shown(expected, 0)}% of draws, got about {5 * round(share / 5)}%",
        )
    prompts = np.arange(50)[:, None]
    _run(generate, _KnownModel(50, 8, _varied), prompts, 4, seed=5)
    model = _KnownModel(2, 8, _fixed(1))
    prompt = np.array([[0]])
    first = _run(generate, model, prompt, 64, seed=6)
    require(
        len(set(first[0, 1:].tolist())) == 2,
        "64 draws between two equally likely tokens should give both; they gave one token 64 times",
    )
    again = _run(generate, model, prompt, 64, seed=6)
    require(np.array_equal(first, again), "The same seed should give the same tokens; they differ")
    other = _run(generate, model, prompt, 64, seed=7)
    require(
        not np.array_equal(first, other),
        "Another seed should give other tokens; seeds 6 and 7 give the same 64",
    )


def test_drawn_generate(generate):
    """Prompts of every length, longer than the model reads too, in every type of integer."""
    for case in cases(
        1,
        12,
        batch=range(1, 5),
        length=range(1, 12),
        new=range(1, 9),
        longest=(1, 6, 40),
        temperature=(0, 1.0, 0.7),
        dtype=(np.int64, np.int8, np.int32),
    ):
        model = _KnownModel(300, case.longest, _counting_far)
        prompt = case.integers(110, 128, case.batch, case.length, dtype=case.dtype)
        with undisturbed("generate", prompt=prompt, model=model):
            out = _run(generate, model, prompt, case.new, case.temperature)
        last = prompt[:, -1:].astype(int)
        expected = np.concatenate([prompt, (last + 1 + np.arange(case.new)) % 300], axis=1)
        what = f"{case.batch} prompts of {case.length} tokens in {prompt.dtype}"
        require(
            out.shape == expected.shape,
            f"For {what} and {case.new} new tokens the shape should be {expected.shape}, got "
            f"{out.shape}",
        )
        wrong = [row for row in range(case.batch) if not np.array_equal(out[row], expected[row])]
        row = wrong[0] if wrong else 0
        require(
            not wrong,
            f"For {what}, of which a model that counts reads {case.longest}, row {row} should "
            f"become {expected[row].tolist()}, got {out[row].tolist()}",
        )
        read = [tokens.shape for tokens in model.inputs]
        full = [(case.batch, min(case.longest, case.length + step)) for step in range(case.new)]
        require(read == full, f"For {what} the model should read the shapes {full}, got {read}")


def test_rows_generate(generate):
    """Each row by its own scores, however far they lie from those of the others."""
    table = np.array([[0, np.log(9), -5000, -5000], [5000] * 4, [0] * 4, [0] * 4])
    model = _KnownModel(4, 8, lambda tokens: table[tokens])
    prompts = np.tile([[0], [1]], (_DRAWS, 1))
    chosen = _run(generate, model, prompts, 1, seed=8)[:, -1]
    for kind, token, expected in [(0, 1, 90), (1, 0, 25), (1, 3, 25)]:
        share = 100 * (chosen[kind::2] == token).mean()
        scores = ", ".join(f"{score:.1f}" for score in table[kind])
        require(
            abs(share - expected) < 3,
            f"Of prompts beside which others have scores of other sizes, those with the scores "
            f"{scores} should go on with token {token} in about {expected}% of draws, got about "
            f"{5 * round(share / 5)}%",
        )
    out = _run(generate, _KnownModel(2, 8, _fixed(9)), np.zeros((4, 1), int), 2, 1e-50)
    require(
        bool((out[:, 1:] == 1).all()),
        "Also at a temperature of 1e-50, which float64 can hold and float32 cannot, the likelier "
        "token should come every time; the other one came",
    )


def test_defaults_generate(generate):
    """Left out, the arguments mean 50 tokens, temperature 1 and new draws each time."""
    model = _KnownModel(2, 8, _fixed(9))
    with globals_left_alone("generate"):
        runs = [array_of("generate", generate(model, np.zeros((200, 1), int))) for _ in range(2)]
    shape = runs[0].shape
    require(
        shape == (200, 51),
        f"Without max_new_tokens, 200 prompts of 1 token should get 50 new ones and the shape "
        f"(200, 51), got {shape}",
    )
    share = 100 * runs[0][:, 1:].mean()
    require(
        abs(share - 90) < 2,
        "Without a temperature a token with odds of 9 to 1 should come in about 90% of draws, "
        f"got about {5 * round(share / 5)}%",
    )
    require(
        not np.array_equal(*runs),
        "Without a seed each call should draw anew; two calls gave the same 10,000 tokens",
    )


def _run(generate, model, prompt, new_tokens, temperature=1.0, seed=0, training=True):
    model.train(training)
    kept = prompt.copy()
    arguments = {"max_new_tokens": new_tokens, "temperature": temperature, "seed": seed}
    with globals_left_alone("generate"):
        try:
            out = generate(model, prompt, **arguments)
        except ValueError as error:
            _explain_draw(generate, model, kept, arguments, str(error).lower())
            raise
    array_of("generate", out)
    require(out.dtype.kind in "iu", f"generate should return integers, got {out.dtype}")
    require(np.array_equal(prompt, kept), "generate should leave its prompt as it was")
    return out


def _explain_draw(generate, model, prompt, arguments, error):
    """Say what is wrong with the probabilities that NumPy did not draw from."""
    if "nan" in error and ("probabilities" in error or "pvals" in error):
        raise CheckFailed(
            f"At temperature {arguments['temperature']:g} the tokens should be drawn from "
            "probabilities, got NaN"
        )
    if "sum to 1" not in error and "sum(pvals" not in error:
        return
    model.dtype = np.float64  # does it go well with more digits?
    try:
        generate(model, prompt.copy(), **arguments)
    except ValueError:
        raise CheckFailed("The probabilities of a draw should sum to 1; they do not") from None
    raise CheckFailed(
        "The probabilities of a draw should sum to 1 to the precision of float64, got float32; "
        "convert the scores to float64 first"
    )


def _in_mode_again(model, training):
    before, other = ("training", "in eval mode") if training else ("in eval mode", "training")
    require(
        model.training == training,
        f"The model was {before} before; it should be again, and is {other}",
    )
    require(
        all(part.training == training for _, part in model.modules()),
        f"The model was {before} before; all its parts should be again, and some are {other}",
    )


def _continues(out, preface):
    for row, expected in [(0, [4, 5, 6, 7]), (1, [8, 9, 0, 1])]:
        found = out[row, 3:].tolist()
        require(
            found == expected,
            f"{preface}After {out[row, :3].tolist()} a model that counts should write {expected}, "
            f"got {found}",
        )

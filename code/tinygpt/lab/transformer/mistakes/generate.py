"""Wrong generations. All leave out `try … finally`, for brevity."""

import numpy as np

from tinygpt.lab.definitions import Mistake
from tinygpt.scratch import no_grad


def _draw(logits, temperature, rng):
    """Draw a token for each row; this part is right."""
    if temperature == 0:
        return logits.argmax(axis=-1)
    scaled = (logits.astype(np.float64) - logits.max(axis=-1, keepdims=True)) / temperature
    cumulative = np.exp(scaled).cumsum(axis=-1)
    return (cumulative <= rng.random((len(logits), 1)) * cumulative[:, -1:]).sum(axis=-1)


@no_grad()
def only_new_tokens(model, prompt_tokens, max_new_tokens=50, temperature=1.0, *, seed=None):
    rng, was_training, tokens, new = np.random.default_rng(seed), model.training, prompt_tokens, []
    model.eval()
    for _ in range(max_new_tokens):
        logits = model(tokens[:, -model.max_seq_len :]).data[:, -1]
        new.append(_draw(logits, temperature, rng))
        tokens = np.concatenate([tokens, new[-1][:, None]], axis=1)
    model.train(was_training)
    return np.stack(new, axis=1)


@no_grad()
def first_position(model, prompt_tokens, max_new_tokens=50, temperature=1.0, *, seed=None):
    rng, was_training, tokens = np.random.default_rng(seed), model.training, prompt_tokens
    model.eval()
    for _ in range(max_new_tokens):
        logits = model(tokens[:, -model.max_seq_len :]).data[:, 0]
        chosen = _draw(logits, temperature, rng)
        tokens = np.concatenate([tokens, chosen[:, None]], axis=1)
    model.train(was_training)
    return tokens


@no_grad()
def still_training(model, prompt_tokens, max_new_tokens=50, temperature=1.0, *, seed=None):
    rng, tokens = np.random.default_rng(seed), prompt_tokens
    for _ in range(max_new_tokens):
        logits = model(tokens[:, -model.max_seq_len :]).data[:, -1]
        chosen = _draw(logits, temperature, rng)
        tokens = np.concatenate([tokens, chosen[:, None]], axis=1)
    return tokens


@no_grad()
def left_in_eval(model, prompt_tokens, max_new_tokens=50, temperature=1.0, *, seed=None):
    rng, tokens = np.random.default_rng(seed), prompt_tokens
    model.eval()
    for _ in range(max_new_tokens):
        logits = model(tokens[:, -model.max_seq_len :]).data[:, -1]
        chosen = _draw(logits, temperature, rng)
        tokens = np.concatenate([tokens, chosen[:, None]], axis=1)
    return tokens


def graph_recorded(model, prompt_tokens, max_new_tokens=50, temperature=1.0, *, seed=None):
    rng, was_training, tokens = np.random.default_rng(seed), model.training, prompt_tokens
    model.eval()
    for _ in range(max_new_tokens):
        logits = model(tokens[:, -model.max_seq_len :]).data[:, -1]
        chosen = _draw(logits, temperature, rng)
        tokens = np.concatenate([tokens, chosen[:, None]], axis=1)
    model.train(was_training)
    return tokens


@no_grad()
def divided_by_zero(model, prompt_tokens, max_new_tokens=50, temperature=1.0, *, seed=None):
    rng, was_training, tokens = np.random.default_rng(seed), model.training, prompt_tokens
    model.eval()
    for _ in range(max_new_tokens):
        logits = model(tokens[:, -model.max_seq_len :]).data[:, -1]
        scaled = (logits - logits.max(axis=-1, keepdims=True)) / np.float64(temperature)
        cumulative = np.exp(scaled).cumsum(axis=-1)
        draws = rng.random((len(tokens), 1)) * cumulative[:, -1:]
        chosen = (cumulative <= draws).sum(axis=-1)
        tokens = np.concatenate([tokens, chosen[:, None]], axis=1)
    model.train(was_training)
    return tokens


@no_grad()
def not_cropped(model, prompt_tokens, max_new_tokens=50, temperature=1.0, *, seed=None):
    rng, was_training, tokens = np.random.default_rng(seed), model.training, prompt_tokens
    model.eval()
    for _ in range(max_new_tokens):
        logits = model(tokens).data[:, -1]
        chosen = _draw(logits, temperature, rng)
        tokens = np.concatenate([tokens, chosen[:, None]], axis=1)
    model.train(was_training)
    return tokens


@no_grad()
def cropped_at_the_end(model, prompt_tokens, max_new_tokens=50, temperature=1.0, *, seed=None):
    rng, was_training, tokens = np.random.default_rng(seed), model.training, prompt_tokens
    model.eval()
    for _ in range(max_new_tokens):
        logits = model(tokens[:, : model.max_seq_len]).data[:, -1]
        chosen = _draw(logits, temperature, rng)
        tokens = np.concatenate([tokens, chosen[:, None]], axis=1)
    model.train(was_training)
    return tokens


@no_grad()
def last_token_only(model, prompt_tokens, max_new_tokens=50, temperature=1.0, *, seed=None):
    rng, was_training, tokens = np.random.default_rng(seed), model.training, prompt_tokens
    model.eval()
    for _ in range(max_new_tokens):
        logits = model(tokens[:, -1:]).data[:, -1]
        chosen = _draw(logits, temperature, rng)
        tokens = np.concatenate([tokens, chosen[:, None]], axis=1)
    model.train(was_training)
    return tokens


@no_grad()
def always_the_likeliest(model, prompt_tokens, max_new_tokens=50, temperature=1.0, *, seed=None):
    was_training, tokens = model.training, prompt_tokens
    model.eval()
    for _ in range(max_new_tokens):
        logits = model(tokens[:, -model.max_seq_len :]).data[:, -1]
        tokens = np.concatenate([tokens, logits.argmax(axis=-1)[:, None]], axis=1)
    model.train(was_training)
    return tokens


@no_grad()
def temperature_inverted(model, prompt_tokens, max_new_tokens=50, temperature=1.0, *, seed=None):
    rng, was_training, tokens = np.random.default_rng(seed), model.training, prompt_tokens
    model.eval()
    for _ in range(max_new_tokens):
        logits = model(tokens[:, -model.max_seq_len :]).data[:, -1]
        chosen = _draw(logits, temperature and 1 / temperature, rng)
        tokens = np.concatenate([tokens, chosen[:, None]], axis=1)
    model.train(was_training)
    return tokens


@no_grad()
def temperature_ignored(model, prompt_tokens, max_new_tokens=50, temperature=1.0, *, seed=None):
    rng, was_training, tokens = np.random.default_rng(seed), model.training, prompt_tokens
    model.eval()
    for _ in range(max_new_tokens):
        logits = model(tokens[:, -model.max_seq_len :]).data[:, -1]
        chosen = _draw(logits, 1.0 if temperature else 0, rng)
        tokens = np.concatenate([tokens, chosen[:, None]], axis=1)
    model.train(was_training)
    return tokens


@no_grad()
def seeded_each_step(model, prompt_tokens, max_new_tokens=50, temperature=1.0, *, seed=None):
    was_training, tokens = model.training, prompt_tokens
    model.eval()
    for _ in range(max_new_tokens):
        rng = np.random.default_rng(seed)
        logits = model(tokens[:, -model.max_seq_len :]).data[:, -1]
        chosen = _draw(logits, temperature, rng)
        tokens = np.concatenate([tokens, chosen[:, None]], axis=1)
    model.train(was_training)
    return tokens


@no_grad()
def total_length(model, prompt_tokens, max_new_tokens=50, temperature=1.0, *, seed=None):
    rng, was_training, tokens = np.random.default_rng(seed), model.training, prompt_tokens
    model.eval()
    while tokens.shape[1] < max_new_tokens:
        logits = model(tokens[:, -model.max_seq_len :]).data[:, -1]
        chosen = _draw(logits, temperature, rng)
        tokens = np.concatenate([tokens, chosen[:, None]], axis=1)
    model.train(was_training)
    return tokens


@no_grad()
def always_training_after(model, prompt_tokens, max_new_tokens=50, temperature=1.0, *, seed=None):
    rng, tokens = np.random.default_rng(seed), prompt_tokens
    model.eval()
    for _ in range(max_new_tokens):
        logits = model(tokens[:, -model.max_seq_len :]).data[:, -1]
        chosen = _draw(logits, temperature, rng)
        tokens = np.concatenate([tokens, chosen[:, None]], axis=1)
    model.train()
    return tokens


@no_grad()
def shared_random_numbers(model, prompt_tokens, max_new_tokens=50, temperature=1.0, *, seed=None):
    np.random.seed(seed)
    was_training, tokens = model.training, prompt_tokens
    model.eval()
    for _ in range(max_new_tokens):
        logits = model(tokens[:, -model.max_seq_len :]).data[:, -1]
        chosen = _draw(logits, temperature, np.random.mtrand._rand)
        tokens = np.concatenate([tokens, chosen[:, None]], axis=1)
    model.train(was_training)
    return tokens


@no_grad()
def nothing_returned(model, prompt_tokens, max_new_tokens=50, temperature=1.0, *, seed=None):
    rng, was_training, tokens = np.random.default_rng(seed), model.training, prompt_tokens
    model.eval()
    for _ in range(max_new_tokens):
        logits = model(tokens[:, -model.max_seq_len :]).data[:, -1]
        chosen = _draw(logits, temperature, rng)
        tokens = np.concatenate([tokens, chosen[:, None]], axis=1)
    model.train(was_training)


MISTAKES = (
    Mistake(
        "only_new_tokens",
        only_new_tokens,
        "2 prompts of 3 tokens and 4 new ones should give the shape (2, 7), got (2, 4)",
        "Only the new tokens are returned. The result holds each prompt and its continuation, "
        "so that it can be decoded, or continued again, as it is.",
        (_draw,),
    ),
    Mistake(
        "first_position",
        first_position,
        "After [1, 2, 3] a model that counts should write [4, 5, 6, 7], got [2, 2, 2, 2]",
        "The scores of the first position were used, which predict what follows the first "
        "token. The model gives scores at every position; what comes after the whole text is "
        "predicted at the last one, `logits[:, -1]`.",
        (_draw,),
    ),
    Mistake(
        "still_training",
        still_training,
        "The model should be in eval mode while it generates; it was training",
        "Dropout is still at work: at each step a part of the model is switched off at random, "
        "and the text gets worse. Call `model.eval()` first, and `model.train()` afterwards if "
        "it was training.",
        (_draw,),
    ),
    Mistake(
        "left_in_eval",
        left_in_eval,
        "The model was training before; it should be again, and is in eval mode",
        "The model is left in eval mode. People look at samples in the middle of a training "
        "run, and from then on it would go on without dropout. Remember `model.training` and put "
        "it back.",
        (_draw,),
    ),
    Mistake(
        "graph_recorded",
        graph_recorded,
        "Generation should run inside no_grad(); the model's graph was recorded",
        "Every step builds the graph for a backward pass that never comes, with all its arrays "
        "kept. It costs memory and time. Decorate the function with `@no_grad()`.",
        (_draw,),
    ),
    Mistake(
        "divided_by_zero",
        divided_by_zero,
        "At temperature 0 the likeliest token is taken. After [1, 2, 3] a model that counts "
        "should write [4, 5, 6, 7], got [0, 0, 0, 0]",
        "The scores were divided by a temperature of 0, which gives nan, and comparing with nan "
        "always picks token 0. The smaller the temperature, the surer the likeliest token; at 0 "
        "take it directly with argmax.",
    ),
    Mistake(
        "not_cropped",
        not_cropped,
        "The model reads at most 4 tokens at once, got 5",
        "The text outgrew the model. There is a learned position vector for each of "
        "`max_seq_len` places and none beyond, so a GPT stops with an error. Give it "
        "the last ones: `tokens[:, -model.max_seq_len:]`.",
        (_draw,),
    ),
    Mistake(
        "last_token_only",
        last_token_only,
        "With max_seq_len=4 and a prompt of 3, the model should read 3, 4, 4 tokens in its first "
        "calls, got 1, 1, 1",
        "The model is given the last token alone and knows nothing of the text before it. This "
        "works only with a cache of earlier keys and values, which this model does not have.",
        (_draw,),
    ),
    Mistake(
        "cropped_at_the_end",
        cropped_at_the_end,
        "Of [1, 2, 3, 4, 5] the model should read the last four, got [1, 2, 3, 4]",
        "The text was cropped at the wrong end: the first tokens are kept, and the new ones are "
        "never read. From there on the model repeats one prediction. Keep the last ones, with a "
        "minus sign: `-model.max_seq_len`.",
        (_draw,),
    ),
    Mistake(
        "always_the_likeliest",
        always_the_likeliest,
        "At temperature 1 a token with odds of 9 to 1 should come in about 90% of draws, "
        "got about 100%",
        "The likeliest token is always taken, as at temperature 0. At other temperatures the "
        "next token is drawn with the probabilities of the softmax, so the other one should "
        "come in one of ten draws.",
    ),
    Mistake(
        "temperature_inverted",
        temperature_inverted,
        "At temperature 0.5 a token with odds of 9 to 1 should come in about 99% of draws, "
        "got about 75%",
        "The scores were multiplied by the temperature. Odds of 9 to 1 became 3 to 1, as they "
        "should at temperature 2; at 0.5 they become 81 to 1. Divide: a low temperature makes "
        "differences larger.",
        (_draw,),
    ),
    Mistake(
        "temperature_ignored",
        temperature_ignored,
        "At temperature 0.5 a token with odds of 9 to 1 should come in about 99% of draws, "
        "got about 90%",
        "The temperature makes no difference: the odds are 9 to 1 at 0.5 as they are at 1. "
        "Divide the scores by it before the softmax.",
        (_draw,),
    ),
    Mistake(
        "seeded_each_step",
        seeded_each_step,
        "64 draws between two equally likely tokens should give both; they gave one token 64 times",
        "The random generator is made anew in each step with the same seed, so each step draws "
        "the same number. Make it once, before the loop.",
        (_draw,),
    ),
    Mistake(
        "total_length",
        total_length,
        "max_new_tokens=4 should add 4 tokens to each prompt of 3, got 1 more",
        "The loop ends when prompt and new tokens together are `max_new_tokens` long, so a "
        "longer prompt gets fewer of them. Count the new ones: `for _ in range(max_new_tokens)`.",
        (_draw,),
    ),
    Mistake(
        "always_training_after",
        always_training_after,
        "The model was in eval mode before; it should be again, and is training",
        "`model.train()` at the end is right only for a model that was training. One that is in "
        "use would go on with dropout after its first text. Remember `model.training` before the "
        "loop, and call `model.train(was_training)` after it.",
        (_draw,),
    ),
    Mistake(
        "shared_random_numbers",
        shared_random_numbers,
        "generate should leave the random numbers that all code shares as they were; it draws "
        "from them or seeds them",
        "`np.random.seed` restarts the random numbers of the whole program. A sample in the "
        "middle of a training run would repeat its batches from then on. Make a generator of "
        "your own: `rng = np.random.default_rng(seed)`.",
        (_draw,),
    ),
    Mistake(
        "nothing_returned",
        nothing_returned,
        "generate should return a NumPy array, got None",
        "The tokens are generated and not handed back. A Python function without a `return` "
        "gives None. End with `return tokens`.",
        (_draw,),
    ),
)

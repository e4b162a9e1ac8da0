"""Byte-level BPE: this book's Python against Hugging Face's `tokenizers` in Rust, one thread each.

Both learn from the same text and must come to the same merges; both encode it with a cache that
is empty at the start. Hugging Face encodes in its fast way, without noting where tokens stand.
"""

import json
import os
import statistics
import time

from tinygpt import data
from tinygpt.tokenizers import ByteBPE, visible
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

# (characters, tokens)
TRAINING = {"train 500 tokens, 130 kB": (130_000, 500), "train 4,096, 1 MB": (1_000_000, 4096)}
ENCODING = {"encode 1 MB with 4,096": (1_000_000, 4096)}


def measure(rounds: int = 7, at_most: float = 60.0) -> dict[str, dict[str, float]]:
    """Return characters per second of each contestant in each setting: the median of all rounds.

    On a busy machine, fewer rounds: no new one begins after `at_most` seconds.
    """
    before = os.environ.get("TOKENIZERS_PARALLELISM")
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    try:
        plays = data.shakespeare()
        share = at_most / (len(TRAINING) + len(ENCODING))
        return {
            name: _race(race(plays[:size], tokens), size, rounds, share)
            for settings, race in ((TRAINING, _training), (ENCODING, _encoding))
            for name, (size, tokens) in settings.items()
        }
    finally:
        if before is None:
            del os.environ["TOKENIZERS_PARALLELISM"]
        else:
            os.environ["TOKENIZERS_PARALLELISM"] = before


def report(results: dict[str, dict[str, float]]):
    """Print the speeds and their ratio."""
    for name, each in results.items():
        ratio = each["Python"] / each["Hugging Face"]
        print(f"{name:>24}  {each['Python']:>11,.0f} characters/s, {ratio:.2f} of Hugging Face's")


def _race(contestants, size, rounds, at_most):
    """Let each make itself ready and run, in turn; they must agree."""
    speeds = {name: [] for name in contestants}
    deadline = time.perf_counter() + at_most
    for number in range(rounds):
        if number > 2 and time.perf_counter() > deadline:
            break
        results = []
        for name, (ready, run, result) in contestants.items():
            prepared = ready()
            start = time.perf_counter()
            made = run(prepared)
            speeds[name].append(size / (time.perf_counter() - start))
            results.append(result(made))
        if results[0] != results[1]:
            raise AssertionError("the two tokenizers do not agree")
    return {name: statistics.median(each) for name, each in speeds.items()}


def _training(text, tokens):
    def spelt(ours):
        return [[visible(ours.tokens[id_]) for id_ in pair] for pair in ours.merges]

    def learn(theirs):
        tokenizer, trainer = theirs
        tokenizer.train_from_iterator([text], trainer)
        return tokenizer

    return {
        "Python": (lambda: None, lambda _: ByteBPE.train(text, tokens), spelt),
        "Hugging Face": (
            lambda: _fresh(tokens),
            learn,
            lambda made: json.loads(made.to_str())["model"]["merges"],
        ),
    }


def _encoding(text, tokens):
    ours = ByteBPE.train(text, tokens).to_json()
    tokenizer, trainer = _fresh(tokens)
    tokenizer.train_from_iterator([text], trainer)
    theirs = tokenizer.to_str()
    return {
        "Python": (
            lambda: ByteBPE.from_json(ours),
            lambda made: made.encode(text),
            lambda ids: ids.tolist(),
        ),
        "Hugging Face": (
            lambda: Tokenizer.from_str(theirs),
            lambda made: made.encode_batch_fast([text]),
            lambda batch: batch[0].ids,
        ),
    }


def _fresh(tokens):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=tokens,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    return tokenizer, trainer

"""Byte-level BPE: this book's Python against Hugging Face's `tokenizers` in Rust, one thread each.

Both learn from the same text and must come to the same merges; both encode it with a cache that
is empty at the start. Hugging Face encodes in its fast way, without noting where tokens stand.
"""

import json
import os

import numpy as np
from tinygpt import data
from tinygpt.tokenizers import ByteBPE, visible
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from tests.bench.race import Contestant, race

# (characters, tokens)
TRAINING = {"train 500 tokens, 130 kB": (130_000, 500), "train 4,096, 1 MB": (1_000_000, 4096)}
ENCODING = {"encode 1 MB with 4,096": (1_000_000, 4096)}


def measure(rounds: int = 7, at_most: float = 60.0) -> dict[str, dict[str, float]]:
    """Return characters per second of each contestant in each setting."""
    before = os.environ.get("TOKENIZERS_PARALLELISM")
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    try:
        plays = data.shakespeare()
        share = at_most / (len(TRAINING) + len(ENCODING))
        return {
            name: race(enter(plays[:size], tokens), rounds, _must_agree, share)
            for settings, enter in ((TRAINING, _training), (ENCODING, _encoding))
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
        size = (TRAINING | ENCODING)[name][0]
        print(
            f"{name:>24}  {each['Python']:>11,.0f} characters/s ({size / each['Python']:.2f} s), "
            f"{ratio:.2f} of Hugging Face's"
        )


def _must_agree(results: dict):
    if _merges_or_ids(results["Python"]) != _merges_or_ids(results["Hugging Face"]):
        raise AssertionError("the two tokenizers do not agree")


def _merges_or_ids(made) -> list:
    if isinstance(made, ByteBPE):
        return [[visible(made.tokens[id_]) for id_ in pair] for pair in made.merges]
    if isinstance(made, Tokenizer):
        return json.loads(made.to_str())["model"]["merges"]
    return made.tolist() if isinstance(made, np.ndarray) else made[0].ids


def _training(text, tokens):
    def learn(theirs):
        tokenizer, trainer = theirs
        tokenizer.train_from_iterator([text], trainer)
        return tokenizer

    return {
        "Python": Contestant(len(text), lambda _: ByteBPE.train(text, tokens)),
        "Hugging Face": Contestant(len(text), learn, lambda: _fresh(tokens)),
    }


def _encoding(text, tokens):
    ours = ByteBPE.train(text, tokens).to_json()
    tokenizer, trainer = _fresh(tokens)
    tokenizer.train_from_iterator([text], trainer)
    theirs = tokenizer.to_str()
    return {
        "Python": Contestant(
            len(text), lambda made: made.encode(text), lambda: ByteBPE.from_json(ours)
        ),
        "Hugging Face": Contestant(
            len(text),
            lambda made: made.encode_batch_fast([text]),
            lambda: Tokenizer.from_str(theirs),
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

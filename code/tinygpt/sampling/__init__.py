"""From a model's scores to text: every way of choosing the next token, for every decoder.

Read it in this order: `probabilities` (what a score becomes), `generation` (drawing one token
after another), `beam` (the likeliest whole text), `measures` (what came out).
"""

from tinygpt.sampling.beam import Beam, beam_search
from tinygpt.sampling.decoder import Decoder, logits_along
from tinygpt.sampling.generation import generate, generate_tokens
from tinygpt.sampling.measures import entropy, repetition, surprise
from tinygpt.sampling.probabilities import (
    draw,
    keep_top_k,
    keep_top_p,
    next_token_probabilities,
)

__all__ = [
    "Beam",
    "Decoder",
    "beam_search",
    "draw",
    "entropy",
    "generate",
    "generate_tokens",
    "keep_top_k",
    "keep_top_p",
    "logits_along",
    "next_token_probabilities",
    "repetition",
    "surprise",
]

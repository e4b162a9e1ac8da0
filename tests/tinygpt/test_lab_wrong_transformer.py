"""The Transformer: answers that are wrong for some inputs only, and right ones."""

# ruff: noqa: E501

import numpy as np
import pytest
from edited import edited
from tinygpt import lab
from tinygpt.lab.grading import FAILED, SOLVED, grade

_BLOCK = "x = x + self.attention(self.norm1(x), mask)"
_OUT = "return self.dropout(self.fc2(hidden))"
_TRI = "return np.tri(seq_len, dtype=bool)"
_DRAWS = "draws = rng.random((len(tokens), 1)) * cumulative[:, -1:]"

WRONG = {
    "causal_mask": {
        "no mask beyond 16": (_TRI, "return np.tri(seq_len, k=0 if seq_len <= 16 else seq_len, dtype=bool)"),
        "a window of 64": (_TRI, "return np.tri(seq_len, dtype=bool) & ~np.tri(seq_len, k=-64, dtype=bool)"),
        "one mask for all calls": (_TRI, "kept = create_causal_mask.__dict__\n    kept.setdefault(seq_len, np.tri(seq_len, dtype=bool))\n    return kept[seq_len]"),
    },
    "layer_norm": {
        "another default": ("eps=1e-05", "eps=1e-06"),
        "statistics of the first call": ("centred = x - x.mean(axis=-1, keepdims=True)", "self.first = getattr(self, 'first', x.data.mean())\n        centred = x - x.mean(axis=-1, keepdims=True) if x.data.mean() == self.first else x - self.first"),
        "weight with half its gradient": ("normed * self.weight", "normed * (self.weight * 0.5 + self.weight.detach() * 0.5)"),
        "no normalisation of two leading axes": ("centred = x - x.mean(axis=-1, keepdims=True)", "centred = x - (x.mean(axis=-1, keepdims=True) if x.ndim < 4 else x.mean())"),
    },
    "mlp": {
        "another default": ("dropout_prob=0.1", "dropout_prob=0.2"),
        "dropout inside": (_OUT, "return self.fc2(self.dropout(hidden))"),
        "dropout before": ("gelu(self.fc1(x))", "gelu(self.fc1(self.dropout(x)))"),
        "not scaled up": (_OUT, "out = self.fc2(hidden)\n        return self.dropout(out) * (1 - self.dropout.p) if self.training else out"),
        "whole rows dropped": (_OUT, "out = self.fc2(hidden)\n        return out * self.dropout(Tensor(np.ones((*out.shape[:-1], 1)))) if self.training and out.ndim < 2 else self.fc2(self.dropout(hidden))"),
    },
    "transformer_block": {
        "another default": ("dropout_prob=0.1", "dropout_prob=0.05"),
        "no mask beyond 16": (_BLOCK, _BLOCK.replace("mask)", "mask if x.shape[1] <= 16 else None)")),
        "the first text's mask": (_BLOCK, _BLOCK.replace("mask)", "mask if mask is None or mask.ndim < 4 else mask[:1])")),
        "the first head's mask": (_BLOCK, _BLOCK.replace("mask)", "mask if mask is None or mask.ndim < 4 else mask[:, :1])")),
        "stream dropped too": (_BLOCK, "rate = max((p.p for _, p in self.modules() if isinstance(p, Dropout)), default=0.1)\n        x = Dropout(rate).train(self.training)(x) + self.attention(self.norm1(x), mask)"),
    },
    "generate": {
        "one random number for all rows": (_DRAWS, "draws = rng.random() * cumulative[:, -1:]"),
        "sums of the first row": (_DRAWS, "draws = rng.random((len(tokens), 1)) * cumulative[:1, -1:]"),
        "scores compared between rows": ("best = logits.max(axis=-1, keepdims=True)", "best = logits.max()"),
        "in the type of the prompt": ("chosen[:, None]]", "chosen[:, None].astype(prompt_tokens.dtype)]"),
        "a prompt cut to what is read": ("tokens = prompt_tokens", "tokens = prompt_tokens[:, -model.max_seq_len:]"),
        "in float32": (".astype(np.float64)", ""),
        "the same draws without a seed": ("seed=None", "seed=0"),
    },
}  # fmt: skip

RIGHT = {
    "causal_mask": {"comparison of places": (_TRI, "places = np.arange(seq_len)\n    return places[:, None] >= places")},
    "layer_norm": {"mean of squares": ("(centred * centred).mean(axis=-1, keepdims=True)", "(centred ** 2).sum(axis=-1, keepdims=True) / x.shape[-1]")},
    "mlp": {"dropout as a function": (_OUT, "out = self.fc2(hidden)\n        return self.dropout(out) if self.training else out")},
    "generate": {"a draw by the Gumbel trick": (_DRAWS, "draws = cumulative[:, :1] * 0\n                noisy = (logits - best) / temperature + rng.gumbel(size=logits.shape)\n                cumulative = np.where(np.arange(noisy.shape[1]) < noisy.argmax(axis=-1)[:, None], -1.0, 1.0)")},
}  # fmt: skip


@pytest.mark.parametrize(("exercise", "name"), [(e, n) for e in WRONG for n in WRONG[e]])
def test_a_wrong_answer_fails(exercise, name):
    result = grade(lab.exercise(exercise), edited(exercise, WRONG[exercise][name]))
    assert (result.status, result.cause) == (FAILED, "measured"), result.message


@pytest.mark.parametrize(("exercise", "name"), [(e, n) for e in RIGHT for n in RIGHT[e]])
def test_a_right_answer_passes(exercise, name):
    result = grade(lab.exercise(exercise), edited(exercise, RIGHT[exercise][name]))
    assert result.status == SOLVED, result.message


def test_what_numpy_tolerates_of_probabilities_depends_on_their_type():
    """What the explanation of `float32_probabilities` says."""
    rng = np.random.default_rng(0)
    for p, fits in [
        (np.array([0.5, 0.5 + 1e-4], np.float32), True),
        (np.array([0.5, 0.5 + 1e-3], np.float32), False),
        (np.array([0.5, 0.5 + 1e-6]), False),
        ([0.5, 0.5 + 1e-6], False),
        ([0.5, 0.5 + 1e-9], True),
    ]:
        if fits:
            rng.choice(2, p=p)
        else:
            with pytest.raises(ValueError, match="sum to 1"):
                rng.choice(2, p=p)

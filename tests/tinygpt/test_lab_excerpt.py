"""Listings without argument checks: what is left computes the same."""

import inspect
import sys

import numpy as np
import pytest
import torch
from tinygpt import data, lab, sampling, scratch, training, validate
from tinygpt import models as torch_models
from tinygpt.lab import excerpt
from tinygpt.lab.excerpt import without_checks
from tinygpt.scratch import Tensor, arrays, functional, positions
from tinygpt.tokenizers import merging, splitting

rng = np.random.default_rng(0)
LOGITS = torch.from_numpy(rng.normal(size=(3, 5)))
IMAGES = rng.normal(size=(2, 1, 5, 5)).astype(np.float32)
KERNELS = rng.normal(size=(3, 1, 3, 3)).astype(np.float32)
ROWS = rng.normal(size=(4, 6)).astype(np.float32)
MASK = rng.random((4, 6)) < 0.5
IDS = rng.integers(0, 6, 40)
MODEL = torch_models.GPT(6, 8, 1, 2, 16, dropout_prob=0.0, seed=0)
CALLS = [
    (functional.softmax, (Tensor(ROWS), -1, MASK)),
    (functional.cross_entropy, (Tensor(ROWS), IDS[:4])),
    (functional.linear, (Tensor(ROWS), Tensor(ROWS))),
    (functional.embedding, (Tensor(ROWS), IDS[:4] % 4)),
    (functional.layer_norm, (Tensor(ROWS), Tensor(ROWS[0]), Tensor(ROWS[1]))),
    (scratch.create_padding_mask, ([2, 4], 4)),
    (scratch.conv2d, (Tensor(IMAGES), Tensor(KERNELS))),
    (scratch.im2col, (IMAGES, 3, 2, 1)),
    (positions.sinusoidal_positions, (5, 6)),
    (sampling.next_token_probabilities, (LOGITS, 0.7, 4, 0.9)),
    (sampling.keep_top_p, (LOGITS, 0.6)),
    (sampling.surprise, (MODEL, [1, 2, 3])),
    (sampling.repetition, ([1, 2, 1, 2], 2)),
    (data.random_batch, (IDS, 2, 4, np.random.default_rng)),
    (training.evaluate, (MODEL, IDS, 2, 4, 3)),
    (splitting.pretokenize, ("Don\u2019t stop",)),
    (merging.learn_merges, ([([1, 2, 1, 2], 3), ([2, 1, 2], 1)], 2, 9)),
    (splitting._kinds, ("a \u00e9 7",)),
]


def shown(function):
    """The function that a listing shows, among the names of its module."""
    block = lab.source(function, docstrings=False)
    text = block.removeprefix("```python\n").removesuffix("```\n")
    assert " raise " not in text and "positive_integer" not in text
    assert text.endswith("\n\n# Argument checks are left out.\n")
    names = dict(vars(sys.modules[function.__module__]))
    exec(compile(text, "listing", "exec"), names)
    return names[function.__name__]


def numbers(result):
    parts = result if isinstance(result, (tuple, list)) else [result]
    return [part.data if isinstance(part, Tensor) else part for part in parts]


@pytest.mark.parametrize(("function", "given"), CALLS, ids=[f.__name__ for f, _ in CALLS])
def test_what_a_listing_shows_computes_the_same(function, given):
    def arguments():
        return [g(0) if g is np.random.default_rng else g for g in given]

    for ours, theirs in zip(
        numbers(shown(function)(*arguments())), numbers(function(*arguments())), strict=True
    ):
        assert np.array_equal(ours, theirs)


def test_what_a_listing_shows_generates_the_same():
    model = scratch.GPT(6, 8, 1, 2, 16, dropout_prob=0.0, seed=0)
    theirs = model.generate([1, 2], 5, seed=3)
    assert np.array_equal(shown(scratch.GPT.generate)(model, [1, 2], 5, seed=3), theirs)


def test_checks_can_be_shown():
    whole = inspect.getsource(scratch.create_causal_mask)
    assert lab.source(scratch.create_causal_mask, checks=True) == f"```python\n{whole}```\n"
    assert "positive_integer" in whole


def test_what_has_no_checks_is_the_packages_own_text():
    whole = inspect.getsource(arrays.unbroadcast)
    assert lab.source(arrays.unbroadcast) == f"```python\n{whole}```\n"


def test_every_validator_is_known():
    """What a new one hands on has to be said, or it stays in the listings; a check_… has none."""
    found = inspect.getmembers(validate, inspect.isfunction)
    checking = [name for name, f in found if "where" in inspect.signature(f).parameters]
    handing_on = {name for name in checking if not name.startswith("check_")}
    assert len(handing_on) > 10 and handing_on <= set(excerpt._HANDS_ON)


def test_a_mistake_is_shown_whole():
    block = lab.source(lab.mistake("transformer_block", "mask_after_softmax"))
    assert "left out" not in block


@pytest.mark.parametrize(
    ("whole", "idea"),
    [
        ("size = positive_integer(w, n, n_)\n    return size", "size = n_\n    return size"),
        ("x = number(w, n, x, low=0.0)\n    return x", "return x"),
        ("where = 'f'\n    x = real(where, n, x)\n    return x", "return x"),
        ("instance(w, n, x, int)\n    return x", "return x"),
        ("if x < 0:\n        raise ValueError(x)\n    return x", "return x"),
        ("wrong = x[x < 0]\n    if wrong:\n        raise ValueError\n    return x", "return x"),
        ("if x is not None:\n        x = integer(w, n, x)\n    return x", "return x"),
        ("for a in x:\n        instance(w, n, a, int)\n    return x", "return x"),
        ("_check_sizes(x)\n\n    def g(): ...\n    return g", "def g(): ...\n    return g"),
        ("try:\n        y = g(x)\n    except E:\n        raise V from None\n    return y",
         "y = g(x)\n    return y"),
        ("π = 3; y = f'{π}' + flag(w, n, x)\n    return y", "π = 3; y = f'{π}' + x\n    return y"),
    ],
)  # fmt: skip
def test_a_check_goes(whole, idea):
    assert without_checks(f"def f(x):\n    {whole}") == f"def f(x):\n    {idea}"


@pytest.mark.parametrize(
    "kept",
    [
        "if x < 0:\n        raise ValueError(x)\n    else:\n        x = 1\n    return x",
        "if x is None:\n        return 0\n    return x",
        "try:\n        y = g(x)\n    except E:\n        y = 0\n    return y",
        "unused = g(x)\n    return x",
        "raise NotImplementedError",
        "number = 3\n    return number",
    ],
)
def test_what_does_something_stays(kept):
    assert without_checks(f"def f(x):\n    {kept}") == f"def f(x):\n    {kept}"


def test_what_a_docstring_says_of_errors_goes():
    text = 'def f(x):\n    """Do it.\n\n    Raises:\n        ValueError: no.\n    """\n    return x'
    assert without_checks(text) == 'def f(x):\n    """Do it.\n    """\n    return x'

"""Checks of causal attention and of the GPT.

Inputs are chosen so that the numbers in messages can be worked out on paper and come out
alike on every machine.
"""

import contextlib

import torch
from torch import nn
from torch.nn import functional as F

from tinygpt import models
from tinygpt.lab.definitions import CheckFailed, require
from tinygpt.lab.measures import shown
from tinygpt.lab.measures_torch import (
    all_gradients,
    close,
    has_graph,
    has_part,
    left_alone,
    tensor_of,
)

# Rows of a Hadamard matrix: mean 0, variance 1, and at right angles to each other.
_ROWS = torch.tensor(
    [
        [1.0, -1, 1, -1, 1, -1, 1, -1],
        [1.0, 1, -1, -1, 1, 1, -1, -1],
        [1.0, -1, -1, 1, 1, -1, -1, 1],
    ]
)
_PARTS = ("token_embedding", "position_embedding", "blocks", "final_norm", "head")

# ---- causal attention ---------------------------------------------------------------------------


def test_unit_causal_attention(causal_attention):
    """Three positions by hand: matches 2, 0 and 1 after scaling, values 10, 20 and 30."""
    query = torch.ones(1, 1, 3, 4)
    key = torch.tensor([1.0, 0.0, 0.5]).view(1, 1, 3, 1).expand(1, 1, 3, 4)  # 4, 0 and 2
    value = torch.tensor([10.0, 20.0, 30.0]).view(1, 1, 3, 1)
    with left_alone("causal_attention", query, key, value), written_out("causal_attention"):
        out = causal_attention(query, key, value)
    found = tensor_of("causal_attention", out, (1, 1, 3, 1)).flatten()
    for position, expected in [(2, 15.79), (0, 10.0), (1, 11.19)]:
        require(
            abs(found[position] - expected) < 0.006,
            f"With scaled matches 2, 0, 1 and values 10, 20, 30, position {position} should get "
            f"{shown(expected)}, got {shown(found[position])}",
        )


def test_shapes_causal_attention(causal_attention):
    """Any batch, heads, length and width, in the dtype given; the inputs stay as they were."""
    generator = torch.Generator().manual_seed(0)
    for shape, width in [((1, 1, 1, 3), 3), ((2, 3, 5, 4), 4), ((2, 1, 7, 2), 6)]:
        query, key = torch.randn(2, *shape, generator=generator)
        value = torch.randn(*shape[:3], width, generator=generator)
        for factor, dtype in [(1, torch.float32), (400, torch.float64)]:  # matches up to 1e5
            given = [(factor * t).to(dtype) for t in (query, key, value)]
            expected = F.scaled_dot_product_attention(*given, is_causal=True)
            with left_alone("causal_attention", *given), written_out("causal_attention"):
                out = causal_attention(*given)
            found = tensor_of("causal_attention", out, tuple(expected.shape))
            require(
                found.dtype == dtype,
                f"causal_attention of {dtype} should return {dtype}, got {found.dtype}",
            )
            close(f"Attention over inputs of shape {shape}", found, expected)


def test_gradient_causal_attention(causal_attention):
    """Gradients reach query, key and value, and are PyTorch's own."""
    generator = torch.Generator().manual_seed(1)
    given = torch.randn(3, 2, 2, 4, 3, generator=generator).unbind()
    ours = [t.clone().requires_grad_() for t in given]
    theirs = [t.clone().requires_grad_() for t in given]
    with written_out("causal_attention"):
        out = causal_attention(*ours)
    has_graph("causal_attention", out)
    out.square().sum().backward()
    F.scaled_dot_product_attention(*theirs, is_causal=True).square().sum().backward()
    for name, found, expected in zip(("query", "key", "value"), ours, theirs, strict=True):
        require(found.grad is not None, f"The gradient should reach the {name}, got None")
        close(f"The gradient of the {name}", found.grad, expected.grad)


@contextlib.contextmanager
def written_out(symbol: str):
    """Fail when the code inside calls the fused attention, which does the exercise."""

    def refuse(*args, **kwargs):
        raise CheckFailed(
            f"{symbol} should compute the weights itself, got a call of "
            "F.scaled_dot_product_attention"
        )

    fused = F.scaled_dot_product_attention
    F.scaled_dot_product_attention = refuse
    try:
        yield
    finally:
        F.scaled_dot_product_attention = fused


# ---- GPT ----------------------------------------------------------------------------------------


def test_unit_gpt_model(GPT):
    """Parts and their parameters; embeddings added, normalised at the end, scored by the head."""
    model = GPT(10, 8, 2, 2, max_seq_len=6, dropout_prob=0.0).eval()
    for part in _PARTS:
        has_part("GPT", model, part)
    total = sum(parameter.numel() for parameter in model.parameters())
    require(
        total == 1968,
        f"GPT(10, 8, 2, 2, max_seq_len=6) should have 1,968 parameters, got {total:,}",
    )
    tensor_of("GPT", model(torch.tensor([[1, 2, 3, 4], [5, 0, 1, 2]])), (2, 4, 10))

    with torch.no_grad():
        for block in model.blocks:
            for parameter in block.parameters():
                parameter.zero_()
        for table in (model.token_embedding, model.position_embedding, model.head):
            table.weight.zero_()
        model.token_embedding.weight[3] = 2 * _ROWS[0]
        model.position_embedding.weight[1] = 2 * _ROWS[1]
        model.position_embedding.weight[3] = 2 * _ROWS[2]
        model.head.weight[:3] = _ROWS / 8  # each logit is the share of one row
    logits = tensor_of("GPT", model(torch.tensor([[3, 3]])), (1, 2, 10))[0]
    for position, expected in [(0, [1.0, 0.0, 0.0]), (1, [0.7071, 0.7071, 0.0])]:
        found = logits[position, :3]
        require(
            bool((found - torch.tensor(expected)).abs().max() < 1e-2),
            "With blocks that add nothing, the first logits of token 3 at position "
            f"{position} should be {_listed(expected)}, got {_listed(found)}",
        )


def test_blocks_gpt_model(GPT):
    """With the weights of the book's GPT, the logits of the book's GPT, at every length."""
    shape = {"vocab_size": 11, "embed_dim": 8, "num_layers": 3, "num_heads": 2, "max_seq_len": 5}
    book = models.GPT(**shape, dropout_prob=0.0, seed=0).eval()
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for parameter in book.parameters():
            parameter.normal_(0.0, 0.5, generator=generator)
    model = GPT(**shape, dropout_prob=0.0).eval()
    lacking = [name for name, _ in book.named_parameters() if name not in model.state_dict()]
    require(not lacking, f"GPT should have a parameter {''.join(lacking[:1])}, got none")
    model.load_state_dict(book.state_dict())
    for length in (5, 1, 3):
        tokens = torch.randint(11, (2, length), generator=generator)
        with left_alone("GPT", tokens):
            found = tensor_of("GPT", model(tokens), (2, length, 11))
        close(f"With the book's weights the logits of {length} tokens differ", found, book(tokens))


def test_training_gpt_model(GPT):
    """Dropout as asked for, in training only; a gradient for every parameter."""
    model = GPT(10, 8, 2, 2, max_seq_len=6, dropout_prob=0.5)
    tokens = torch.tensor([[1, 2, 3]])
    for module in model.blocks.modules():  # leave the one on the embeddings
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    require(
        not torch.equal(model(tokens), model(tokens)),
        "In training, with dropout_prob=0.5, dropout should act on the sum of the embeddings; "
        "two calls agree",
    )
    _drops_the_sum(model, tokens)
    model.eval()
    require(
        torch.equal(model(tokens), model(tokens)),
        "In eval mode two calls on the same tokens should agree; they differ",
    )
    inner = GPT(10, 8, 2, 2, max_seq_len=6, dropout_prob=0.25).blocks.modules()
    rates = sorted({module.p for module in inner if isinstance(module, nn.Dropout)})
    require(
        rates == [0.25],
        f"With dropout_prob=0.25 the blocks should drop with probability 0.25, got {rates}",
    )
    model.train()
    out = model(tokens)
    has_graph("GPT", out)
    F.cross_entropy(out.flatten(0, 1), tokens.flatten()).backward()
    all_gradients("GPT", model)


def _drops_the_sum(model, tokens):
    """Where token and position cancel, dropout on their sum has nothing to drop."""
    kept = {name: value.clone() for name, value in model.state_dict().items()}
    with torch.no_grad():
        for parameter in model.blocks.parameters():
            parameter.zero_()
        rows = model.token_embedding.weight[tokens[0]]
        model.position_embedding.weight[: len(rows)] = -rows
        found = model(tokens)
    require(
        not bool(found.any()),
        "In training, dropout should act on the sum of the embeddings: where the two cancel the "
        "sum is 0 and stays 0; it does not",
    )
    model.load_state_dict(kept)


def _listed(values) -> str:
    return "[" + ", ".join(shown(value) for value in values) + "]"

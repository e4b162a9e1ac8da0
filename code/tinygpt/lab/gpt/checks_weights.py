"""Checks of what is done to a whole model: initialise, tie, count."""

import math
import numbers

import torch
from torch import nn
from torch.nn import functional as F

from tinygpt.lab.definitions import kind_of, require
from tinygpt.lab.measures import shown
from tinygpt.lab.measures_torch import globals_left_alone, left_alone, tensor_of
from tinygpt.models import GPT

_WRITERS = ("attention.output.weight", "mlp.fc2.weight")
_TABLES = ("token_embedding.weight", "position_embedding.weight", "head.weight")
_COUNTS = {
    "token embedding": 80,
    "position embedding": 48,
    "attention": 576,
    "mlp": 1104,
    "norms": 80,
    "head": 80,
    "total": 1968,
}

# ---- initialisation -----------------------------------------------------------------------------


def test_unit_init_weights(init_weights):
    """Zeros, ones and the two standard deviations, whatever was there before."""
    model = filled(GPT(100, 32, 8, 4, max_seq_len=64))
    parameters = dict(model.named_parameters())
    with globals_left_alone("init_weights"):
        init_weights(model)
    same = all(parameters[name] is now for name, now in model.named_parameters())
    require(same, "init_weights should fill the parameters that it finds; it replaced some")
    for name, now in parameters.items():
        require(
            now.requires_grad and now.is_leaf,
            f"Every parameter should stay one that can be trained; {name} is not",
        )
    _spread("The matrices that read the stream", _read_the_stream(model), 0.02)
    _spread("The embeddings and the head", [parameters[name] for name in _TABLES], 0.02)
    writers = [parameters[name] for name in parameters if name.endswith(_WRITERS)]
    _spread("With 8 blocks, the matrices that write to the stream", writers, 0.02 / 4)
    for name, now in parameters.items():
        if now.ndim == 1:
            expected = 0.0 if name.endswith("bias") else 1.0
            what = "bias" if name.endswith("bias") else "weight of a LayerNorm"
            worst = float(now.detach().flatten()[(now.detach() - expected).abs().argmax()])
            require(
                worst == expected,
                f"Every {what} should become {shown(expected)}, got {shown(worst)} in {name}",
            )


def test_draws_init_weights(init_weights):
    """Normal numbers with mean 0, new ones in every matrix."""
    model = filled(GPT(100, 32, 2, 4, max_seq_len=64))
    init_weights(model)
    table = model.token_embedding.weight.detach()
    mean = float(table.mean())
    require(abs(mean) < 2e-3, f"The mean of the embedding should be 0.000, got {shown(mean, 3)}")
    beyond = float((table.abs() > 2 * table.std()).float().mean())
    require(
        0.02 < beyond < 0.08,
        f"About 5% of normal numbers lie beyond two standard deviations, got {100 * beyond:.0f}%",
    )
    first, second = (block.attention.query.weight for block in model.blocks)
    require(
        not torch.equal(first, second),
        "The blocks should start with different numbers, got the same in two of them",
    )


def test_depth_init_weights(init_weights):
    """The scale follows the number of blocks; a tied model stays tied."""
    for layers in (2, 18):
        model = filled(GPT(100, 32, layers, 4, max_seq_len=64, tie_weights=True))
        init_weights(model)
        writers = [p for name, p in model.named_parameters() if name.endswith(_WRITERS)]
        scale = 0.02 / math.sqrt(2 * layers)
        _spread(f"With {layers} blocks, the matrices that write to the stream", writers, scale)
        require(
            model.head.weight is model.token_embedding.weight,
            "A tied head should stay tied, got two matrices",
        )


def filled(model):
    """The model with numbers everywhere that no initialisation leaves."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim == 2:
                parameter.normal_(0.0, 1.0)
            else:
                parameter.fill_(2.0 if name.endswith("bias") else 3.0)
    return model


def _read_the_stream(model):
    for block in model.blocks:
        for layer in (block.attention.query, block.attention.key, block.attention.value):
            yield layer.weight
        yield block.mlp.fc1.weight


def _spread(what, parameters, expected):
    values = torch.cat([parameter.detach().flatten() for parameter in parameters])
    spread = float(values.std())
    require(
        abs(spread / expected - 1) < 0.05,
        f"{what} should have a standard deviation of {shown(expected, 3)}, got {shown(spread, 3)}",
    )


# ---- tying --------------------------------------------------------------------------------------


def test_unit_tie_weights(tie_weights):
    """One parameter, of the embedding's shape, in the head of the model that was given."""
    model = GPT(10, 8, 2, 2, max_seq_len=6, seed=0)
    tie_weights(model)
    kind = type(model.head).__name__
    require(isinstance(model.head, nn.Linear), f"model.head should stay a Linear, got {kind}")
    table, head = model.token_embedding.weight, model.head.weight
    shape = tuple(head.shape)
    require(shape == (10, 8), f"head.weight should have the shape (10, 8), got {shape}")
    require(
        torch.equal(table, head),
        "head.weight and token_embedding.weight should be one matrix, got different numbers",
    )
    with torch.no_grad():
        table[3, 4] += 1.0
    require(
        torch.equal(table, head),
        "A change of token_embedding.weight should change head.weight, got two copies",
    )
    total = model.num_parameters()
    require(
        total == 1888,
        "Tied, GPT(10, 8, 2, 2, max_seq_len=6) should have 1,888 parameters instead of 1,968, "
        f"got {total:,}",
    )


def test_training_tie_weights(tie_weights):
    """The gradient is the sum of both uses, and a step leaves the two tied."""
    tokens = torch.tensor([[1, 2, 3, 4]])
    apart = GPT(10, 8, 2, 2, max_seq_len=6, dropout_prob=0.0, seed=0)
    with torch.no_grad():
        apart.head.weight.copy_(apart.token_embedding.weight)
    model = GPT(10, 8, 2, 2, max_seq_len=6, dropout_prob=0.0, seed=0)
    tie_weights(model)
    with torch.no_grad():
        for name, parameter in apart.named_parameters():
            model.get_parameter(name).copy_(parameter)
    for each in (apart, model):
        out = tensor_of("The tied model", each(tokens), (1, 4, 10))
        F.cross_entropy(each(tokens).flatten(0, 1), tokens.flatten()).backward()
    del out
    expected = apart.token_embedding.weight.grad + apart.head.weight.grad
    found = model.token_embedding.weight.grad
    require(
        found is not None and torch.allclose(found, expected, atol=1e-5),
        "The gradient of the tied matrix should be the sum of those of its two uses; it is not",
    )
    with torch.no_grad():
        for parameter in model.parameters():
            parameter -= 0.5 * parameter.grad
    require(
        torch.equal(model.token_embedding.weight, model.head.weight),
        "After a step along the gradient the two should still be equal; they differ",
    )


# ---- counting -----------------------------------------------------------------------------------


def test_unit_count_parameters(count_parameters):
    """Every component of a small GPT, and the total."""
    model = GPT(10, 8, 2, 2, max_seq_len=6)
    counts(count_parameters, model, "GPT(10, 8, 2, 2, max_seq_len=6)", _COUNTS)


def test_tied_count_parameters(count_parameters):
    """A tied matrix once, under the embedding; frozen ones as well as trained ones."""
    tied = GPT(10, 8, 2, 2, max_seq_len=6, tie_weights=True)
    counts(count_parameters, tied, "The tied GPT", _COUNTS | {"head": 0, "total": 1888})
    frozen = GPT(10, 8, 2, 2, max_seq_len=6).requires_grad_(False)
    counts(count_parameters, frozen, "A GPT whose parameters are frozen", _COUNTS)


def test_gpt2_count_parameters(count_parameters):
    """GPT-2 small, on the meta device, where parameters have a shape and no numbers."""
    with torch.device("meta"):
        gpt2 = GPT(50_257, 768, 12, 12, tie_weights=True)
    found = _result(count_parameters, gpt2)["total"]
    require(
        found == 124_439_808,
        f"GPT-2 small, on the meta device, should have 124,439,808 parameters, got {found:,}",
    )


def counts(count_parameters, model, what, expected):
    found = _result(count_parameters, model)
    for part, count in expected.items():
        if part != "total":
            require(
                found[part] == count,
                f"{what} should have {count:,} parameters in {part!r}, got {found[part]:,}",
            )
    require(
        found["total"] == expected["total"],
        f"{what} should have {expected['total']:,} parameters in total, got {found['total']:,}",
    )


def _result(count_parameters, model):
    with left_alone("count_parameters", *(p for p in model.parameters() if not p.is_meta)):
        found = count_parameters(model)
    kind = kind_of(found)
    require(isinstance(found, dict), f"count_parameters should return a dict, got {kind}")
    for part in _COUNTS:
        require(part in found, f"The counts should have {part!r}, got {', '.join(map(str, found))}")
        require(
            isinstance(found[part], numbers.Integral),
            f"The count of {part!r} should be an int, got {type(found[part]).__name__}",
        )
    return found

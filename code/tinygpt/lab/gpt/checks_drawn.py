"""Checks of the GPT in PyTorch on inputs drawn from a seed, of defaults, and of what stays."""

import torch
from torch import nn
from torch.nn import functional as F

from tinygpt import models
from tinygpt.lab.definitions import require
from tinygpt.lab.drawing import cases
from tinygpt.lab.gpt.checks import written_out
from tinygpt.lab.gpt.checks_weights import counts, filled
from tinygpt.lab.measures import shown
from tinygpt.lab.measures_torch import close, tensor_of
from tinygpt.lab.undisturbed import undisturbed


def test_drawn_causal_attention(causal_attention):
    """Short and long, also through views that do not lie in order, with PyTorch's gradients."""
    for case in cases(
        1,
        12,
        batch=range(1, 4),
        heads=range(1, 4),
        length=range(1, 40),
        width=(1, 4, 7),
        values=(1, 5, 3),
        dtype=(torch.float32, torch.float64),
    ):
        given = [
            # (B, T, h, d) with two axes exchanged, as heads come from a Linear
            torch.tensor(case.numbers(case.batch, case.length, case.heads, width, size=2.0))
            .to(case.dtype)
            .transpose(1, 2)
            for width in (case.width, case.width, case.values)
        ]
        ours, theirs = ([t.clone().requires_grad_() for t in given] for _ in range(2))
        named = dict(zip(("query", "key", "value"), ours, strict=True))
        with undisturbed("causal_attention", **named), written_out("causal_attention"):
            out = causal_attention(*ours)
        expected = F.scaled_dot_product_attention(*theirs, is_causal=True)
        found = tensor_of("causal_attention", out, tuple(expected.shape))
        what = f"over queries of shape {tuple(ours[0].shape)}"
        require(
            found.dtype == case.dtype,
            f"causal_attention of {case.dtype} should return {case.dtype}, got {found.dtype}",
        )
        close(f"Attention {what}", found, expected, 1e-4 if case.dtype == torch.float32 else 1e-9)
        upstream = torch.tensor(case.numbers(*found.shape)).to(case.dtype)
        out.backward(upstream)
        expected.backward(upstream)
        for (name, tensor), twin in zip(named.items(), theirs, strict=True):
            require(tensor.grad is not None, f"The gradient should reach the {name}, got None")
            close(f"The gradient of the {name} {what}", tensor.grad, twin.grad, 1e-3)


def test_drawn_init_weights(init_weights):
    """Normal numbers around 0 in every matrix, no two alike, and other ones for each model."""
    model, other = (filled(models.GPT(60, 32, 3, 4, max_seq_len=40)) for _ in range(2))
    with undisturbed("init_weights", draws=True):
        init_weights(model)
        init_weights(other)
    seen = []
    for name, parameter in model.named_parameters():
        if parameter.ndim < 2:
            continue
        numbers = parameter.detach().flatten()
        spread = numbers.std()
        mean = float(numbers.mean() / spread)
        require(
            abs(mean) < 6 / len(numbers) ** 0.5,
            f"The mean of {name} should be near 0, got {shown(mean)} standard deviations",
        )
        # The mean of the fourth power: 3 for normal numbers, 1.8 for a flat spread.
        fourth = float(((numbers - numbers.mean()) / spread).pow(4).mean())
        require(
            2.5 < fourth < 3.6,
            f"The numbers of {name} should be spread as normal ones are; these are not",
        )
        repeated = len(numbers) - len(numbers.unique())
        require(
            repeated < 0.01 * len(numbers),
            f"Each number of {name} should be drawn by itself, got {repeated} repeated ones",
        )
        twice = any(torch.equal(numbers, before) for before in seen)
        require(not twice, f"Each matrix should have its own numbers; those of {name} come twice")
        seen.append(numbers)
    require(
        not torch.equal(model.token_embedding.weight, other.token_embedding.weight),
        "Two models should start with different numbers, got the same",
    )


def test_drawn_gpt_model(GPT):
    """Any size, with the book's logits and gradients; the defaults; positions beside the tokens."""
    for case in cases(
        2,
        6,
        batch=range(1, 4),
        heads=range(1, 4),
        layers=range(1, 4),
        length=range(1, 30),
        dtype=(torch.int64, torch.int32),
    ):
        shape = (23, 4 * case.heads, case.layers, case.heads, 30)
        book = models.GPT(*shape, dropout_prob=0.0, seed=0)
        with torch.no_grad():
            for parameter in book.parameters():
                parameter.copy_(torch.tensor(case.numbers(*parameter.shape, size=0.5)))
        model = GPT(*shape, dropout_prob=0.0)
        model.load_state_dict(book.state_dict())
        tokens = torch.tensor(case.integers(0, 23, case.batch, case.length)).to(case.dtype)
        with undisturbed("GPT", tokens=tokens, model=model):
            out = model(tokens)
        expected = book(tokens)
        found = tensor_of("GPT", out, tuple(expected.shape))
        what = f"tokens of shape {tuple(tokens.shape)} and {case.layers} blocks"
        close(f"With the book's weights the logits of {what} differ", found, expected, 1e-3)
        out.square().mean().backward()
        expected.square().mean().backward()
        for (name, ours), theirs in zip(
            model.named_parameters(), dict(book.named_parameters()).values(), strict=True
        ):
            require(ours.grad is not None, f"The gradient should reach {name}, got None")
            close(f"The gradient of {name} for {what}", ours.grad, theirs.grad, 1e-3)
    _defaults(GPT)
    model, tokens = GPT(10, 8, 1, 2, 6).eval(), torch.tensor([[1, 2, 3]])
    model.blocks, model.final_norm, model.head = (nn.Sequential() for _ in range(3))
    expected = model(tokens)
    try:
        with torch.device("meta"):  # what is made without naming a device has no numbers
            found = model(tokens)
    except (RuntimeError, NotImplementedError):
        found = None
    require(
        found is not None and found.device == tokens.device and torch.equal(found, expected),
        "On another device than PyTorch's default one the model should work too; make the "
        "positions where the tokens are: torch.arange(…, device=tokens.device)",
    )


def _defaults(GPT):
    model = GPT(10, 64, 1, 2).train()
    rows = model.position_embedding.weight.shape[0]
    require(rows == 1024, f"Without max_seq_len there should be 1024 positions, got {rows}")
    inner = model.blocks.modules()
    rates = sorted({module.p for module in inner if isinstance(module, nn.Dropout)})
    require(
        rates == [0.1], f"Without dropout_prob the blocks should drop with 0.1, got {rates or 0}"
    )
    with torch.no_grad():
        for parameter in model.blocks.parameters():
            parameter.zero_()
        model.position_embedding.weight.fill_(100.0)
        model.final_norm = model.head = nn.Identity()
        out = model(torch.zeros(4, 200, dtype=torch.int64))
    share = float((out == 0).float().mean())
    require(
        0.08 < share < 0.12,
        "Without dropout_prob about 10% of the embeddings should be dropped in training, got "
        f"about {5 * round(20 * share)}%",
    )


def test_drawn_tie_weights(tie_weights):
    """The one matrix has the numbers of the embedding or the head; all else stays."""
    for training, size in ((True, (7, 12, 1, 3)), (False, (30, 8, 2, 2))):
        model = filled(models.GPT(*size, max_seq_len=9)).train(training)
        for parameter in model.parameters():
            parameter.grad = torch.ones_like(parameter)
        before = [p.detach().clone() for p in (model.token_embedding.weight, model.head.weight)]
        others = {
            name: parameter
            for name, parameter in model.named_parameters()
            if name not in ("token_embedding.weight", "head.weight")
        }
        with undisturbed("tie_weights", blocks=model.blocks, others=list(others.values())):
            tie_weights(model)
        now = dict(model.named_parameters())
        for name, parameter in others.items():
            require(now.get(name) is parameter, f"tie_weights should leave {name}; it replaced it")
        table = model.token_embedding.weight
        require(
            model.head.weight is table,
            "head.weight and token_embedding.weight should be one parameter, got two",
        )
        require(
            isinstance(table, nn.Parameter) and table.requires_grad,
            "The tied matrix should be a parameter that is trained; it is not",
        )
        require(
            any(torch.equal(table, kept) for kept in before),
            "The tied matrix should have the numbers that the embedding or the head had; it has "
            "others",
        )
        require(
            model.training == training,
            f"The model should stay in {'training' if training else 'eval mode'}; it switched",
        )


def test_drawn_count_parameters(count_parameters):
    """Models of any size; a head is tied when it is the same matrix, not one with equal numbers."""
    for case in cases(
        3,
        8,
        vocabulary=range(5, 40),
        heads=range(1, 4),
        layers=range(1, 5),
        positions=range(1, 20),
        tied=(False, True),
    ):
        width = 2 * case.heads
        model = models.GPT(
            case.vocabulary,
            width,
            case.layers,
            case.heads,
            max_seq_len=case.positions,
            tie_weights=case.tied,
        )
        with torch.no_grad():
            model.head.weight.copy_(model.token_embedding.weight)
        parts = {
            "token embedding": case.vocabulary * width,
            "position embedding": case.positions * width,
            "attention": case.layers * 4 * (width * width + width),
            "mlp": case.layers * (8 * width * width + 5 * width),
            "norms": (2 * case.layers + 1) * 2 * width,
            "head": 0 if case.tied else case.vocabulary * width,
        }
        with undisturbed("count_parameters", model=model):
            what = f"The {'tied ' * case.tied}GPT with {case}"
            counts(count_parameters, model, what, parts | {"total": sum(parts.values())})
        model.requires_grad_(False)
        first = next(model.parameters())
        first.requires_grad_(True)
        counts(count_parameters, model, what, parts | {"total": sum(parts.values())})

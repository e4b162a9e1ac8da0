"""Wrong initialisations."""

import math

import torch
from torch import nn

from tinygpt.lab.definitions import Mistake

_WRITERS = ("attention.output.weight", "mlp.fc2.weight")


@torch.no_grad()
def no_residual_scale(model):
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            parameter.zero_()
        elif parameter.ndim == 1:
            parameter.fill_(1.0)
        else:
            parameter.normal_(0.0, 0.02)


@torch.no_grad()
def one_branch_a_block(model):
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            parameter.zero_()
        elif parameter.ndim == 1:
            parameter.fill_(1.0)
        elif name.endswith(_WRITERS):
            parameter.normal_(0.0, 0.02 / math.sqrt(len(model.blocks)))
        else:
            parameter.normal_(0.0, 0.02)


@torch.no_grad()
def without_the_root(model):
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            parameter.zero_()
        elif parameter.ndim == 1:
            parameter.fill_(1.0)
        elif name.endswith(_WRITERS):
            parameter.normal_(0.0, 0.02 / (2 * len(model.blocks)))
        else:
            parameter.normal_(0.0, 0.02)


@torch.no_grad()
def all_scaled(model):
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            parameter.zero_()
        elif parameter.ndim == 1:
            parameter.fill_(1.0)
        else:
            parameter.normal_(0.0, 0.02 / math.sqrt(2 * len(model.blocks)))


@torch.no_grad()
def variance_for_deviation(model):
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            parameter.zero_()
        elif parameter.ndim == 1:
            parameter.fill_(1.0)
        elif name.endswith(_WRITERS):
            parameter.normal_(0.0, math.sqrt(0.02 / math.sqrt(2 * len(model.blocks))))
        else:
            parameter.normal_(0.0, math.sqrt(0.02))


def linears_only(model):
    for name, module in model.named_modules():
        if isinstance(module, nn.Linear):
            writes = name.endswith(("attention.output", "mlp.fc2"))
            scale = 1 / math.sqrt(2 * len(model.blocks)) if writes else 1.0
            nn.init.normal_(module.weight, 0.0, 0.02 * scale)
            if module.bias is not None:
                nn.init.zeros_(module.bias)


@torch.no_grad()
def biases_left(model):
    for name, parameter in model.named_parameters():
        if name.endswith(_WRITERS):
            parameter.normal_(0.0, 0.02 / math.sqrt(2 * len(model.blocks)))
        elif parameter.ndim == 2:
            parameter.normal_(0.0, 0.02)
        elif name.endswith("weight"):
            parameter.fill_(1.0)


@torch.no_grad()
def norms_at_zero(model):
    for name, parameter in model.named_parameters():
        if parameter.ndim == 1:
            parameter.zero_()
        elif name.endswith(_WRITERS):
            parameter.normal_(0.0, 0.02 / math.sqrt(2 * len(model.blocks)))
        else:
            parameter.normal_(0.0, 0.02)


@torch.no_grad()
def uniform(model):
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            parameter.zero_()
        elif parameter.ndim == 1:
            parameter.fill_(1.0)
        else:
            scale = 1 / math.sqrt(2 * len(model.blocks)) if name.endswith(_WRITERS) else 1.0
            bound = math.sqrt(3) * 0.02 * scale
            parameter.uniform_(-bound, bound)


def graph_recorded(model):
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            parameter.zero_()
        elif parameter.ndim == 1:
            parameter.fill_(1.0)
        else:
            scale = 1 / math.sqrt(2 * len(model.blocks)) if name.endswith(_WRITERS) else 1.0
            parameter.normal_(0.0, 0.02 * scale)


@torch.no_grad()
def seeded_inside(model):
    for name, parameter in model.named_parameters():
        torch.manual_seed(0)
        if name.endswith("bias"):
            parameter.zero_()
        elif parameter.ndim == 1:
            parameter.fill_(1.0)
        else:
            scale = 1 / math.sqrt(2 * len(model.blocks)) if name.endswith(_WRITERS) else 1.0
            parameter.normal_(0.0, 0.02 * scale)


_WRITE = "With 8 blocks, the matrices that write to the stream should have a standard deviation of "
_READ = "The matrices that read the stream should have a standard deviation of 0.020, got "

MISTAKES = (
    Mistake(
        "no_residual_scale",
        no_residual_scale,
        _WRITE + "0.005, got 0.020",
        "Every matrix has the same scale. The stream is a sum of 2 L branches, so its variance "
        "grows with the depth; divided by √(2 L) each, they add up to the same size at any depth.",
    ),
    Mistake(
        "one_branch_a_block",
        one_branch_a_block,
        _WRITE + "0.005, got 0.007",
        "The scale is 1/√L. A block writes to the stream twice, once from its attention and once "
        "from its MLP, so there are 2 L branches.",
    ),
    Mistake(
        "without_the_root",
        without_the_root,
        _WRITE + "0.005, got 0.001",
        "The scale is 1/(2 L). It is the variances of independent branches that add up, and the "
        "variance is the square of the scale: the root is needed.",
    ),
    Mistake(
        "all_scaled",
        all_scaled,
        _READ + "0.005",
        "Every matrix is divided by √(2 L). Only those that write to the stream are summed over "
        "the depth: `attention.output` and `mlp.fc2`. The others read a normalised copy.",
    ),
    Mistake(
        "variance_for_deviation",
        variance_for_deviation,
        _READ + "0.141",
        "0.02 is used as a variance. `normal_(mean, std)` takes the standard deviation, as its "
        "second argument's name says; no root is needed.",
    ),
    Mistake(
        "linears_only",
        linears_only,
        "The embeddings and the head should have a standard deviation of 0.020, got 0.784",
        "`nn.Embedding` is no `nn.Linear`, so both tables keep PyTorch's own start, a standard "
        "deviation of 1: fifty times too large. The norms are left out as well. A tied head would "
        "then begin with huge logits.",
    ),
    Mistake(
        "biases_left",
        biases_left,
        "Every bias should become 0.00, got 2.00 in blocks.0.norm1.bias",
        "The biases keep what they had. PyTorch's layers start them at random, and a model that "
        "is initialised again, as here, would keep trained ones.",
    ),
    Mistake(
        "norms_at_zero",
        norms_at_zero,
        "Every weight of a LayerNorm should become 1.00, got 0.00 in blocks.0.norm1.weight",
        "Everything with one axis is set to 0, the scale of the norms too. Every branch and the "
        "head then read zeros, so all logits are equal. Where the norms' weights are 0, no "
        "gradient reaches what lies before them.",
    ),
    Mistake(
        "uniform",
        uniform,
        "About 5% of normal numbers lie beyond two standard deviations, got 0%",
        "The numbers have the right spread and are uniform. Trained GPTs hardly differ for it; "
        "GPT-2's start is normal, and a comparison with it begins with the same.",
    ),
    Mistake(
        "graph_recorded",
        graph_recorded,
        "init_weights raised RuntimeError: a leaf Variable that requires grad is being used in an "
        "in-place operation.",
        "PyTorch refuses to overwrite a parameter while it records, since the gradient would be "
        "that of the old values. Decorate the function with `@torch.no_grad()`, or use the "
        "functions of `nn.init`, which do so themselves.",
    ),
    Mistake(
        "seeded_inside",
        seeded_inside,
        "init_weights should leave the random numbers that all code shares as they were; it seeds "
        "them",
        "A seed before each matrix draws the same numbers for all of them, so that query, key and "
        "value start out equal. Seeding is for whoever calls: `torch.manual_seed(0)` once, before "
        "the model is made.",
    ),
)

"""Wrong ways to tie."""

import copy

import torch
from torch import nn

from tinygpt.lab.definitions import Mistake


def copy_of_the_model(model):
    model = copy.deepcopy(model)
    model.head.weight = model.token_embedding.weight


@torch.no_grad()
def values_copied(model):
    model.head.weight.copy_(model.token_embedding.weight)


def new_parameter(model):
    model.head.weight = nn.Parameter(model.token_embedding.weight)


def transposed(model):
    model.head.weight = nn.Parameter(model.token_embedding.weight.T)


def layer_for_weight(model):
    model.head = model.token_embedding


def detached(model):
    model.head.weight = model.token_embedding.weight.detach()


MISTAKES = (
    Mistake(
        "copy_of_the_model",
        copy_of_the_model,
        "head.weight and token_embedding.weight should be one matrix, got different numbers",
        "A copy is tied and thrown away; the model that was given is as before. Assign to the "
        "parts of the model itself.",
    ),
    Mistake(
        "values_copied",
        values_copied,
        "A change of token_embedding.weight should change head.weight, got two copies",
        "The values are equal now and drift apart at the first step, since each copy gets a "
        "gradient of its own. Tying is not to copy numbers but to give one parameter two names.",
    ),
    Mistake(
        "new_parameter",
        new_parameter,
        "Tied, GPT(10, 8, 2, 2, max_seq_len=6) should have 1,888 parameters instead of 1,968, "
        "got 1,968",
        "There are two parameters over the same memory, made by `nn.Parameter(…)` or by assigning "
        "to `weight.data`. It looks tied, and the optimiser still has two, with two gradients and "
        "two sets of moments, and moves the same numbers twice a step. Assign the parameter "
        "itself.",
    ),
    Mistake(
        "transposed",
        transposed,
        "head.weight should have the shape (10, 8), got (8, 10)",
        "The head maps C numbers to V, so a transpose seems due. `nn.Linear` already keeps its "
        "weight as (out, in), which is (V, C), the shape of the table.",
    ),
    Mistake(
        "layer_for_weight",
        layer_for_weight,
        "model.head should stay a Linear, got Embedding",
        "The layer is replaced, not its weight. An Embedding looks rows up by integers; the head "
        "multiplies a vector with every row. They share the matrix and not the operation.",
    ),
    Mistake(
        "detached",
        detached,
        "tie_weights raised TypeError: cannot assign 'torch.FloatTensor' as parameter 'weight' "
        "(torch.nn.Parameter or None expected)",
        "`detach()` gives a plain tensor, and a module refuses one where it has a parameter. "
        "Assign the parameter itself: it may belong to two modules.",
    ),
)

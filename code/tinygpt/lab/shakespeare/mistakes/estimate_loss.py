"""Wrong estimates. All but the first leave out `try … finally`, for brevity."""

import numpy as np
import torch

from tinygpt import data
from tinygpt.lab.definitions import Mistake


def _loss(model, ids, batch_size, block_size, rng):
    """The loss of one random batch; this part is right."""
    inputs, targets = data.random_batch(ids, batch_size, block_size, rng)
    return model.loss(torch.tensor(inputs), torch.tensor(targets))


@torch.no_grad()
def with_dropout(model, ids, batch_size, block_size, batches, seed=0):
    rng = np.random.default_rng(seed)
    losses = [_loss(model, ids, batch_size, block_size, rng).item() for _ in range(batches)]
    return sum(losses) / batches


@torch.no_grad()
def left_in_eval(model, ids, batch_size, block_size, batches, seed=0):
    rng = np.random.default_rng(seed)
    model.eval()
    losses = [_loss(model, ids, batch_size, block_size, rng).item() for _ in range(batches)]
    return sum(losses) / batches


@torch.no_grad()
def always_training_after(model, ids, batch_size, block_size, batches, seed=0):
    rng = np.random.default_rng(seed)
    model.eval()
    losses = [_loss(model, ids, batch_size, block_size, rng).item() for _ in range(batches)]
    model.train()
    return sum(losses) / batches


def graph_recorded(model, ids, batch_size, block_size, batches, seed=0):
    rng, was_training = np.random.default_rng(seed), model.training
    model.eval()
    losses = [_loss(model, ids, batch_size, block_size, rng).item() for _ in range(batches)]
    model.train(was_training)
    return sum(losses) / batches


@torch.no_grad()
def summed(model, ids, batch_size, block_size, batches, seed=0):
    rng, was_training = np.random.default_rng(seed), model.training
    model.eval()
    losses = [_loss(model, ids, batch_size, block_size, rng).item() for _ in range(batches)]
    model.train(was_training)
    return sum(losses)


@torch.no_grad()
def one_batch_only(model, ids, batch_size, block_size, batches, seed=0):
    rng, was_training = np.random.default_rng(seed), model.training
    model.eval()
    loss = _loss(model, ids, batch_size, block_size, rng).item()
    model.train(was_training)
    return loss


@torch.no_grad()
def same_batch(model, ids, batch_size, block_size, batches, seed=0):
    was_training, losses = model.training, []
    model.eval()
    for _ in range(batches):
        rng = np.random.default_rng(seed)
        losses.append(_loss(model, ids, batch_size, block_size, rng).item())
    model.train(was_training)
    return sum(losses) / batches


@torch.no_grad()
def a_tensor(model, ids, batch_size, block_size, batches, seed=0):
    rng, was_training = np.random.default_rng(seed), model.training
    model.eval()
    losses = [_loss(model, ids, batch_size, block_size, rng) for _ in range(batches)]
    model.train(was_training)
    return torch.stack(losses).mean()


@torch.no_grad()
def seeds_everything(model, ids, batch_size, block_size, batches, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(torch.randint(2**31, ()).item())
    was_training = model.training
    model.eval()
    losses = [_loss(model, ids, batch_size, block_size, rng).item() for _ in range(batches)]
    model.train(was_training)
    return sum(losses) / batches


MISTAKES = (
    Mistake(
        "with_dropout",
        with_dropout,
        "The model should be in eval mode while it is measured; it trained",
        "`no_grad` is not eval mode: it stops the recording of graphs, and dropout goes on. A "
        "model with holes in it scores worse, so its validation loss looks too high. Call "
        "`model.eval()` first.",
        (_loss,),
    ),
    Mistake(
        "left_in_eval",
        left_in_eval,
        "The model was training before; it should be again, and is in eval mode",
        "The model goes to eval mode and stays there, so from the first measurement on it "
        "trains without dropout. Nothing fails; it over-fits sooner than it should. Remember "
        "`model.training` and put it back.",
        (_loss,),
    ),
    Mistake(
        "always_training_after",
        always_training_after,
        "The model was in eval mode before; it should be again, and is training",
        "The model is put into training mode whatever it was in before. Whoever measures a "
        "model that is in eval mode gets it back with dropout on, and the text it then writes "
        "is worse. Put back what `model.training` said.",
        (_loss,),
    ),
    Mistake(
        "seeds_everything",
        seeds_everything,
        "Measuring should leave PyTorch's shared random numbers as they were; it moved them",
        "`torch.manual_seed` sets the random numbers of the whole program, those of dropout "
        "among them. After each measurement the training then drops the same features again. "
        "Draw from a generator of your own, `np.random.default_rng(seed)`.",
        (_loss,),
    ),
    Mistake(
        "graph_recorded",
        graph_recorded,
        "The loss should be measured inside torch.no_grad(); the model's graph was recorded",
        "Eval mode is not `no_grad`: it switches dropout off, and each operation is still "
        "recorded for a backward pass that never comes. That costs memory and time. Decorate "
        "the function with `@torch.no_grad()`.",
        (_loss,),
    ),
    Mistake(
        "summed",
        summed,
        "The estimate should be the mean of the 5 losses, got 5.00 times the mean",
        "The losses are added up and not divided by their number. More batches should make the "
        "estimate steadier, not larger.",
        (_loss,),
    ),
    Mistake(
        "one_batch_only",
        one_batch_only,
        "With batches=5 the model should be asked 5 times, got 1",
        "One batch is measured whatever `batches` says. Its loss depends on which windows it "
        "happened to draw, often by more than a model gains between two measurements. Take the "
        "mean over several.",
        (_loss,),
    ),
    Mistake(
        "same_batch",
        same_batch,
        "Each batch should be drawn anew, got the same one 5 times",
        "The generator is made inside the loop, so it starts anew for each batch and draws the "
        "same windows. The mean of five equal numbers is one number. Make it once, before the "
        "loop.",
        (_loss,),
    ),
    Mistake(
        "a_tensor",
        a_tensor,
        "estimate_loss should be a float, got Tensor",
        "The result is a tensor. It prints like a number, but a list of such results keeps "
        "tensors alive, on a GPU in the GPU's memory, and JSON cannot hold it. `.item()` gives "
        "the number.",
        (_loss,),
    ),
)

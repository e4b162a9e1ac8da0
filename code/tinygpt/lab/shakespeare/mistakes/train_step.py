"""Wrong steps of training."""

import torch
from torch import nn

from tinygpt.lab.definitions import Mistake


def not_divided(model, optimizer, batches, clip):
    optimizer.zero_grad()
    total = 0.0
    for inputs, targets in batches:
        loss = model.loss(inputs, targets)
        loss.backward()
        total += loss.item() / len(batches)
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    return total


def never_zeroed(model, optimizer, batches, clip):
    total = 0.0
    for inputs, targets in batches:
        loss = model.loss(inputs, targets) / len(batches)
        loss.backward()
        total += loss.item()
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    return total


def zeroed_each_time(model, optimizer, batches, clip):
    total = 0.0
    for inputs, targets in batches:
        optimizer.zero_grad()
        loss = model.loss(inputs, targets) / len(batches)
        loss.backward()
        total += loss.item()
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    return total


def step_for_each(model, optimizer, batches, clip):
    total = 0.0
    for inputs, targets in batches:
        optimizer.zero_grad()
        loss = model.loss(inputs, targets)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        total += loss.item() / len(batches)
    return total


def clipped_too_late(model, optimizer, batches, clip):
    optimizer.zero_grad()
    total = 0.0
    for inputs, targets in batches:
        loss = model.loss(inputs, targets) / len(batches)
        loss.backward()
        total += loss.item()
    optimizer.step()
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    return total


def clipped_each_number(model, optimizer, batches, clip):
    optimizer.zero_grad()
    total = 0.0
    for inputs, targets in batches:
        loss = model.loss(inputs, targets) / len(batches)
        loss.backward()
        total += loss.item()
    nn.utils.clip_grad_value_(model.parameters(), clip)
    optimizer.step()
    return total


def no_backward(model, optimizer, batches, clip):
    optimizer.zero_grad()
    total = 0.0
    for inputs, targets in batches:
        total += model.loss(inputs, targets).item() / len(batches)
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    return total


def last_loss(model, optimizer, batches, clip):
    optimizer.zero_grad()
    for inputs, targets in batches:
        loss = model.loss(inputs, targets)
        (loss / len(batches)).backward()
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    return loss.item()


def graphs_kept(model, optimizer, batches, clip):
    optimizer.zero_grad()
    total = 0.0
    for inputs, targets in batches:
        loss = model.loss(inputs, targets) / len(batches)
        loss.backward()
        total = total + loss
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    return total


def always_scaled(model, optimizer, batches, clip):
    optimizer.zero_grad()
    total = 0.0
    for inputs, targets in batches:
        loss = model.loss(inputs, targets) / len(batches)
        loss.backward()
        total += loss.item()
    length = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
    for p in model.parameters():
        p.grad *= clip / length
    optimizer.step()
    return total


def clipped_in_the_loop(model, optimizer, batches, clip):
    optimizer.zero_grad()
    total = 0.0
    for inputs, targets in batches:
        loss = model.loss(inputs, targets) / len(batches)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), clip)
        total += loss.item()
    optimizer.step()
    return total


def one_large_batch(model, optimizer, batches, clip):
    optimizer.zero_grad()
    inputs, targets = (torch.cat(parts) for parts in zip(*batches, strict=True))
    loss = model.loss(inputs, targets)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    return loss.item()


def one_backward(model, optimizer, batches, clip):
    optimizer.zero_grad()
    loss = sum(model.loss(inputs, targets) for inputs, targets in batches) / len(batches)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    return loss.item()


def in_eval_mode(model, optimizer, batches, clip):
    model.eval()
    optimizer.zero_grad()
    total = 0.0
    for inputs, targets in batches:
        loss = model.loss(inputs, targets) / len(batches)
        loss.backward()
        total += loss.item()
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    model.train()
    return total


MISTAKES = (
    Mistake(
        "not_divided",
        not_divided,
        "The gradient should be the mean over 4 batches, got 4.00 times it",
        "`backward` adds to the gradients that are there, so four batches leave the sum of four "
        "means. The step is then four times as long, or clipped when it should not be. Divide "
        "each loss by the number of batches.",
    ),
    Mistake(
        "never_zeroed",
        never_zeroed,
        "A second step with the same batches and weights should have the same gradient, got "
        "2.00 times it",
        "`backward` adds to what the step before has left, and nobody clears it. Each step then "
        "follows all batches since the beginning. Call `optimizer.zero_grad()` once for every "
        "step.",
    ),
    Mistake(
        "zeroed_each_time",
        zeroed_each_time,
        "The gradient should be the mean over 4 batches; this one points elsewhere",
        "The gradient is cleared before every small batch, so only the last one's is left, at a "
        "quarter of its size. Three quarters of the work are thrown away. Clear it once, before "
        "the loop.",
    ),
    Mistake(
        "step_for_each",
        step_for_each,
        "4 small batches should make one step of the optimizer, got 4",
        "The optimizer moves after every small batch. That is training with a small batch, and "
        "not the large one that was asked for. Gradients gather in the loop; the step comes "
        "after it.",
    ),
    Mistake(
        "clipped_too_late",
        clipped_too_late,
        "With clip=0.001 the step should have a gradient of length 0.001, got 0.55",
        "The gradient is clipped when the step has been made, which helps nobody. The order is "
        "backward, clip, step.",
    ),
    Mistake(
        "clipped_each_number",
        clipped_each_number,
        "With clip=0.001 the step should have a gradient of length 0.001, got 0.027",
        "`clip_grad_value_` cuts each number of the gradient on its own, which bends it into "
        "another direction and may leave it long. `clip_grad_norm_` shortens it as a whole.",
    ),
    Mistake(
        "always_scaled",
        always_scaled,
        "The gradient should be the mean over 4 batches, got 18.17 times it",
        "Each gradient is scaled to the length `clip`, the short ones too, so near a minimum the "
        "steps never become smaller. Only a gradient that is longer than `clip` is shortened; "
        "`clip_grad_norm_` asks first.",
    ),
    Mistake(
        "clipped_in_the_loop",
        clipped_in_the_loop,
        "Clipping should keep the direction of the mean gradient; this one points elsewhere",
        "After each small batch, all that has been added up so far is shortened. The early batches "
        "are shortened again and again, and the last one outweighs them. Clip once, after the "
        "loop.",
    ),
    Mistake(
        "one_large_batch",
        one_large_batch,
        "The model should be given one small batch of shape (2, 8) at a time, got [(8, 8)]",
        "The small batches are put together again, and the gradient is right. But they were small "
        "because the large one does not fit into memory. Give them to the model one by one.",
    ),
    Mistake(
        "one_backward",
        one_backward,
        "Each small batch should have its backward before the next one is asked for; the first "
        "backward came after 4 of them",
        "The losses are added up and have one backward, so the graphs of all batches are in "
        "memory at once, as with one large batch. A `loss.backward()` inside the loop frees "
        "each graph before the next one is made.",
    ),
    Mistake(
        "in_eval_mode",
        in_eval_mode,
        "The model should be in training mode while it trains; it was in eval mode",
        "`model.eval()` turns dropout off, and this is the step that dropout is for. Nothing "
        "fails, and the model over-fits sooner than it should. Leave the mode as it is.",
    ),
    Mistake(
        "no_backward",
        no_backward,
        "At optimizer.step() each of the 21 parameters should have a gradient; 21 have none",
        "`.item()` takes the number out of the loss, and nobody calls `backward` on what is "
        "left. The parameters have no gradient, and a PyTorch optimizer skips them without a "
        "word. Call `loss.backward()`.",
    ),
    Mistake(
        "last_loss",
        last_loss,
        "The losses of the 4 batches have the mean 4.77, got 4.99",
        "The loss of the last small batch is returned. The step was made for all of them, and "
        "the mean over all of them is the steadier number to plot.",
    ),
    Mistake(
        "graphs_kept",
        graphs_kept,
        "train_step should be a float, got Tensor",
        "The returned sum is a tensor that remembers how it was computed. Kept in a list, step "
        "after step, such tensors keep their graphs in memory until it is full. Add up "
        "`loss.item()`.",
    ),
)

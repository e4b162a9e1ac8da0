"""Wrong loops."""

from tinygpt.lab.definitions import Mistake
from tinygpt.scratch import Tensor, cross_entropy, evaluate


def no_zero_grad(model, batches, optimizer):
    model.train()
    total, count = 0.0, 0
    for inputs, labels in batches:
        loss = cross_entropy(model(Tensor(inputs)), labels)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(labels)
        count += len(labels)
    return total / count


def zero_grad_too_late(model, batches, optimizer):
    model.train()
    total, count = 0.0, 0
    for inputs, labels in batches:
        loss = cross_entropy(model(Tensor(inputs)), labels)
        loss.backward()
        optimizer.zero_grad()
        optimizer.step()
        total += loss.item() * len(labels)
        count += len(labels)
    return total / count


def one_step_an_epoch(model, batches, optimizer):
    model.train()
    optimizer.zero_grad()
    total, count = 0.0, 0
    for inputs, labels in batches:
        loss = cross_entropy(model(Tensor(inputs)), labels)
        loss.backward()
        total += loss.item() * len(labels)
        count += len(labels)
    optimizer.step()
    return total / count


def mean_of_means(model, batches, optimizer):
    model.train()
    losses = []
    for inputs, labels in batches:
        optimizer.zero_grad()
        loss = cross_entropy(model(Tensor(inputs)), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return sum(losses) / len(losses)


def keeps_the_graph(model, batches, optimizer):
    model.train()
    total, count = 0.0, 0
    for inputs, labels in batches:
        optimizer.zero_grad()
        loss = cross_entropy(model(Tensor(inputs)), labels)
        loss.backward()
        optimizer.step()
        total += loss * len(labels)
        count += len(labels)
    return total / count


def loss_after_the_step(model, batches, optimizer):
    model.train()
    total, count = 0.0, 0
    for inputs, labels in batches:
        optimizer.zero_grad()
        cross_entropy(model(Tensor(inputs)), labels).backward()
        optimizer.step()
        total += evaluate(model, inputs, labels)[0] * len(labels)
        count += len(labels)
    return total / count


def in_eval_mode(model, batches, optimizer):
    total, count = 0.0, 0
    for inputs, labels in batches:
        optimizer.zero_grad()
        loss = cross_entropy(model(Tensor(inputs)), labels)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(labels)
        count += len(labels)
    return total / count


def zero_grad_at_the_end(model, batches, optimizer):
    model.train()
    total, count = 0.0, 0
    for inputs, labels in batches:
        loss = cross_entropy(model(Tensor(inputs)), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        total += loss.item() * len(labels)
        count += len(labels)
    return total / count


MISTAKES = (
    Mistake(
        "no_zero_grad",
        no_zero_grad,
        "The second step should follow the gradient of the second batch, got the sum of both",
        "Gradients accumulate until they are forgotten, so every step follows the sum of all "
        "batches so far. It acts like momentum that never fades, and the loss soon jumps about. "
        "Call zero_grad before each backward.",
    ),
    Mistake(
        "zero_grad_too_late",
        zero_grad_too_late,
        "At every step there should be gradients to follow, got none; zero_grad comes before "
        "backward, and backward before step",
        "The gradients are computed and thrown away before they are used. An optimiser skips a "
        "parameter without gradient, so nothing moves and nothing complains.",
    ),
    Mistake(
        "one_step_an_epoch",
        one_step_an_epoch,
        "Two batches should make two steps, got 1",
        "The step stands outside the loop, so a whole pass over the data makes one step, along "
        "the sum of all gradients. The point of batches is many steps for one pass.",
    ),
    Mistake(
        "mean_of_means",
        mean_of_means,
        "The mean loss of batches of 3 and 1 examples should weight them 3 to 1 and be 2.141, "
        "got 2.669",
        "The mean of the batches' means counts the examples of the small last batch more than "
        "the others. Multiply each batch's loss by its size, and divide by the number of "
        "examples.",
    ),
    Mistake(
        "keeps_the_graph",
        keeps_the_graph,
        "train_epoch should return a float, got Tensor",
        "The total is a Tensor, and a Tensor remembers what it was computed from. Adding up "
        "losses this way keeps the graph of every batch alive until the epoch ends. Take the "
        "number out first, with `loss.item()`.",
    ),
    Mistake(
        "loss_after_the_step",
        loss_after_the_step,
        "The mean loss of batches of 3 and 1 examples should weight them 3 to 1 and be 2.141, "
        "got 0.809",
        "Each batch is measured again after its step, when the model has just learnt it. That "
        "flatters the model and costs another pass forwards. The loss that you already have is "
        "the honest one.",
    ),
    Mistake(
        "in_eval_mode",
        in_eval_mode,
        "The model should be in training mode while it learns, got it in eval mode",
        "Whoever measured the model last may have left it in eval mode, with its dropout off. "
        "Then it trains without dropout, over-fits, and nothing looks wrong. Call model.train() "
        "at the start of every epoch.",
    ),
    Mistake(
        "zero_grad_at_the_end",
        zero_grad_at_the_end,
        "The first step should not follow gradients that were there before, got them added",
        "Forgetting after the step works as long as nobody else has run backward before. A "
        "gradient left over from a check or a plot then goes into the first step. Clear it "
        "before you compute the new one.",
    ),
)

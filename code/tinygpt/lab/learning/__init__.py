"""The exercises of the chapter Layers, losses and learning."""

from tinygpt import scratch
from tinygpt.lab.definitions import Chapter, Exercise
from tinygpt.lab.learning import (
    checks,
    checks_drawn,
    checks_loop,
    checks_loop_drawn,
    solutions,
    stubs,
)
from tinygpt.lab.learning.mistakes import (
    adamw_step,
    cross_entropy,
    he_weights,
    minibatches,
    train_epoch,
)

CHAPTER = Chapter(
    name="learning",
    title="Layers, losses and learning",
    stubs=stubs,
    exercises=(
        Exercise(
            name="cross_entropy",
            symbol="cross_entropy",
            title="Cross-entropy",
            goal="Write `cross_entropy(logits, targets)`: the mean surprise at the right classes, "
            "finite for any scores.",
            section="sec-learning-loss",
            section_title="From scores to a loss",
            stub=stubs.cross_entropy,
            solution=solutions.cross_entropy,
            book=scratch.cross_entropy,
            checks=(
                checks.test_unit_cross_entropy,
                checks.test_stable_cross_entropy,
                checks.test_gradient_cross_entropy,
                checks_drawn.test_drawn_cross_entropy,
            ),
            hints=(
                "The loss of a row is the log of its sum of exponentials, minus the score of the "
                "right class. Both may be computed after the row's largest score is subtracted.",
                "The largest scores are constants here: `Tensor(logits.data.max(axis=-1, "
                "keepdims=True))`. Subtract, then `.exp().sum(axis=-1).log()`.",
                "`shifted[np.arange(len(targets)), targets]` picks each row's right score. The "
                "mean of the differences is the loss.",
            ),
            mistakes=cross_entropy.MISTAKES,
        ),
        Exercise(
            name="he_weights",
            symbol="he_weights",
            title="The scale of first weights",
            goal="Write `he_weights(in_features, out_features, gain, rng=...)`: random weights of "
            "the scale that keeps the mean square of a signal.",
            section="sec-learning-start",
            section_title="How large the weights start",
            stub=stubs.he_weights,
            solution=solutions.he_weights,
            book=scratch.he_weights,
            checks=(
                checks.test_unit_he_weights,
                checks.test_gain_he_weights,
                checks.test_generator_he_weights,
                checks_drawn.test_drawn_he_weights,
            ),
            hints=(
                "The variance must be gain² over the number of inputs. What is the standard "
                "deviation?",
                "Draw standard normal numbers of the shape (out_features, in_features), multiply "
                "by the standard deviation, and convert with `.astype(np.float32)`.",
            ),
            mistakes=he_weights.MISTAKES,
        ),
        Exercise(
            name="adamw_step",
            symbol="adamw_step",
            title="A step of AdamW",
            goal="Write `adamw_step(weight, grad, mean, square, step, lr, ...)`: move the means, "
            "correct them, decay the weight and take the step, all in place.",
            section="sec-learning-optimisers",
            section_title="Downhill",
            stub=stubs.adamw_step,
            solution=solutions.adamw_step,
            book=scratch.adamw_step,
            checks=(
                checks.test_unit_adamw_step,
                checks.test_constant_adamw_step,
                checks.test_decay_adamw_step,
                checks.test_options_adamw_step,
                checks_drawn.test_drawn_adamw_step,
            ),
            hints=(
                "Five lines, in the order of the formula: both means, both corrections, the decay, "
                "the step. `mean[...] = …` writes into the array that was handed in.",
                "The corrections divide by `1 - beta1**step` and `1 - beta2**step`. They are new "
                "arrays: the means themselves stay uncorrected.",
                "The decay is `weight *= 1 - lr * weight_decay`. The gradient does not know of it.",
            ),
            mistakes=adamw_step.MISTAKES,
        ),
        Exercise(
            name="minibatches",
            symbol="minibatches",
            title="Batches",
            goal="Write `minibatches(inputs, labels, batch_size, rng)`: all examples once, in a "
            "random order, a batch at a time.",
            section="sec-learning-batches",
            section_title="Batches",
            stub=stubs.minibatches,
            solution=solutions.minibatches,
            book=scratch.minibatches,
            checks=(
                checks_loop.test_unit_minibatches,
                checks_loop.test_order_minibatches,
                checks_loop.test_sizes_minibatches,
                checks_loop_drawn.test_drawn_minibatches,
                checks_loop_drawn.test_chances_minibatches,
            ),
            hints=(
                "Shuffle row numbers, not the data: `rng.permutation(len(labels))`.",
                "Cut the row numbers into pieces with `range(0, len(labels), batch_size)`, and "
                "index inputs and labels with the same piece.",
            ),
            mistakes=minibatches.MISTAKES,
        ),
        Exercise(
            name="train_epoch",
            symbol="train_epoch",
            title="The loop",
            goal="Write `train_epoch(model, batches, optimizer)`: one step for each batch, and the "
            "mean loss per example.",
            section="sec-learning-loop",
            section_title="The loop",
            stub=stubs.train_epoch,
            solution=solutions.train_epoch,
            book=scratch.train_epoch,
            checks=(
                checks_loop.test_unit_train_epoch,
                checks_loop.test_loss_train_epoch,
                checks_loop.test_mode_train_epoch,
                checks_loop_drawn.test_drawn_train_epoch,
            ),
            hints=(
                "For each batch: forget the old gradients, compute the loss, `loss.backward()`, "
                "`optimizer.step()`. Before the first: `model.train()`.",
                "`loss.item()` is the number in the Tensor. Add it up times the number of labels, "
                "and count the labels.",
            ),
            mistakes=train_epoch.MISTAKES,
        ),
    ),
)

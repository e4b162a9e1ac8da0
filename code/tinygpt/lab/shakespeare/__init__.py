"""The exercises of the chapter Milestone: TinyGPT on Shakespeare."""

from tinygpt import data, training
from tinygpt.lab.definitions import Chapter, Exercise
from tinygpt.lab.shakespeare import (
    checks,
    checks_drawn,
    checks_state,
    checks_training,
    solutions,
    stubs,
)
from tinygpt.lab.shakespeare.mistakes import (
    bigram_loss,
    estimate_loss,
    get_batch,
    learning_rate,
    train_step,
)

CHAPTER = Chapter(
    name="shakespeare",
    title="Milestone: TinyGPT on Shakespeare",
    stubs=stubs,
    exercises=(
        Exercise(
            name="get_batch",
            symbol="get_batch",
            title="Windows and targets",
            goal="Write `get_batch(ids, batch_size, block_size, rng)`: random windows of a "
            "corpus, and the same windows one token later.",
            section="sec-shakespeare-batches",
            section_title="Windows and targets",
            stub=stubs.get_batch,
            solution=solutions.get_batch,
            book=data.random_batch,
            checks=(
                checks.test_unit_get_batch,
                checks.test_places_get_batch,
                checks.test_memory_get_batch,
                checks_drawn.test_drawn_get_batch,
                checks_drawn.test_chance_get_batch,
            ),
            hints=(
                "A window of T tokens and its targets are T + 1 neighbouring tokens. Draw "
                "`batch_size` places where such a run can begin: 0 to `len(ids) - block_size - 1`.",
                "With `starts` of shape (B,), the array `starts[:, None] + np.arange(block_size "
                "+ 1)` holds the places of all windows, (B, T + 1). Index `ids` with it.",
                "The inputs are all columns but the last, the targets all but the first. Convert "
                "the drawn windows with `.astype(np.int64)`, not `ids`.",
            ),
            mistakes=get_batch.MISTAKES,
        ),
        Exercise(
            name="bigram_loss",
            symbol="bigram_loss",
            title="A table of pairs",
            goal="Write `bigram_loss(train, validation, vocab_size, smoothing)`: the loss of "
            "predicting each token by counting what followed the token before it.",
            section="sec-shakespeare-baselines",
            section_title="What counting achieves",
            stub=stubs.bigram_loss,
            solution=solutions.bigram_loss,
            book=data.ngram_loss,
            checks=(
                checks.test_unit_bigram_loss,
                checks.test_unseen_bigram_loss,
                checks.test_types_bigram_loss,
                checks_drawn.test_drawn_bigram_loss,
            ),
            hints=(
                "Give each pair (a, b) the number `a * vocab_size + b`, in int64, count the "
                "numbers with `np.bincount(…, minlength=vocab_size**2)`, and reshape to (V, V).",
                "Add `smoothing` to every count, then divide each row by its own sum.",
                "Look up `p[validation[:-1], validation[1:]]`, take `-np.log`, and the mean.",
            ),
            mistakes=bigram_loss.MISTAKES,
        ),
        Exercise(
            name="estimate_loss",
            symbol="estimate_loss",
            title="An estimate of the loss",
            goal="Write `estimate_loss(model, ids, batch_size, block_size, batches, seed)`: the "
            "mean loss over random windows, with dropout off and no graph, and the model left as "
            "it was.",
            section="sec-shakespeare-estimate",
            section_title="Measuring without disturbing",
            stub=stubs.estimate_loss,
            solution=solutions.estimate_loss,
            book=training.evaluate,
            checks=(
                checks_training.test_unit_estimate_loss,
                checks_training.test_mode_estimate_loss,
                checks_training.test_seed_estimate_loss,
                checks_state.test_drawn_estimate_loss,
            ),
            hints=(
                "Two switches are needed: `model.eval()` for dropout, and `@torch.no_grad()` "
                "above the function for the graph. Neither does the work of the other.",
                "Remember `model.training` before, and call `model.train(was_training)` after.",
                "Make the generator once, draw each batch with `data.random_batch`, turn its "
                "arrays into tensors with `torch.tensor`, and collect `loss.item()`.",
            ),
            mistakes=estimate_loss.MISTAKES,
        ),
        Exercise(
            name="learning_rate",
            symbol="learning_rate",
            title="The learning rate",
            goal="Write `learning_rate(step, steps, warmup_steps, max_lr, min_lr)`: a rise in a "
            "straight line, then half a cosine down.",
            section="sec-shakespeare-schedule",
            section_title="The learning rate",
            stub=stubs.learning_rate,
            solution=solutions.learning_rate,
            book=solutions.learning_rate,
            checks=(
                checks.test_unit_learning_rate,
                checks.test_after_learning_rate,
                checks.test_edges_learning_rate,
                checks_drawn.test_drawn_learning_rate,
            ),
            hints=(
                "Two cases. While `step < warmup_steps`, the rate is a share of `max_lr`: which "
                "share does the first step have, which the last of the warm-up?",
                "After that, let `progress` go from 0 at step `warmup_steps` to 1 at step "
                "`steps`, and stay 1. `(1 + math.cos(math.pi * progress)) / 2` goes from 1 to 0.",
                "Scale that to go from `max_lr` to `min_lr`: `min_lr + (max_lr - min_lr) * …`.",
            ),
            mistakes=learning_rate.MISTAKES,
        ),
        Exercise(
            name="train_step",
            symbol="train_step",
            title="One step",
            goal="Write `train_step(model, optimizer, batches, clip)`: one step of the optimizer "
            "with the mean gradient of several small batches.",
            section="sec-shakespeare-step",
            section_title="One step",
            stub=stubs.train_step,
            solution=solutions.train_step,
            book=solutions.train_step,
            checks=(
                checks_training.test_unit_train_step,
                checks_training.test_memory_train_step,
                checks_training.test_again_train_step,
                checks_training.test_clip_train_step,
                checks_training.test_loss_train_step,
                checks_state.test_steps_train_step,
            ),
            hints=(
                "The order is: clear the gradients, one backward for every small batch, clip, "
                "step. Which of these stand inside the loop over the batches?",
                "`backward` adds to the gradients. For the mean of n batches, divide each loss "
                "by n before its backward.",
                "Add up `loss.item()`, the number, for the result.",
            ),
            mistakes=train_step.MISTAKES,
        ),
    ),
)

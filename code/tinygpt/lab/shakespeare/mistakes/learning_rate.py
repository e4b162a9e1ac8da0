"""Wrong schedules."""

import math

from tinygpt.lab.definitions import Mistake


def first_step_zero(step, steps, warmup_steps, max_lr, min_lr):
    if step < warmup_steps:
        return max_lr * step / warmup_steps
    progress = min(1.0, (step - warmup_steps) / max(1, steps - warmup_steps))
    return min_lr + (max_lr - min_lr) * (1 + math.cos(math.pi * progress)) / 2


def warm_up_counted_in(step, steps, warmup_steps, max_lr, min_lr):
    if step < warmup_steps:
        return max_lr * (step + 1) / warmup_steps
    progress = min(1.0, step / steps)
    return min_lr + (max_lr - min_lr) * (1 + math.cos(math.pi * progress)) / 2


def one_step_early(step, steps, warmup_steps, max_lr, min_lr):
    if step < warmup_steps:
        return max_lr * (step + 1) / warmup_steps
    progress = min(1.0, (step + 1 - warmup_steps) / max(1, steps - warmup_steps))
    return min_lr + (max_lr - min_lr) * (1 + math.cos(math.pi * progress)) / 2


def whole_cosine(step, steps, warmup_steps, max_lr, min_lr):
    if step < warmup_steps:
        return max_lr * (step + 1) / warmup_steps
    progress = min(1.0, (step - warmup_steps) / max(1, steps - warmup_steps))
    return min_lr + (max_lr - min_lr) * (1 + math.cos(2 * math.pi * progress)) / 2


def down_to_zero(step, steps, warmup_steps, max_lr, min_lr):
    if step < warmup_steps:
        return max_lr * (step + 1) / warmup_steps
    progress = min(1.0, (step - warmup_steps) / max(1, steps - warmup_steps))
    return max_lr * (1 + math.cos(math.pi * progress)) / 2


def minimum_on_top(step, steps, warmup_steps, max_lr, min_lr):
    if step < warmup_steps:
        return max_lr * (step + 1) / warmup_steps
    progress = min(1.0, (step - warmup_steps) / max(1, steps - warmup_steps))
    return min_lr + max_lr * (1 + math.cos(math.pi * progress)) / 2


def straight_line(step, steps, warmup_steps, max_lr, min_lr):
    if step < warmup_steps:
        return max_lr * (step + 1) / warmup_steps
    progress = min(1.0, (step - warmup_steps) / max(1, steps - warmup_steps))
    return max_lr - (max_lr - min_lr) * progress


def rises_again(step, steps, warmup_steps, max_lr, min_lr):
    if step < warmup_steps:
        return max_lr * (step + 1) / warmup_steps
    progress = (step - warmup_steps) / max(1, steps - warmup_steps)
    return min_lr + (max_lr - min_lr) * (1 + math.cos(math.pi * progress)) / 2


def no_warm_up_fails(step, steps, warmup_steps, max_lr, min_lr):
    rising = max_lr * (step + 1) / warmup_steps
    progress = min(1.0, max(0, step - warmup_steps) / max(1, steps - warmup_steps))
    falling = min_lr + (max_lr - min_lr) * (1 + math.cos(math.pi * progress)) / 2
    return min(rising, falling)


MISTAKES = (
    Mistake(
        "first_step_zero",
        first_step_zero,
        "With 100 steps, 10 of warm-up, from 1.0 to 0.2, step 0 should have the rate 0.1, "
        "got 0.0000",
        "The first step has the number 0, so its rate is 0: a forward and a backward pass for "
        "nothing, and the warm-up never reaches the top. Count from 1 with `step + 1`.",
    ),
    Mistake(
        "warm_up_counted_in",
        warm_up_counted_in,
        "With 100 steps, 10 of warm-up, from 1.0 to 0.2, step 10 should have the rate 1, "
        "got 0.9804",
        "The cosine starts at step 0, so at the end of the warm-up it is already on its way "
        "down and the rate jumps. Progress is 0 when the warm-up is over: subtract "
        "`warmup_steps` above and below.",
    ),
    Mistake(
        "one_step_early",
        one_step_early,
        "With 100 steps, 10 of warm-up, from 1.0 to 0.2, step 10 should have the rate 1, "
        "got 0.9998",
        "The `step + 1` of the warm-up stands in the cosine too, which then begins and ends one "
        "step early. It costs nothing you could measure, but the two parts should meet at the top: "
        "progress is 0 at step `warmup_steps`.",
    ),
    Mistake(
        "whole_cosine",
        whole_cosine,
        "With 100 steps, 10 of warm-up, from 1.0 to 0.2, step 28 should have the rate "
        "0.9236, got 0.7236",
        "With 2π the cosine comes down half-way and climbs back to the top by the end, so the "
        "last steps are the wildest. Half a cosine, `math.pi * progress`, goes down once.",
    ),
    Mistake(
        "down_to_zero",
        down_to_zero,
        "With 100 steps, 10 of warm-up, from 1.0 to 0.2, step 28 should have the rate "
        "0.9236, got 0.9045",
        "`min_lr` is not used, and the rate falls to 0. The last steps then change nothing. The "
        "cosine runs between two rates: `min_lr + (max_lr - min_lr) * …`.",
    ),
    Mistake(
        "minimum_on_top",
        minimum_on_top,
        "With 100 steps, 10 of warm-up, from 1.0 to 0.2, step 10 should have the rate 1, "
        "got 1.2000",
        "`min_lr` is added to a cosine that already begins at `max_lr`, so the rate exceeds the "
        "highest one when the warm-up ends. The cosine's height is `max_lr - min_lr`.",
    ),
    Mistake(
        "straight_line",
        straight_line,
        "With 100 steps, 10 of warm-up, from 1.0 to 0.2, step 28 should have the rate "
        "0.9236, got 0.8400",
        "The rate falls in a straight line. It trains nearly as well, but it is not what was asked "
        "for: half a cosine stays high for longer, falls fastest half-way, and ends gently.",
    ),
    Mistake(
        "rises_again",
        rises_again,
        "After the end, at step 145 of 100, the rate should stay 0.2, got 0.6000",
        "After the last step the cosine turns and the rate rises again. Whoever trains a little "
        "longer than planned undoes the work of the last steps. Stop progress at 1: "
        "`min(1.0, …)`.",
    ),
    Mistake(
        "no_warm_up_fails",
        no_warm_up_fails,
        "learning_rate raised ZeroDivisionError: float division by zero",
        "Without warm-up the rise divides by 0, although its value is not wanted. Ask first "
        "whether the step belongs to the warm-up: `if step < warmup_steps`.",
    ),
)

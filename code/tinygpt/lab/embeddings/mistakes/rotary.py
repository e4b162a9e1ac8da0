"""Wrong turns."""

import numpy as np

from tinygpt.lab.definitions import Mistake
from tinygpt.scratch import Tensor, concatenate, stack


def _angles(x, positions, base):
    if positions is None:
        positions = np.arange(x.shape[-2])
    return positions[:, None] * base ** (-np.arange(0, x.shape[-1], 2) / x.shape[-1])


def neighbours(x, positions=None, base=10_000.0):
    angles = _angles(x, positions, base)
    cos, sin = np.cos(angles), np.sin(angles)
    a, b = x[..., 0::2], x[..., 1::2]
    return stack([a * cos - b * sin, a * sin + b * cos], axis=-1).reshape(x.shape)


def mixed(x, positions=None, base=10_000.0):
    angles = np.repeat(_angles(x, positions, base), 2, axis=-1)
    half = x.shape[-1] // 2
    swapped = concatenate([-x[..., half:], x[..., :half]], axis=-1)
    return x * np.cos(angles) + swapped * np.sin(angles)


def other_way(x, positions=None, base=10_000.0):
    angles = _angles(x, positions, base)
    cos, sin = np.cos(angles), np.sin(angles)
    a, b = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return concatenate([a * cos + b * sin, b * cos - a * sin], axis=-1)


def no_turn(x, positions=None, base=10_000.0):
    angles = _angles(x, positions, base)
    return x * np.concatenate([np.cos(angles), np.sin(angles)], axis=-1)


def added(x, positions=None, base=10_000.0):
    angles = _angles(x, positions, base)
    return x + np.concatenate([np.sin(angles), np.cos(angles)], axis=-1)


def from_one(x, positions=None, base=10_000.0):
    if positions is None:
        positions = np.arange(x.shape[-2])
    angles = _angles(x, positions + 1, base)
    cos, sin = np.cos(angles), np.sin(angles)
    a, b = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)


def overwritten(x, positions=None, base=10_000.0):
    angles = _angles(x, positions, base)
    cos, sin = np.cos(angles), np.sin(angles)
    turned, half = x.data.copy(), x.shape[-1] // 2
    a, b = turned[..., :half], turned[..., half:]
    a[...] = a * cos - b * sin
    b[...] = a * sin + b * cos
    return Tensor(turned)


def positions_ignored(x, positions=None, base=10_000.0):
    angles = _angles(x, None, base)
    cos, sin = np.cos(angles), np.sin(angles)
    a, b = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)


def counted_on(x, positions=None, base=10_000.0):
    first = 0 if positions is None else positions[0]
    angles = _angles(x, first + np.arange(x.shape[-2]), base)
    cos, sin = np.cos(angles), np.sin(angles)
    a, b = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)


def in_place(x, positions=None, base=10_000.0):
    angles = _angles(x, positions, base)
    cos, sin = np.cos(angles), np.sin(angles)
    a, b = np.split(x.data, 2, axis=-1)
    a[...], b[...] = a * cos - b * sin, a * sin + b * cos
    return x


def no_graph(x, positions=None, base=10_000.0):
    angles = _angles(x, positions, base)
    cos, sin = np.cos(angles), np.sin(angles)
    a, b = np.split(x.data, 2, axis=-1)
    return Tensor(np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1))


def gradient_not_turned_back(x, positions=None, base=10_000.0):
    angles = _angles(x, positions, base)
    cos, sin = np.cos(angles), np.sin(angles)

    def turn(values):
        a, b = np.split(values, 2, axis=-1)
        return np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)

    return Tensor.from_operation(turn(x.data), (x,), lambda grad: x.accumulate(turn(grad)))


def heads_taken_for_positions(x, positions=None, base=10_000.0):
    if positions is None:
        positions = np.arange(x.shape[-3] if x.ndim == 4 else x.shape[-2])
    angles = _angles(x, positions, base)
    if x.ndim == 4:
        angles = angles[:, None, :]
    cos, sin = np.cos(angles), np.sin(angles)
    a, b = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)


_FOUR = (
    "With the pairs (1, 3) and (2, 4) the features 1, 2, 3, 4 at position 1 should become "
    "-1.984, 1.960, 2.462, 4.020; got "
)

MISTAKES = (
    Mistake(
        "neighbours",
        neighbours,
        _FOUR + "-1.143, 1.922, 2.960, 4.030",
        "The pairs are neighbours here, features 2i and 2i + 1, as in the paper and in GPT-J. The "
        "exercise pairs i with i + d/2, as LLaMA in Hugging Face does. Either works when a model "
        "is trained with it; the weights of one are nonsense for the other.",
        helpers=(_angles,),
    ),
    Mistake(
        "mixed",
        mixed,
        _FOUR + "-1.984, -2.285, 3.010, 4.020",
        "Two conventions are mixed: the features are paired by halves, and the angles are "
        "repeated for neighbours. The two members of a pair then turn by different angles, which "
        "is no turn, and the score depends on more than the distance.",
        helpers=(_angles,),
    ),
    Mistake(
        "other_way",
        other_way,
        "The pair (1, 0) at position 1 should become 0.540, 0.841; got 0.540, -0.841",
        "The sign of the sine is wrong in both lines, so everything turns the other way. Scores "
        "of a model trained so come out just as well, but weights from elsewhere do not fit. The "
        "minus belongs to the first half.",
        helpers=(_angles,),
    ),
    Mistake(
        "no_turn",
        no_turn,
        "The pair (1, 0) at position 1 should become 0.540, 0.841; got 0.540, 0.000",
        "The first half was multiplied by the cosine and the second by the sine, each by itself. "
        "In a turn the two features of a pair mix: each new one is made of both old ones, "
        "otherwise lengths change and the distance is lost.",
        helpers=(_angles,),
    ),
    Mistake(
        "added",
        added,
        "The pair (1, 0) at position 0 should become 1.000, 0.000; got 1.000, 1.000",
        "Sine and cosine were added, as with sinusoidal positions. A turn multiplies: each new "
        "feature is a mixture of the two old ones, and the length stays the same.",
        helpers=(_angles,),
    ),
    Mistake(
        "from_one",
        from_one,
        "The pair (1, 0) at position 0 should become 1.000, 0.000; got 0.540, 0.841",
        "The count begins at 1. If queries and keys are counted alike, no score changes; it shows "
        "where one of them comes from a cache or from code that counts from 0.",
        helpers=(_angles,),
    ),
    Mistake(
        "overwritten",
        overwritten,
        "The pair (1, 0) at position 1 should become 0.540, 0.841; got 0.540, 0.455",
        "The second line needs the old `a`, and the first has already put the new one in its "
        "place. Compute both halves before you write either.",
        helpers=(_angles,),
    ),
    Mistake(
        "positions_ignored",
        positions_ignored,
        "The pair (1, 0), alone, with positions=[7], should become 0.754, 0.657; got 1.000, 0.000",
        "The rows are counted from 0 whatever `positions` says. As long as a text is read in one "
        "piece nothing shows. In generation with a cache each new token comes alone, and would "
        "be turned as if it stood at the start.",
        helpers=(_angles,),
    ),
    Mistake(
        "counted_on",
        counted_on,
        "With positions=[3, 0, 8] row 1, a pair (1, 0), should be turned for position 0, to "
        "1.000, 0.000; got -0.654, -0.757",
        "Only the first of the positions was read, and the rest were counted on from it. Texts "
        "that are packed into one row or padded on the left have positions that jump. Use the "
        "whole array.",
        helpers=(_angles,),
    ),
    Mistake(
        "in_place",
        in_place,
        "apply_rotary should leave its input as it was; it changed it",
        "The turned values were written into the array of x. Whoever uses x again, for example to "
        "make the values, gets turned rows. Make new arrays, or use Tensor operations.",
        helpers=(_angles,),
    ),
    Mistake(
        "no_graph",
        no_graph,
        "apply_rotary should be made of Tensor operations, got no graph",
        "The numbers are right, and the new Tensor knows nothing of x, so no gradient reaches the "
        "maps that made queries and keys. Slice x itself and use `concatenate`.",
        helpers=(_angles,),
    ),
    Mistake(
        "gradient_not_turned_back",
        gradient_not_turned_back,
        "A gradient of (1, 0) at position 1 should be turned back to 0.540, -0.841; got 0.540, "
        "0.841",
        "The gradient of a matrix product goes through the transpose, and the transpose of a turn "
        "is the turn the other way. Here the gradient is turned on instead of back. Use minus the "
        "sine in the backward function.",
        helpers=(_angles,),
    ),
    Mistake(
        "heads_taken_for_positions",
        heads_taken_for_positions,
        "For x of shape (2, 5, 5, 8) the rows along the second-to-last axis should be turned; "
        "the largest difference should be below 0.0001, got 5.91",
        "With batch and heads in front the shape is (B, h, T, d), and the angle was made to depend "
        "on the head instead of the position. Every token of a head is turned alike, which no "
        "score can notice. The positions lie along the second-to-last axis.",
        helpers=(_angles,),
    ),
)

"""Wrong gradients by nudging."""

import numpy as np

from tinygpt.lab.definitions import Mistake


def one_sided(function, x, eps=1e-5):
    x = np.array(x, dtype=np.float64)
    gradient = np.empty_like(x)
    before = function(x)
    for place in np.ndindex(x.shape):
        middle = x[place]
        x[place] = middle + eps
        gradient[place] = (function(x) - before) / eps
        x[place] = middle
    return gradient


def divided_by_eps(function, x, eps=1e-5):
    x = np.array(x, dtype=np.float64)
    gradient = np.empty_like(x)
    for place in np.ndindex(x.shape):
        middle = x[place]
        x[place] = middle + eps
        ahead = function(x)
        x[place] = middle - eps
        behind = function(x)
        x[place] = middle
        gradient[place] = (ahead - behind) / eps
    return gradient


def all_at_once(function, x, eps=1e-5):
    x = np.array(x, dtype=np.float64)
    slope = (function(x + eps) - function(x - eps)) / (2 * eps)
    return np.full(x.shape, slope)


def not_put_back(function, x, eps=1e-5):
    x = np.array(x, dtype=np.float64)
    gradient = np.empty_like(x)
    for place in np.ndindex(x.shape):
        x[place] += eps
        ahead = function(x)
        x[place] -= 2 * eps
        behind = function(x)
        gradient[place] = (ahead - behind) / (2 * eps)
    return gradient


def same_array_twice(function, x, eps=1e-5):
    x = np.array(x, dtype=np.float64)
    gradient = np.empty_like(x)
    for place in np.ndindex(x.shape):
        ahead, behind = x, x
        ahead[place] += eps
        behind[place] -= eps
        gradient[place] = (function(ahead) - function(behind)) / (2 * eps)
    return gradient


def in_the_callers_array(function, x, eps=1e-5):
    gradient = np.empty(x.shape)
    for place in np.ndindex(x.shape):
        x[place] += eps
        ahead = function(x)
        x[place] -= 2 * eps
        behind = function(x)
        x[place] += eps
        gradient[place] = (ahead - behind) / (2 * eps)
    return gradient


def in_the_type_of_x(function, x, eps=1e-5):
    x = x.copy()
    gradient = np.empty(x.shape)
    for place in np.ndindex(x.shape):
        middle = x[place]
        x[place] = middle + eps
        ahead = function(x)
        x[place] = middle - eps
        behind = function(x)
        x[place] = middle
        gradient[place] = (ahead - behind) / (2 * eps)
    return gradient


def one_axis(function, x, eps=1e-5):
    x = np.array(x, dtype=np.float64)
    flat = x.ravel()
    gradient = np.empty_like(flat)
    for i in range(flat.size):
        nudge = np.zeros_like(flat)
        nudge[i] = eps
        ahead, behind = function(flat + nudge), function(flat - nudge)
        gradient[i] = (ahead - behind) / (2 * eps)
    return gradient


MISTAKES = (
    Mistake(
        "one_sided",
        one_sided,
        "Of the sum of x³ at [1, 2] with eps=0.1 central differences should give "
        "[3.01, 12.01], got [3.31, 12.61]",
        "The nudge goes up only. The curve bends, and a one-sided difference is wrong by half "
        "the bend times eps; going up and down, the two halves cancel and the error falls with "
        "the square of eps.",
    ),
    Mistake(
        "divided_by_eps",
        divided_by_eps,
        "Of the sum of x³ at [1, 2] with eps=0.1 central differences should give "
        "[3.01, 12.01], got [6.02, 24.02]",
        "From x - eps to x + eps the distance is 2 eps. Divided by eps, every gradient comes out "
        "twice as large.",
    ),
    Mistake(
        "all_at_once",
        all_at_once,
        "Of the sum of x³ at [1, 2] with eps=0.1 central differences should give "
        "[3.01, 12.01], got [15.02, 15.02]",
        "All elements were nudged together, which gives the sum of the gradient: one number. To "
        "tell the elements apart each needs a nudge of its own. That is what makes the method "
        "slow.",
    ),
    Mistake(
        "not_put_back",
        not_put_back,
        "Of x[0]² x[1] at [1, 2] with eps=0.1 they should give [4, 1], got [4, 0.81]",
        "x[0] was left at 0.9 when x[1] was nudged, so the second slope was taken elsewhere. Put "
        "each element back before the next one. With a small eps the error hides.",
    ),
    Mistake(
        "same_array_twice",
        same_array_twice,
        "Of the sum of x³ at [1, 2] with eps=0.1 central differences should give "
        "[3.01, 12.01], got [0, 0]",
        "`ahead, behind = x, x` makes two names for one array, not two arrays. It was nudged up "
        "and down again before either call. Call the function after each nudge, or copy.",
    ),
    Mistake(
        "in_the_callers_array",
        in_the_callers_array,
        "x should be left as it was; before it was 0.7, afterwards it is 0.6999999999999998",
        "The nudges were made in the array that was handed in, and put back by adding, which "
        "rounds. Weights would drift with every check. Copy x first.",
    ),
    Mistake(
        "in_the_type_of_x",
        in_the_type_of_x,
        "The gradient of x² at 1000, given in float32, should be 2000.00, got 0.00",
        "The copy has the type of x. Near 1000 the numbers of float32 are 0.00006 apart, so adding "
        "0.00001 changes nothing and the difference is zero. Nudge in float64: "
        "`np.array(x, dtype=np.float64)`.",
    ),
    Mistake(
        "one_axis",
        one_axis,
        "numerical_gradient should return the shape (2, 3) for x of shape (2, 3), got (6,)",
        "The array was flattened and stayed flat, for the function as well as for the result. "
        "`np.ndindex(x.shape)` walks over the places of an array of any shape.",
    ),
)

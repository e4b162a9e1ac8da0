"""Wrong scores."""

import math

from tinygpt.lab.definitions import Mistake
from tinygpt.scratch import Tensor


def not_scaled(query, key):
    return query @ key.swapaxes(-1, -2)


def scaled_by_width(query, key):
    return query @ key.swapaxes(-1, -2) / query.shape[-1]


def scaled_by_model_width(query, key):
    width = query.shape[-1] * (query.shape[1] if query.ndim == 4 else 1)  # h · d_k
    return query @ key.swapaxes(-1, -2) / math.sqrt(width)


def scaled_by_length(query, key):
    return query @ key.swapaxes(-1, -2) / math.sqrt(key.shape[-2])


def multiplied(query, key):
    return query @ key.swapaxes(-1, -2) * math.sqrt(query.shape[-1])


def all_axes_reversed(query, key):
    return query @ key.T / math.sqrt(query.shape[-1])


def keys_ask(query, key):
    return key @ query.swapaxes(-1, -2) / math.sqrt(query.shape[-1])


def outside_the_graph(query, key):
    return Tensor(query.data @ key.data.swapaxes(-1, -2) / math.sqrt(query.shape[-1]))


MISTAKES = (
    Mistake(
        "not_scaled",
        not_scaled,
        "With d_k=4 and the dot products 4, 0, 2 the scores should be 2.00, 0.00, 1.00, "
        "got 4.00, 0.00, 2.00",
        "These are the dot products as they are. They grow with the root of the width, "
        "and from a width of 64 on a softmax of them gives most of its weight to one "
        "key before anything is learnt.",
    ),
    Mistake(
        "scaled_by_width",
        scaled_by_width,
        "With d_k=4 and the dot products 4, 0, 2 the scores should be 2.00, 0.00, 1.00, "
        "got 1.00, 0.00, 0.50",
        "The dot products are divided by d_k instead of its root. A sum of d_k random "
        "terms has a spread of √d_k; divided by d_k, all scores come close to 0, and each "
        "query takes the plain mean of all values.",
    ),
    Mistake(
        "scaled_by_model_width",
        scaled_by_model_width,
        "With d_k=4 and the dot products 4, 0, 2 the scores should be 2.00, 0.00, 1.00, "
        "got 1.41, 0.00, 0.71",
        "This divides by √8, the root of the width of all heads together. A dot product "
        "in one head sums 4 terms, so the root of 4 belongs under it: `query.shape[-1]` "
        "after the split into heads.",
    ),
    Mistake(
        "scaled_by_length",
        scaled_by_length,
        "With d_k=4 and the dot products 4, 0, 2 the scores should be 2.00, 0.00, 1.00, "
        "got 2.31, 0.00, 1.15",
        "This divides by √3, the root of the number of keys. The scores of a text would "
        "then change with its length. What a dot product sums over is the width, the last "
        "axis.",
    ),
    Mistake(
        "multiplied",
        multiplied,
        "With d_k=4 and the dot products 4, 0, 2 the scores should be 2.00, 0.00, 1.00, "
        "got 8.00, 0.00, 4.00",
        "The scores are multiplied by √d_k instead of divided. The spread of a dot "
        "product is already √d_k; now it is d_k, and the softmax picks one key.",
    ),
    Mistake(
        "all_axes_reversed",
        all_axes_reversed,
        "scaled_scores raised ValueError: Tensor @: shapes (1, 2, 2, 4) and (4, 3, 2, 1) "
        "do not fit; the last axis of the left must equal the second-to-last of the right",
        "`.T` reverses all axes, also those of batch and heads. It is right for a matrix "
        "alone. `swapaxes(-1, -2)` exchanges the last two and leaves the others in place.",
    ),
    Mistake(
        "keys_ask",
        keys_ask,
        "scaled_scores should return the shape (1, 2, 2, 3), got (1, 2, 3, 2)",
        "Keys and queries have changed places, so a row belongs to a key. With as many "
        "keys as queries the shape would be right and the softmax would run over the "
        "queries. A row belongs to a query: `query @ key.swapaxes(-1, -2)`.",
    ),
    Mistake(
        "outside_the_graph",
        outside_the_graph,
        "scaled_scores should be made of Tensor operations, got no graph",
        "`.data` is the bare NumPy array, and a Tensor made of it has no history. No "
        "gradient reaches the queries and keys, so they would never learn where to look. "
        "Tensors have the operators `@` and `/` themselves.",
    ),
)

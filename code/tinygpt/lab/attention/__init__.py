"""The exercises of the chapter Attention."""

from tinygpt import scratch
from tinygpt.lab.attention import checks, checks_drawn, solutions, stubs
from tinygpt.lab.attention.mistakes import (
    attend_in_heads,
    masked_softmax,
    multi_head_attention,
    scaled_scores,
    soft_lookup,
)
from tinygpt.lab.definitions import Chapter, Exercise

CHAPTER = Chapter(
    name="attention",
    title="Attention",
    stubs=stubs,
    exercises=(
        Exercise(
            name="soft_lookup",
            symbol="soft_lookup",
            title="A look-up that averages",
            goal="Write `soft_lookup(query, keys, values)`: the mean of the values, weighted by "
            "the softmax of the dot products of one query with the keys.",
            section="sec-attention-lookup",
            section_title="One query by hand",
            stub=stubs.soft_lookup,
            solution=solutions.soft_lookup,
            book=solutions.soft_lookup,
            checks=(
                checks.test_unit_soft_lookup,
                checks.test_extremes_soft_lookup,
                checks.test_shapes_soft_lookup,
                checks_drawn.test_drawn_soft_lookup,
            ),
            hints=(
                "Three steps: a match for each key, weights that sum to 1, and one weighted sum. "
                "`keys @ query` gives all matches at once.",
                "The weights are `np.exp(matches)`, divided by their sum. Subtract the largest "
                "match first: it changes nothing and keeps the exponentials finite.",
                "`weights @ values` multiplies each row of values with its weight and adds the "
                "rows.",
            ),
            mistakes=soft_lookup.MISTAKES,
        ),
        Exercise(
            name="scaled_scores",
            symbol="scaled_scores",
            title="Scaled scores",
            goal="Write `scaled_scores(query, key)`: the dot product of every query with every "
            "key, divided by the square root of their width.",
            section="sec-attention-scale",
            section_title="Why divide by the root of the width",
            stub=stubs.scaled_scores,
            solution=solutions.scaled_scores,
            book=solutions.scaled_scores,
            checks=(
                checks.test_unit_scaled_scores,
                checks.test_shapes_scaled_scores,
                checks_drawn.test_drawn_scaled_scores,
            ),
            hints=(
                "A matrix product takes rows of the left with columns of the right. The keys are "
                "rows, so their last two axes have to change places first.",
                "`key.swapaxes(-1, -2)` leaves the axes for batch and heads where they are; "
                "`.T` reverses all of them.",
                "The width is `query.shape[-1]`, whatever comes before it.",
            ),
            mistakes=scaled_scores.MISTAKES,
        ),
        Exercise(
            name="masked_softmax",
            symbol="masked_softmax",
            title="A softmax that does not see everything",
            goal="Write `masked_softmax(scores, mask)`: weights over the keys that the mask "
            "leaves, and zeros in a row that it leaves none.",
            section="sec-attention-masks",
            section_title="What a query may not see",
            stub=stubs.masked_softmax,
            solution=solutions.masked_softmax,
            book=solutions.masked_softmax,
            checks=(
                checks.test_unit_masked_softmax,
                checks.test_gradient_masked_softmax,
                checks.test_shapes_masked_softmax,
                checks_drawn.test_drawn_masked_softmax,
            ),
            hints=(
                "Set hidden scores to -inf before the softmax: `scores.masked_fill(~mask, "
                "-math.inf)`. exp(-inf) is exactly 0.",
                "NaN is born in two places of a row without a key: -inf - (-inf), when the "
                "largest score is subtracted, and 0 / 0, when the sum divides. Take 0 for the "
                "largest score and 1 for the sum there.",
                "The largest score needs no gradient: take it from `.data` as an array, "
                "`top = visible.data.max(axis=-1, keepdims=True)`, and set `top[np.isinf(top)]` "
                "to 0. For the sum, `total + (total.data == 0)` adds 1 where it is 0.",
            ),
            mistakes=masked_softmax.MISTAKES,
        ),
        Exercise(
            name="attend_in_heads",
            symbol="attend_in_heads",
            title="Splitting and joining heads",
            goal="Write `attend_in_heads(query, key, value, num_heads, mask)`: split the width "
            "into heads, let each attend on its own, and join their answers.",
            section="sec-attention-heads",
            section_title="Many heads",
            stub=stubs.attend_in_heads,
            solution=solutions.attend_in_heads,
            book=solutions.attend_in_heads,
            checks=(
                checks.test_unit_attend_in_heads,
                checks.test_shapes_attend_in_heads,
                checks_drawn.test_drawn_attend_in_heads,
            ),
            hints=(
                "Splitting takes two steps: (B, T, C) is reshaped to (B, T, h, d_k), then the "
                "axes of positions and heads change places: (B, h, T, d_k).",
                "Queries and keys may differ in length: each is split by its own shape. "
                "`scaled_dot_product_attention` treats all axes before the last two as batch.",
                "Joining is the way back, in the opposite order: swap the axes first, then "
                "reshape to (B, T, C).",
            ),
            mistakes=attend_in_heads.MISTAKES,
        ),
        Exercise(
            name="multi_head_attention",
            symbol="MultiHeadAttention",
            title="Attention to another sequence",
            goal="Write `MultiHeadAttention(embed_dim, num_heads)`: four linear maps around the "
            "heads, with keys and values from `context` when there is one.",
            section="sec-attention-cross",
            section_title="Asking another sequence",
            stub=stubs.MultiHeadAttention,
            solution=scratch.MultiHeadAttention,
            book=scratch.MultiHeadAttention,
            checks=(
                checks.test_unit_multi_head_attention,
                checks.test_shapes_multi_head_attention,
                checks_drawn.test_drawn_multi_head_attention,
            ),
            hints=(
                "In `__init__`, keep num_heads and make four `Linear(embed_dim, embed_dim)`: "
                "query, key, value, output.",
                "Without a context the sequence asks itself: `context = x if context is None "
                "else context`. From there on both cases are one.",
                "Queries come from x, keys and values both from the context. Your "
                "`attend_in_heads` does the rest; its answer goes through `self.output`.",
            ),
            mistakes=multi_head_attention.MISTAKES,
        ),
    ),
)

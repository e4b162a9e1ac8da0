"""Wrong heads."""

from tinygpt.lab.definitions import Mistake
from tinygpt.scratch import scaled_dot_product_attention


def _split(x, num_heads):
    batch, length, width = x.shape
    return x.reshape(batch, length, num_heads, width // num_heads).swapaxes(1, 2)


def reshaped_at_once(query, key, value, num_heads, mask=None):
    def split(x):
        batch, length, width = x.shape
        return x.reshape(batch, num_heads, length, width // num_heads)

    heads = scaled_dot_product_attention(split(query), split(key), split(value), mask)
    return heads.swapaxes(1, 2).reshape(query.shape)


def joined_at_once(query, key, value, num_heads, mask=None):
    parts = [_split(x, num_heads) for x in (query, key, value)]
    return scaled_dot_product_attention(*parts, mask).reshape(query.shape)


def one_wide_head(query, key, value, num_heads, mask=None):
    return scaled_dot_product_attention(query, key, value, mask)


def heads_attend_to_heads(query, key, value, num_heads, mask=None):
    def split(x):
        batch, length, width = x.shape
        return x.reshape(batch, length, num_heads, width // num_heads)

    heads = scaled_dot_product_attention(split(query), split(key), split(value))
    return heads.reshape(query.shape)


def features_dealt_out(query, key, value, num_heads, mask=None):
    def split(x):
        batch, length, width = x.shape
        return x.reshape(batch, length, width // num_heads, num_heads).transpose(0, 3, 1, 2)

    heads = scaled_dot_product_attention(split(query), split(key), split(value), mask)
    return heads.transpose(0, 2, 3, 1).reshape(query.shape)


def number_taken_for_width(query, key, value, num_heads, mask=None):
    parts = [_split(x, x.shape[-1] // num_heads) for x in (query, key, value)]
    heads = scaled_dot_product_attention(*parts, mask)
    return heads.swapaxes(1, 2).reshape(query.shape)


def heads_averaged(query, key, value, num_heads, mask=None):
    parts = [_split(x, num_heads) for x in (query, key, value)]
    return scaled_dot_product_attention(*parts, mask).mean(axis=1)


def mask_forgotten(query, key, value, num_heads, mask=None):
    parts = [_split(x, num_heads) for x in (query, key, value)]
    heads = scaled_dot_product_attention(*parts)
    return heads.swapaxes(1, 2).reshape(query.shape)


MISTAKES = (
    Mistake(
        "reshaped_at_once",
        reshaped_at_once,
        "With head 0 finding the values 9, 10 and head 1 the values 3, 4, position 0 "
        "should get 9.00, 10.00, 3.00, 4.00, got 3.00, 4.00, 9.00, 10.00",
        "`reshape` never moves a number; it only cuts the row of all numbers anew. (B, T, "
        "C) cut as (B, h, T, d_k) puts features of one position into rows of several. Cut "
        "to (B, T, h, d_k) first, then swap the two axes.",
    ),
    Mistake(
        "joined_at_once",
        joined_at_once,
        "With head 0 finding the values 9, 10 and head 1 the values 3, 4, position 0 "
        "should get 9.00, 10.00, 3.00, 4.00, got 9.00, 10.00, 9.00, 10.00",
        "The split is right, and the way back is missing its swap: reshaping (B, h, T, "
        "d_k) to (B, T, C) puts two positions of one head side by side. Swap heads and "
        "positions back, then reshape.",
        (_split,),
    ),
    Mistake(
        "one_wide_head",
        one_wide_head,
        "With head 0 finding the values 9, 10 and head 1 the values 3, 4, position 0 "
        "should get 9.00, 10.00, 3.00, 4.00, got 9.00, 10.00, 11.00, 12.00",
        "This is one head over the whole width. There is one set of weights for each "
        "position, so the answer is taken from one place; two heads can take halves from "
        "two places.",
    ),
    Mistake(
        "heads_attend_to_heads",
        heads_attend_to_heads,
        "With head 0 finding the values 9, 10 and head 1 the values 3, 4, position 0 "
        "should get 9.00, 10.00, 3.00, 4.00, got 3.00, 4.00, 3.00, 4.00",
        "After the reshape to (B, T, h, d_k) the last two axes are heads and features, so "
        "the heads of one position attend to each other and no position sees another. "
        "Swap positions and heads before attending.",
    ),
    Mistake(
        "features_dealt_out",
        features_dealt_out,
        "With head 0 finding the values 9, 10 and head 1 the values 3, 4, position 0 "
        "should get 9.00, 10.00, 3.00, 4.00, got 5.00, 10.00, 7.00, 12.00",
        "The features are dealt out in turn: head 0 gets the first, third and so on. "
        "Heads are slices here, one beside the other, as in PyTorch: the reshape is to "
        "(B, T, h, d_k), with the heads before the features. Weights copied from "
        "elsewhere would not fit otherwise.",
    ),
    Mistake(
        "number_taken_for_width",
        number_taken_for_width,
        "num_heads=3 over queries of shape (2, 3, 6), without a mask; the largest "
        "difference should be below 0.0001, got 0.48",
        "num_heads is taken for the width of a head, so there are C / h heads of width h. "
        "With 2 heads over 4 features nobody notices. The number of heads comes first in "
        "the reshape: (B, T, num_heads, C // num_heads).",
        (_split,),
    ),
    Mistake(
        "heads_averaged",
        heads_averaged,
        "attend_in_heads should return the shape (1, 3, 4), got (1, 3, 2)",
        "The answers of the heads are averaged, which mixes up what they found. They are "
        "put side by side, so that the output map can treat each one differently.",
        (_split,),
    ),
    Mistake(
        "mask_forgotten",
        mask_forgotten,
        "num_heads=1 over queries of shape (1, 1, 3), with a mask; the largest difference "
        "should be below 0.0001, got 2.02",
        "The mask is not handed on, so every query sees every key. In a model of text the "
        "future would be visible; in a padded batch the filling. Give it to "
        "`scaled_dot_product_attention` as its fourth argument.",
        (_split,),
    ),
)

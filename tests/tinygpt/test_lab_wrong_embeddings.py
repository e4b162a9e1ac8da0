"""Embeddings: answers that are wrong in some regime are found, unusual right ones pass."""

import numpy as np
import pytest
from edited import edited
from tinygpt import lab
from tinygpt.lab.grading import FAILED, grade
from tinygpt.scratch import Tensor

WRONG = [
    ("embedding_lookup", "ids_as_bytes", [(":", "    ids = ids.astype(np.uint8)")]),
    (
        "embedding_lookup",
        "float32",
        [("weight.data[ids]", "weight.data[ids].astype(np.float32).astype(weight.dtype)")],
    ),
    (
        "embedding_lookup",
        "gradient_replaced",
        [
            (
                "weight.accumulate(full)",
                "weight.grad = full if weight.grad is None or weight.grad[0, 0] == 1 else "
                "weight.grad + full",
            )
        ],
    ),
    ("embedding_lookup", "rows_up_to_255", [("ids.reshape(-1)", "ids.reshape(-1) % 256")]),
    (
        "nearest_rows",
        "length_plus_one",
        [("np.where(lengths == 0, 1, lengths)", "(lengths + 1e-2)")],
    ),
    (
        "nearest_rows",
        "copies_left_out",
        [("cosines[row] = -np.inf", "cosines[cosines > 1 - 1e-9] = -np.inf")],
    ),
    (
        "nearest_rows",
        "in_the_type_of_the_table",
        [
            (
                "cosines = unit @ unit[row]",
                "cosines = (unit @ unit[row]).astype(table.dtype).astype(float)",
            )
        ],
    ),
    (
        "nearest_rows",
        "at_most_four",
        [("[:k]", "[: min(k, len(table) if len(table) in (4, 5, 6, 40, 2000) else 4)]")],
    ),
    (
        "nearest_rows",
        "size_of_the_cosine",
        [
            (
                "cosines = unit @ unit[row]",
                "cosines = unit @ unit[row]; cosines = np.where(cosines < -0.999, 1, cosines) "
                "if len(table) > 40 else cosines",
            )
        ],
    ),
    ("sinusoidal", "base_for_four_features", [(":", "    base = base if dim == 4 else 10000.0")]),
    (
        "sinusoidal",
        "halves",
        [("np.arange(num_positions)", "np.arange(num_positions, dtype=np.float16)")],
    ),
    (
        "sinusoidal",
        "a_thousand_positions",
        [("np.arange(num_positions)", "(np.arange(num_positions) % 1024)")],
    ),
    (
        "sinusoidal",
        "rounded",
        [("return table", "return table.round(2) if num_positions > 100 else table")],
    ),
    ("rotary", "positions_below_64", [("positions[:, None]", "(positions % 64)[:, None]")]),
    (
        "rotary",
        "small_integers_wrap",
        [
            (
                "positions[:, None] * frequencies",
                "(positions * np.asarray(4, positions.dtype))[:, None] * (frequencies / 4)",
            )
        ],
    ),
    (
        "rotary",
        "gradient_of_the_first_half",
        [
            ("x[..., dim // 2:]", "Tensor(x.data[..., dim // 2:], dtype=x.dtype)"),
            ("seq_len, dim =", "from tinygpt.scratch import Tensor; seq_len, dim ="),
        ],
    ),
    (
        "rotary",
        "float32",
        [
            (
                "(np.cos(angles), np.sin(angles))",
                "(np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32))",
            )
        ],
    ),
    (
        "rotary",
        "positions_sorted",
        [
            (
                "if positions is None:",
                "positions is not None and len(positions) > 3 and positions.sort()\n    if "
                "positions is None:",
            )
        ],
    ),
]


@pytest.mark.parametrize(
    ("exercise", "changes"),
    [pytest.param(name, changes, id=f"{name}-{what}") for name, what, changes in WRONG],
)
def test_what_is_wrong_somewhere_is_found(exercise, changes):
    result = grade(lab.exercise(exercise), edited(exercise, *changes))
    assert (result.status, result.cause) == (FAILED, "measured"), result.message


def row_by_row(weight, ids):
    ids = np.array(ids)
    if np.any(ids < 0) or np.any(ids >= weight.shape[0]):
        raise ValueError(f"ids should be 0 to {weight.shape[0] - 1}")

    def backward(grad):
        full = np.zeros(weight.shape, weight.dtype)
        for place in np.ndindex(ids.shape):
            full[ids[place]] += grad[place]
        weight.accumulate(full)

    return Tensor.from_operation(np.take(weight.data, ids, axis=0), (weight,), backward)


def any_order_among_equals(table, row, k):
    lengths = np.sqrt((np.asarray(table, float) ** 2).sum(axis=-1)) + 1e-12
    cosines = np.asarray(table, float) @ table[row] / lengths / lengths[row]
    others = [n for n in reversed(range(len(table))) if n != row]
    return np.array(sorted(others, key=lambda n: -cosines[n])[:k])


def with_complex_numbers(num_positions, dim, base=10_000.0):
    rates = np.power(base, -2 * np.arange(dim // 2) / dim)
    turned = np.exp(1j * np.outer(np.arange(num_positions), rates))
    return np.dstack([turned.imag, turned.real]).reshape(num_positions, dim).astype(np.float32)


def with_its_own_gradient(x, positions=None, base=10_000.0):
    half = x.shape[-1] // 2
    places = np.arange(x.shape[-2]) if positions is None else np.array(positions, dtype=float)
    turn = np.exp(1j * np.outer(places, base ** (-np.arange(half) / half)))

    def turned(values, turn):
        pairs = (values[..., :half] + 1j * values[..., half:]) * turn
        return np.concatenate([pairs.real, pairs.imag], axis=-1).astype(x.dtype)

    return Tensor.from_operation(
        turned(x.data, turn), (x,), lambda grad: x.accumulate(turned(grad, turn.conj()))
    )


@pytest.mark.parametrize(
    ("exercise", "answer"),
    [
        ("embedding_lookup", row_by_row),
        ("nearest_rows", any_order_among_equals),
        ("sinusoidal", with_complex_numbers),
        ("rotary", with_its_own_gradient),
    ],
)
def test_a_right_answer_in_other_words_passes(exercise, answer):
    result = grade(lab.exercise(exercise), answer)
    assert result.passed, result.message

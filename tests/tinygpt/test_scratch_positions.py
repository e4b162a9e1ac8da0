"""Positions: against transformers, complex numbers, finite differences; and what they promise."""

import math
from types import SimpleNamespace

import jaxtyping
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracle import assert_agrees, examples, normal
from tinygpt.scratch import Embedding, Tensor, embedding
from tinygpt.scratch.positions import apply_rotary, rotary_frequencies, sinusoidal_positions

SIZES = st.integers(1, 6).map(lambda pairs: 2 * pairs)


# ---- sinusoidal ---------------------------------------------------------------------------------


def test_first_rows_by_hand():
    table = sinusoidal_positions(3, 4)
    expected = [[math.sin(t), math.cos(t), math.sin(t / 100), math.cos(t / 100)] for t in range(3)]
    np.testing.assert_allclose(table, expected, rtol=0, atol=1e-15)


@pytest.mark.slow  # imports transformers
@pytest.mark.parametrize(("length", "dim"), [(1, 2), (50, 16), (128, 512)])
def test_table_equals_transformers(length, dim):
    """Marian keeps the sines in the first half and the cosines in the second."""
    from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding

    theirs = MarianSinusoidalPositionalEmbedding(length, dim).create_weight().numpy()
    ours = sinusoidal_positions(length, dim)
    np.testing.assert_allclose(ours[:, 0::2], theirs[:, : dim // 2], atol=1e-6)
    np.testing.assert_allclose(ours[:, 1::2], theirs[:, dim // 2 :], atol=1e-6)


@examples
@given(SIZES, st.floats(1, 1e6))
def test_dot_product_depends_on_distance_alone(dim, base):
    table = sinusoidal_positions(12, dim, base)
    products = table @ table.T
    for distance in range(12):
        diagonal = np.diagonal(products, distance)
        expected = np.cos(distance * rotary_frequencies(dim, base)).sum()
        np.testing.assert_allclose(diagonal, expected, atol=1e-12)


@examples
@given(SIZES, st.integers(0, 9))
def test_a_shift_is_one_matrix_for_all_positions(dim, shift):
    """What the paper gives as its reason for sines: P[t + k] is a linear function of P[t]."""
    table = sinusoidal_positions(20, dim)
    turn = np.zeros((dim, dim))
    for pair, angle in enumerate(shift * rotary_frequencies(dim)):
        block = [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]
        turn[2 * pair : 2 * pair + 2, 2 * pair : 2 * pair + 2] = block
    np.testing.assert_allclose(table[:10] @ turn, table[shift : shift + 10], atol=1e-12)


# ---- rotary -------------------------------------------------------------------------------------


def test_frequencies_by_hand():
    np.testing.assert_allclose(rotary_frequencies(4), [1, 0.01], rtol=1e-15)
    np.testing.assert_allclose(rotary_frequencies(6, base=8.0), [1, 0.5, 0.25], rtol=1e-15)


@pytest.mark.slow  # imports transformers
@pytest.mark.parametrize(("dim", "base"), [(2, 10_000.0), (64, 10_000.0), (64, 500_000.0)])
def test_equals_transformers(dim, base):
    from transformers import LlamaConfig
    from transformers.models.llama import modeling_llama as llama

    config = LlamaConfig(hidden_size=4 * dim, num_attention_heads=4, head_dim=dim)
    config.rope_parameters = {"rope_type": "default", "rope_theta": base}
    query, key = normal(0, 2, 4, 9, dim), normal(1, 2, 4, 9, dim)
    positions = torch.arange(3, 12)[None]
    tensors = [torch.tensor(array, dtype=torch.float32) for array in (query, key)]
    cos, sin = llama.LlamaRotaryEmbedding(config)(tensors[0], positions)
    theirs = llama.apply_rotary_pos_emb(*tensors, cos, sin)
    for ours, other in zip((query, key), theirs, strict=True):
        turned = apply_rotary(Tensor(ours), np.arange(3, 12), base=base)
        np.testing.assert_allclose(turned.data, other.numpy(), atol=2e-6)


@pytest.mark.slow  # imports transformers
def test_neighbouring_pairs_of_the_paper_are_the_same_in_another_order():
    """GPT-J turns features 2i and 2i + 1; sorting the even ones first gives ours."""
    from transformers.models.gptj import modeling_gptj as gptj

    x = torch.tensor(normal(0, 1, 7, 3, 8), dtype=torch.float32)  # (B, T, h, d)
    waves = gptj.create_sinusoidal_positions(7, 8)
    sin, cos = waves[None, :, :4], waves[None, :, 4:]
    theirs = gptj.apply_rotary_pos_emb(x, sin, cos).numpy()
    order = [0, 2, 4, 6, 1, 3, 5, 7]
    ours = apply_rotary(Tensor(x.numpy()[..., order].swapaxes(1, 2))).data.swapaxes(1, 2)
    np.testing.assert_allclose(ours, theirs[..., order], atol=1e-6)


def test_a_turn_is_a_product_of_complex_numbers():
    x = normal(0, 5, 8)
    pairs = x[:, :4] + 1j * x[:, 4:]
    turned = pairs * np.exp(1j * np.arange(5)[:, None] * rotary_frequencies(8))
    expected = np.concatenate([turned.real, turned.imag], axis=-1)
    np.testing.assert_allclose(apply_rotary(Tensor(x, dtype=np.float64)).data, expected, atol=1e-12)


@pytest.mark.parametrize("positions", [None, [[3], [7]], [5, 0, 5]])
def test_gradient(positions):
    def theirs(x):
        at = torch.arange(3) if positions is None else torch.tensor(positions)
        angles = at[..., None] * torch.tensor(rotary_frequencies(4))
        pairs = torch.complex(x[..., :2], x[..., 2:]) * torch.polar(torch.ones_like(angles), angles)
        return torch.cat([pairs.real, pairs.imag], dim=-1).float()

    at = None if positions is None else np.array(positions)
    assert_agrees(lambda x: apply_rotary(x, at), theirs, normal(0, 2, 3, 4))


@examples
@given(SIZES, st.integers(-200, 200), st.integers(0, 200), st.integers(0, 200))
def test_scores_depend_on_the_difference_alone(dim, shift, m, n):
    query, key = (Tensor(normal(seed, 1, dim), dtype=np.float64) for seed in (dim, dim + 1))

    def score(m, n):
        turned = apply_rotary(query, np.array([m])) @ apply_rotary(key, np.array([n])).T
        return turned.item()

    assert score(m + shift, n + shift) == pytest.approx(score(m, n), abs=1e-9)


@examples
@given(SIZES, st.integers(0, 100_000))
def test_lengths_stay_and_position_zero_changes_nothing(dim, position):
    x = normal(dim, 3, dim)
    turned = apply_rotary(Tensor(x, dtype=np.float64), np.array([0, position, -position])).data
    np.testing.assert_array_equal(turned[0], x[0])
    np.testing.assert_allclose((turned**2).sum(-1), (x**2).sum(-1), rtol=1e-12)


def test_one_position_at_a_time_gives_the_same_rows():
    x = Tensor(normal(0, 2, 6, 8))
    together = apply_rotary(x).data
    for t in range(6):
        alone = apply_rotary(x[:, t : t + 1], np.array([t])).data
        np.testing.assert_array_equal(alone[:, 0], together[:, t])


def test_types_and_inputs_stay():
    x = Tensor(normal(0, 3, 4), requires_grad=True)
    before = x.data.copy()
    out = apply_rotary(x)
    assert out.dtype == np.float32 and out.requires_grad
    np.testing.assert_array_equal(x.data, before)
    out.sum().backward()
    assert x.grad.dtype == np.float32
    assert sinusoidal_positions(3, 4).dtype == np.float64
    assert (x + sinusoidal_positions(3, 4)).dtype == np.float32


def test_angles_are_exact_far_out():
    """Position 1,000,003 as a float32 angle would be off by more than a hundredth."""
    one = Tensor([[1.0, 0.0]])
    turned = apply_rotary(one, np.array([1_000_003])).data[0]
    np.testing.assert_allclose(turned, [math.cos(1_000_003), math.sin(1_000_003)], atol=1e-7)


# ---- the table of tokens ------------------------------------------------------------------------


@examples
@given(st.lists(st.integers(0, 4), min_size=1, max_size=9))
def test_lookup_is_a_product_with_one_hot_rows(ids):
    ids = np.array(ids)
    table = normal(0, 5, 3)
    looked_up, multiplied = (Tensor(table, requires_grad=True, dtype=np.float64) for _ in range(2))
    first, second = embedding(looked_up, ids), Tensor(np.eye(5)[ids], dtype=np.float64) @ multiplied
    np.testing.assert_array_equal(first.data, second.data)
    upstream = normal(1, len(ids), 3)
    first.backward(upstream)
    second.backward(upstream)
    np.testing.assert_allclose(looked_up.grad, multiplied.grad, atol=1e-12)


def test_table_equals_pytorch_with_repeated_ids():
    ids = np.array([[2, 0, 2], [2, 4, 0]])
    assert_agrees(
        lambda table: embedding(table, ids),
        lambda table: torch.nn.functional.embedding(torch.tensor(ids), table),
        normal(0, 5, 3),
    )


def test_row_that_is_not_read_gets_no_gradient():
    table = Embedding(5, 3)
    (table(np.array([1, 3, 1])) * 2.0).sum().backward()
    np.testing.assert_array_equal(table.weight.grad.sum(axis=1), [0, 12, 0, 6, 0])


# ---- errors -------------------------------------------------------------------------------------

X = Tensor(np.zeros((2, 3, 4)))
ERRORS = {
    "rotary_frequencies: dim must be even, got 3": lambda: rotary_frequencies(3),
    "rotary_frequencies: dim must be a positive integer, got 0": lambda: rotary_frequencies(0),
    "rotary_frequencies: base must be a finite number, 1 or more, got 0.5": lambda: (
        rotary_frequencies(4, base=0.5)
    ),
    "sinusoidal_positions: num_positions must be a positive integer, got float 2.0": lambda: (
        sinusoidal_positions(2.0, 4)
    ),
    "sinusoidal_positions: dim must be even, got 5": lambda: sinusoidal_positions(2, 5),
    "apply_rotary: x must be a Tensor, got ndarray of float64 with shape (2, 4)": lambda: (
        apply_rotary(np.zeros((2, 4)))
    ),
    "apply_rotary: x must have shape (..., T, d), got (4,)": lambda: apply_rotary(X[0, 0]),
    "apply_rotary: the last axis of x must be even, got 3": lambda: apply_rotary(X[..., :3]),
    "apply_rotary: positions must be integers, got float64": lambda: apply_rotary(X, np.zeros(3)),
    "apply_rotary: positions of shape (4,) do not broadcast to (2, 3), the shape of x without "
    "its last axis": lambda: apply_rotary(X, np.arange(4)),
}


@pytest.mark.usefixtures("without_type_checks")
@pytest.mark.parametrize("message", ERRORS)
def test_errors_are_one_sentence(message):
    with pytest.raises((TypeError, ValueError)) as error:
        ERRORS[message]()
    assert str(error.value) == message


def test_shapes_are_checked():
    with pytest.raises(jaxtyping.TypeCheckError):
        apply_rotary(SimpleNamespace(data=np.zeros((2, 4))))

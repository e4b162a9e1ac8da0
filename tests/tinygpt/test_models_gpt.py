"""The PyTorch GPT: shapes, both attention paths, causality, initialisation, and bad input."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_gpt import PlainGPT
from tinygpt.models import GPT, MLP, MultiHeadAttention, TransformerBlock, attention_weights
from torch import nn
from torch.nn import functional as F


def small_gpt(**options) -> GPT:
    options = {"dropout_prob": 0.0, "seed": 0} | options
    return GPT(65, 32, 2, 4, 16, **options)


def ids(*shape, seed=0) -> torch.Tensor:
    return torch.randint(65, shape, generator=torch.Generator().manual_seed(seed))


def test_the_logits_are_those_of_the_same_model_written_plainly():
    model, plain = small_gpt(), PlainGPT(65, 32, 2, 4, 16)
    plain.load_state_dict(model.state_dict())
    tokens = ids(3, 16)
    torch.testing.assert_close(model(tokens), plain(tokens), atol=1e-6, rtol=1e-5)


def test_the_parameters_have_the_names_and_shapes_of_the_numpy_model():
    from tinygpt import scratch

    for tie in (False, True):
        numpy_model = scratch.GPT(65, 32, 2, 4, 16, tie_weights=tie)
        ours = {name: tuple(p.shape) for name, p in small_gpt(tie_weights=tie).named_parameters()}
        assert ours == {name: p.shape for name, p in numpy_model.named_parameters()}


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 4), st.integers(1, 16), st.sampled_from([1, 2, 4, 8]))
def test_fused_and_explicit_attention_agree(batch, seq_len, heads):
    attention = MultiHeadAttention(16, heads)
    x = torch.randn(batch, seq_len, 16, requires_grad=True)
    results = []
    for attention.fused_attention in (True, False):
        x.grad = None
        y = attention(x)
        y.square().sum().backward()
        results.append((y.detach(), x.grad.clone()))
    torch.testing.assert_close(*results, atol=1e-5, rtol=1e-5)


def test_attention_is_pytorchs_on_each_head():
    query, key, value = torch.randn(3, 2, 4, 7, 8)
    expected = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    torch.testing.assert_close(attention_weights(query, key) @ value, expected)


def test_weights_to_look_at_are_those_that_are_used():
    attention = MultiHeadAttention(16, 4).eval()
    x = torch.randn(2, 9, 16)
    value = attention._split_heads(attention.value(x))
    seen = attention.output((attention.weights(x) @ value).transpose(1, 2).flatten(2))
    torch.testing.assert_close(seen, attention(x))


def test_a_block_is_pytorchs_own_layer_with_the_norm_first():
    block = TransformerBlock(16, 4, dropout_prob=0.0)
    layer = nn.TransformerEncoderLayer(
        16, 4, 64, 0.0, F.gelu, norm_first=True, batch_first=True
    ).train()
    layer.activation = lambda x: F.gelu(x, approximate="tanh")
    parts = block.attention
    with torch.no_grad():
        layer.self_attn.in_proj_weight.copy_(
            torch.cat([parts.query.weight, parts.key.weight, parts.value.weight])
        )
        layer.self_attn.in_proj_bias.copy_(
            torch.cat([parts.query.bias, parts.key.bias, parts.value.bias])
        )
    layer.self_attn.out_proj.load_state_dict(parts.output.state_dict())
    for theirs, ours in [("linear1", "mlp.fc1"), ("linear2", "mlp.fc2"), ("norm1",) * 2]:
        getattr(layer, theirs).load_state_dict(block.get_submodule(ours).state_dict())
    x = torch.randn(2, 7, 16)
    mask = nn.Transformer.generate_square_subsequent_mask(7)
    torch.testing.assert_close(block(x), layer(x, src_mask=mask), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("fused", [True, False])
def test_changing_a_token_changes_no_earlier_logit(fused):
    model = small_gpt(fused_attention=fused)
    tokens = ids(1, 16)
    before = model(tokens)
    tokens[0, 9] = (tokens[0, 9] + 1) % 65
    changed = (model(tokens) != before).any(dim=-1)[0]
    assert changed.tolist() == [False] * 9 + [True] * 7


@pytest.mark.parametrize("fused", [True, False])
def test_dropout_acts_in_training_only(fused):
    model = small_gpt(dropout_prob=0.5, fused_attention=fused)
    tokens = ids(2, 16)
    assert not torch.equal(model(tokens), model(tokens))
    model.eval()
    assert torch.equal(model(tokens), model(tokens))
    for each in model.blocks:  # in training again, the attention alone drops
        each.attention.train()
    assert not torch.equal(model(tokens), model(tokens))


def test_tied_weights_are_one_tensor_counted_once():
    model, untied = small_gpt(tie_weights=True), small_gpt()
    assert model.head.weight.data_ptr() == model.token_embedding.weight.data_ptr()
    assert untied.num_parameters() - model.num_parameters() == 65 * 32
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    model.loss(ids(2, 8), ids(2, 8, seed=1)).backward()
    optimizer.step()
    assert torch.equal(model.head.weight, model.token_embedding.weight)


@pytest.mark.parametrize(
    "shape, count",
    [  # GPT-2's four sizes: transformers' GPT2LMHeadModel with the published configurations
        ((768, 12, 12), 124_439_808),
        ((1024, 24, 16), 354_823_168),
        ((1280, 36, 20), 774_030_080),
        ((1600, 48, 25), 1_557_611_200),
    ],
)
def test_the_published_shapes_have_the_published_counts(shape, count):
    with torch.device("meta"):
        assert GPT(50_257, *shape, tie_weights=True).num_parameters() == count


def test_initial_weights_are_gpt_2s():
    model = GPT(512, 256, 8, 4, 128, seed=0)
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            assert not parameter.any()
        elif "norm" in name:
            assert (parameter == 1).all()
        else:
            writes = name.endswith(("attention.output.weight", "mlp.fc2.weight"))
            expected = 0.02 / math.sqrt(2 * 8) if writes else 0.02
            assert parameter.std().item() == pytest.approx(expected, rel=0.03)
            assert abs(parameter.mean().item()) < 0.1 * expected


def test_a_seed_fixes_the_weights_and_leaves_other_random_numbers_alone():
    torch.manual_seed(5)
    first = small_gpt(seed=1).state_dict()
    second, other = small_gpt(seed=1).state_dict(), small_gpt(seed=2).state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not torch.equal(first["head.weight"], other["head.weight"])


def test_the_first_loss_is_that_of_guessing():
    loss = small_gpt().loss(ids(4, 16), ids(4, 16, seed=1))
    assert loss.item() == pytest.approx(math.log(65), abs=0.05)


def test_one_sequence_is_a_batch_of_one():
    model, tokens = small_gpt(), ids(7)
    assert torch.equal(model(tokens), model(tokens[None]))


@pytest.mark.parametrize(
    "options, message",
    [
        ({"vocab_size": 0}, "GPT: vocab_size must be a positive integer, got 0"),
        ({"num_heads": 5}, "MultiHeadAttention: num_heads=5 does not divide embed_dim=32"),
        ({"num_layers": 0}, "GPT: num_layers must be a positive integer, got 0"),
        ({"dropout_prob": 1.0}, "GPT: dropout_prob must be at least 0 and below 1, got 1.0"),
        ({"tie_weights": "yes"}, "GPT: tie_weights must be a bool, got str 'yes'"),
        ({"seed": -1}, "GPT: seed must be an integer from 0 to 9,223,372,036,854,775,807, got -1"),
        ({"fused_attention": 2}, "MultiHeadAttention: fused_attention must be a bool, got int 2"),
    ],
)
def test_a_shape_that_cannot_be_is_named(options, message, without_type_checks):
    shape = {"vocab_size": 65, "embed_dim": 32, "num_layers": 2, "num_heads": 4} | options
    with pytest.raises((TypeError, ValueError)) as caught:
        GPT(**shape)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "tokens, message",
    [
        (ids(1, 17), "GPT.forward: 17 tokens exceed max_seq_len=16; truncate the input or build "
         "the model with a longer max_seq_len"),
        (torch.tensor([[3, 65]]), "GPT.forward: tokens: id 65 is outside 0..64"),
        (torch.tensor([[3, -1]]), "GPT.forward: tokens: id -1 is outside 0..64"),
        (torch.zeros(1, 2), "GPT.forward: tokens must be a tensor of integers, "
         "got Tensor of torch.float32 with shape (1, 2)"),
        (torch.zeros(1, 0, dtype=torch.int64), "GPT.forward: tokens must have shape (B, T) or (T,) "
         "with B and T at least 1, got (1, 0)"),
        (np.zeros((1, 2), np.int64), "GPT.forward: tokens must be a tensor of integers, "
         "got ndarray of int64 with shape (1, 2)"),
    ],
)  # fmt: skip
def test_tokens_that_cannot_be_are_named(tokens, message, without_type_checks):
    with pytest.raises((TypeError, ValueError)) as caught:
        small_gpt()(tokens)
    assert str(caught.value) == message


def test_small_integers_are_tokens_too():
    model, tokens = small_gpt(), ids(2, 8)
    for dtype in (torch.int32, torch.int16, torch.uint8):
        assert torch.equal(model(tokens.to(dtype)), model(tokens))
    assert torch.isfinite(model.loss(tokens.int(), tokens.int()))


def test_targets_of_another_shape_are_named(without_type_checks):
    with pytest.raises(ValueError, match=r"targets must have the shape of tokens, \(2, 8\), got"):
        small_gpt().loss(ids(2, 8), ids(2, 7))


def test_the_mlp_has_the_hidden_width_it_is_given():
    assert MLP(8, 20).fc1.weight.shape == (20, 8)
    assert MLP(8).fc1.weight.shape == (32, 8)

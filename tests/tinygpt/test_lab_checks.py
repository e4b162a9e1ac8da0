"""Each demand of a check is needed: these answers are right in everything but one."""

import numpy as np
import pytest
from tinygpt import lab, scratch
from tinygpt.lab.grading import FAILED, grade
from tinygpt.scratch import GPT, Linear, Module, Tensor

WRONG = {}


def wrong(exercise, message):
    """Register an answer, and how the message about it begins."""

    def register(answer):
        WRONG[f"{exercise}-{answer.__name__}"] = (exercise, answer, message)
        return answer

    return register


# ---- causal mask --------------------------------------------------------------------------------


@wrong("causal_mask", "Position 1 of 4 should see the positions [0, 1], got [1]")
def one_hole(seq_len):
    mask = np.tri(seq_len, dtype=bool)
    mask[1:2, :1] = False
    return mask


@wrong("causal_mask", "Position 4 of 7 should see the positions [0, 1, 2, 3, 4], got [1, 2, 3, 4]")
def window_of_four(seq_len):
    mask = np.tri(seq_len, dtype=bool)
    return mask & ~np.tri(seq_len, k=-4, dtype=bool)


@wrong("causal_mask", "The mask has the right pattern and should hold booleans, got the numbers")
def integers_for_other_lengths(seq_len):
    return np.tri(seq_len, dtype=bool if seq_len == 4 else np.int64)


# ---- LayerNorm ----------------------------------------------------------------------------------


@wrong("layer_norm", "LayerNorm should have a part self.weight, got eps, gamma, beta")
class OtherNames(Module):
    def __init__(self, normalized_shape, eps=1e-5):
        self.eps = eps
        self.gamma = Tensor(np.ones(normalized_shape), requires_grad=True)
        self.beta = Tensor(np.zeros(normalized_shape), requires_grad=True)

    def forward(self, x):
        return scratch.layer_norm(x, self.gamma, self.beta, self.eps)


@wrong("layer_norm", "LayerNorm should have a part self.bias, got eps, weight")
class WithoutBias(scratch.LayerNorm):
    def __init__(self, normalized_shape, eps=1e-5):
        super().__init__(normalized_shape, eps)
        del self.bias


@wrong("layer_norm", "LayerNorm(4).weight should have the shape (4,), got (1, 4)")
class WeightWithTwoAxes(scratch.LayerNorm):
    def __init__(self, normalized_shape, eps=1e-5):
        super().__init__(normalized_shape, eps)
        self.weight = Tensor(np.ones((1, normalized_shape)), requires_grad=True)

    def forward(self, x):
        return scratch.layer_norm(x, self.weight[0], self.bias, self.eps)


@wrong("layer_norm", "LayerNorm(4).bias should have the shape (4,), got (1, 4)")
class BiasWithTwoAxes(scratch.LayerNorm):
    def __init__(self, normalized_shape, eps=1e-5):
        super().__init__(normalized_shape, eps)
        self.bias = Tensor(np.zeros((1, normalized_shape)), requires_grad=True)

    def forward(self, x):
        return scratch.layer_norm(x, self.weight, self.bias[0], self.eps)


@wrong("layer_norm", "LayerNorm of an input of shape (5,); the largest difference should be below")
class OneScaleForAll(scratch.LayerNorm):
    def forward(self, x):
        ones = Tensor(np.ones(self.weight.shape))
        return scratch.layer_norm(x, ones * self.weight.mean(), self.bias, self.eps)


@wrong("layer_norm", "LayerNorm should return the shape (2, 4), got (4, 2)")
class Turned(scratch.LayerNorm):
    def forward(self, x):
        return super().forward(x).T


@wrong("layer_norm", "LayerNorm should return a Tensor, got ndarray")
class GivesAnArray(scratch.LayerNorm):
    def forward(self, x):
        return super().forward(x).data


@wrong("layer_norm", "LayerNorm should be made of Tensor operations, got no graph")
class WithoutGraph(scratch.LayerNorm):
    def forward(self, x):
        return super().forward(x).detach()


@wrong("layer_norm", "After backward every parameter should have a gradient; LayerNorm gave none")
class WeightOutsideTheGraph(scratch.LayerNorm):
    def forward(self, x):
        return scratch.layer_norm(x, self.weight.detach(), self.bias, self.eps)


@wrong("layer_norm", "The gradient should reach the input of LayerNorm, got None")
class InputOutsideTheGraph(scratch.LayerNorm):
    def forward(self, x):
        return super().forward(x.detach())


@wrong("layer_norm", "Stretching a row changes nothing, so the gradient along the row should be")
class ConstantVariance(scratch.LayerNorm):
    def forward(self, x):
        std = np.sqrt(x.data.var(axis=-1, keepdims=True) + self.eps)
        return (x - x.mean(axis=-1, keepdims=True)) / std * self.weight + self.bias


# ---- MLP ----------------------------------------------------------------------------------------


@wrong("mlp", "MLP should have a part self.fc1, got up, down")
class UpAndDown(Module):
    def __init__(self, embed_dim, hidden_dim=None, dropout_prob=0.1):
        self.up = Linear(embed_dim, 4 * embed_dim)
        self.down = Linear(4 * embed_dim, embed_dim)

    def forward(self, x):
        return self.down(scratch.gelu(self.up(x)))


@wrong("mlp", "MLP should have a part self.fc2, got fc1")
class OneMap(Module):
    def __init__(self, embed_dim, hidden_dim=None, dropout_prob=0.1):
        self.fc1 = Linear(embed_dim, embed_dim)

    def forward(self, x):
        return scratch.gelu(self.fc1(x))


@wrong("mlp", "MLP(4).fc2.weight should have the shape (4, 16), got (16, 16)")
class StaysWide(scratch.MLP):
    def __init__(self, embed_dim, hidden_dim=None, dropout_prob=0.1):
        super().__init__(embed_dim, hidden_dim, dropout_prob)
        self.fc2 = Linear(4 * embed_dim, 4 * embed_dim)


@wrong("mlp", "MLP of an input of shape (3,); the largest difference should be below 0.02, got")
class SecondBiasUnused(scratch.MLP):
    def forward(self, x):
        return self.dropout(scratch.linear(scratch.gelu(self.fc1(x)), self.fc2.weight))


@wrong("mlp", "After backward every parameter should have a gradient; MLP gave none to fc1.weight")
class FirstMapOutsideTheGraph(scratch.MLP):
    def forward(self, x):
        return self.dropout(self.fc2(scratch.gelu(self.fc1(x).detach())))


# ---- block --------------------------------------------------------------------------------------


class Block(scratch.TransformerBlock):
    """The right block, to be spoilt."""


@wrong("transformer_block", "TransformerBlock should have a part self.norm2, got norm1, attention")
class WithoutNorm2(Block):
    def __init__(self, embed_dim, num_heads, mlp_ratio=4, dropout_prob=0.1):
        super().__init__(embed_dim, num_heads, mlp_ratio, dropout_prob)
        del self.norm2


@wrong("transformer_block", "With mlp_ratio=2 the block should have 600 parameters, got 872")
class RatioIgnored(Block):
    def __init__(self, embed_dim, num_heads, mlp_ratio=4, dropout_prob=0.1):
        super().__init__(embed_dim, num_heads, 4, dropout_prob)


@wrong("transformer_block", "Without a mask and with equal scores, position 0 of 4 should give the")
class AlwaysCausal(Block):
    def forward(self, x, mask=None):
        return super().forward(x, scratch.create_causal_mask(x.shape[1]))


@wrong("transformer_block", "Changing position 1 should leave the earlier ones as they were")
class LeaksALittle(Block):
    def forward(self, x, mask=None):
        return super().forward(x, mask) + x.mean(axis=1, keepdims=True) * 1e-4


@wrong("transformer_block", "TransformerBlock of an input of shape (1, 1, 4); the largest")
class AttentionTwiceAsStrong(Block):
    def forward(self, x, mask=None):
        x = x + self.attention(self.norm1(x), mask) * (1 if x.shape[-1] % 8 == 0 else 2)
        return x + self.mlp(self.norm2(x))


@wrong("transformer_block", "After backward every parameter should have a gradient; Transformer")
class AttentionOutsideTheGraph(Block):
    def forward(self, x, mask=None):
        x = x + self.attention(self.norm1(x), mask).detach()
        return x + self.mlp(self.norm2(x))


@wrong("transformer_block", "In training, with dropout_prob=0.5, two calls should differ")
class DropoutNotHandedOn(Block):
    def __init__(self, embed_dim, num_heads, mlp_ratio=4, dropout_prob=0.1):
        super().__init__(embed_dim, num_heads, mlp_ratio, 0.0)


@wrong("transformer_block", "In eval mode two calls on the same input should agree; they differ")
class AlwaysTraining(Block):
    def forward(self, x, mask=None):
        self.train()
        return super().forward(x, mask)


@wrong("transformer_block", "The attention of TransformerBlock should have a part self.query")
class OtherAttention(Block):
    def __init__(self, embed_dim, num_heads, mlp_ratio=4, dropout_prob=0.1):
        super().__init__(embed_dim, num_heads, mlp_ratio, dropout_prob)
        self.attention = Module()
        self.attention.qkv = Linear(embed_dim, 4 * embed_dim)


@wrong("transformer_block", "The block's parameters should have the names and shapes of the book's")
class OtherMLP(Block):
    def __init__(self, embed_dim, num_heads, mlp_ratio=4, dropout_prob=0.1):
        super().__init__(embed_dim, num_heads, mlp_ratio, dropout_prob)
        self.mlp.up = self.mlp.fc1
        del self.mlp.fc1
        self.mlp.forward = lambda x: self.mlp.dropout(self.mlp.fc2(scratch.gelu(self.mlp.up(x))))


@wrong("transformer_block", "The norm1 of TransformerBlock should have a part self.weight, got eps")
class OtherNorm(Block):
    def __init__(self, embed_dim, num_heads, mlp_ratio=4, dropout_prob=0.1):
        super().__init__(embed_dim, num_heads, mlp_ratio, dropout_prob)
        self.norm1 = OtherNames(embed_dim)


# ---- generate -----------------------------------------------------------------------------------


def altered(before=None, after=None, **fixed):
    """The book's generation with its arguments or its result changed."""

    def generate(model, prompt_tokens, max_new_tokens=50, temperature=1.0, *, seed=None):
        new, seed = fixed.get("least", max_new_tokens), fixed.get("seed", seed)
        new = max(new, max_new_tokens)
        out = GPT.generate(model, prompt_tokens, new, temperature, seed=seed)
        return out if after is None else after(out, prompt_tokens)

    return generate


for name, answer, message in [
    (
        "new_tokens_first",
        altered(after=lambda out, prompt: np.roll(out, out.shape[1] - prompt.shape[1], axis=1)),
        "The result should start with its prompt [1, 2, 3], got [4, 5, 6]",
    ),
    (
        "at_least_one",
        altered(least=1),
        "max_new_tokens=0 should give back the prompts, got the shape (2, 4)",
    ),
    (
        "stops_counting",
        altered(after=lambda out, prompt: np.minimum(out, 7 if len(out) == 1 else 99)),
        "Past max_seq_len the count should go on to [1, 2, 3, 4, 5, 6, 7, 8], "
        "got [1, 2, 3, 4, 5, 6, 7, 7]",
    ),
    ("one_seed_for_all", altered(seed=3), "Another seed should give other tokens; seeds 6 and 7"),
    ("seed_ignored", altered(seed=None), "The same seed should give the same tokens; they differ"),
    (
        "gives_a_list",
        altered(after=lambda out, prompt: out.tolist()),
        "generate should return a NumPy array, got list",
    ),
    (
        "gives_floats",
        altered(after=lambda out, prompt: out * 1.0),
        "generate should return integers, got float64",
    ),
    (
        "changes_its_prompt",
        altered(after=lambda out, prompt: (out, prompt.fill(0))[0]),
        "generate should leave its prompt as it was",
    ),
]:
    answer.__name__ = name
    wrong("generate", message)(answer)


@wrong("generate", "A small GPT at temperature 0 should write [3, 1, 4, ")
@scratch.no_grad()
def rounds_the_scores(model, prompt_tokens, max_new_tokens=50, temperature=1.0, *, seed=None):
    forward = model.forward
    model.forward = lambda tokens: Tensor(forward(tokens).data.round(1))
    try:
        return GPT.generate(model, prompt_tokens, max_new_tokens, temperature, seed=seed)
    finally:
        model.forward = forward


@pytest.mark.parametrize("case", WRONG)
def test_an_answer_that_is_almost_right_fails(case):
    exercise, answer, message = WRONG[case]
    result = grade(lab.exercise(exercise), answer)
    assert result.status == FAILED
    assert result.message.startswith(message), result.message


@pytest.mark.parametrize("exercise", ["transformer_block", "generate"])
def test_what_the_almost_right_answers_start_from_is_right(exercise):
    answer = Block if exercise == "transformer_block" else altered()
    assert grade(lab.exercise(exercise), answer).passed

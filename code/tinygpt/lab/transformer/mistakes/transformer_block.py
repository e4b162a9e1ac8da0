"""Wrong transformer blocks."""

import math

from tinygpt import scratch
from tinygpt.lab.definitions import Mistake
from tinygpt.scratch import MLP, LayerNorm, Module, MultiHeadAttention, Tensor, softmax


class _Parts(Module):
    """What most of them get right: the four parts."""

    def __init__(self, embed_dim, num_heads, mlp_ratio=4, dropout_prob=0.1):
        self.norm1 = LayerNorm(embed_dim)
        self.attention = MultiHeadAttention(embed_dim, num_heads, dropout_prob)
        self.norm2 = LayerNorm(embed_dim)
        self.mlp = MLP(embed_dim, int(mlp_ratio * embed_dim), dropout_prob)


class PostNorm(_Parts):
    def forward(self, x, mask=None):
        x = self.norm1(x + self.attention(x, mask))
        return self.norm2(x + self.mlp(x))


class WithoutFirstResidual(_Parts):
    def forward(self, x, mask=None):
        x = self.attention(self.norm1(x), mask)
        return x + self.mlp(self.norm2(x))


class WithoutSecondResidual(_Parts):
    def forward(self, x, mask=None):
        x = x + self.attention(self.norm1(x), mask)
        return self.mlp(self.norm2(x))


class NormalisedStream(_Parts):
    def forward(self, x, mask=None):
        x = self.norm1(x)
        x = x + self.attention(x, mask)
        x = self.norm2(x)
        return x + self.mlp(x)


class Parallel(_Parts):
    def forward(self, x, mask=None):
        return x + self.attention(self.norm1(x), mask) + self.mlp(self.norm2(x))


class WithoutSecondNorm(_Parts):
    def forward(self, x, mask=None):
        x = x + self.attention(self.norm1(x), mask)
        return x + self.mlp(x)


class MLPFirst(_Parts):
    def forward(self, x, mask=None):
        x = x + self.mlp(self.norm2(x))
        return x + self.attention(self.norm1(x), mask)


class MaskDropped(_Parts):
    def forward(self, x, mask=None):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class OneNorm(_Parts):
    def __init__(self, embed_dim, num_heads, mlp_ratio=4, dropout_prob=0.1):
        super().__init__(embed_dim, num_heads, mlp_ratio, dropout_prob)
        self.norm2 = self.norm1

    def forward(self, x, mask=None):
        x = x + self.attention(self.norm1(x), mask)
        return x + self.mlp(self.norm2(x))


class _MaskedAfterwards(MultiHeadAttention):
    """Attention that takes the mask into account after the softmax."""

    def forward(self, x, mask=None):
        query, key, value = (
            self._split_heads(part(x)) for part in (self.query, self.key, self.value)
        )
        weights = softmax(query @ key.swapaxes(-1, -2) / math.sqrt(query.shape[-1]))
        if mask is not None:
            weights = weights.masked_fill(~mask, 0.0)
        return self.output(self._merge_heads(weights @ value))


class MaskAfterSoftmax(Module):
    def __init__(self, embed_dim, num_heads, mlp_ratio=4, dropout_prob=0.1):
        self.norm1 = LayerNorm(embed_dim)
        self.attention = _MaskedAfterwards(embed_dim, num_heads, dropout_prob)
        self.norm2 = LayerNorm(embed_dim)
        self.mlp = MLP(embed_dim, int(mlp_ratio * embed_dim), dropout_prob)

    def forward(self, x, mask=None):
        x = x + self.attention(self.norm1(x), mask)
        return x + self.mlp(self.norm2(x))


class SecondNormOverwrites(_Parts):
    def forward(self, x, mask=None):
        x = x + self.attention(self.norm1(x), mask)
        x = self.norm2(x)
        return x + self.mlp(x)


class FirstNormTwice(_Parts):
    def forward(self, x, mask=None):
        x = x + self.attention(self.norm1(x), mask)
        return x + self.mlp(self.norm1(x))


class MaskTransposed(_Parts):
    def forward(self, x, mask=None):
        mask = None if mask is None else mask.T
        x = x + self.attention(self.norm1(x), mask)
        return x + self.mlp(self.norm2(x))


class MaskInverted(_Parts):
    def forward(self, x, mask=None):
        mask = None if mask is None else ~mask
        x = x + self.attention(self.norm1(x), mask)
        return x + self.mlp(self.norm2(x))


class AttentionDropoutMissing(_Parts):
    def __init__(self, embed_dim, num_heads, mlp_ratio=4, dropout_prob=0.1):
        super().__init__(embed_dim, num_heads, mlp_ratio, dropout_prob)
        self.attention = MultiHeadAttention(embed_dim, num_heads)

    forward = scratch.TransformerBlock.forward


class MLPDropoutMissing(_Parts):
    def __init__(self, embed_dim, num_heads, mlp_ratio=4, dropout_prob=0.1):
        super().__init__(embed_dim, num_heads, mlp_ratio, dropout_prob)
        self.mlp = MLP(embed_dim, int(mlp_ratio * embed_dim))

    forward = scratch.TransformerBlock.forward


class GraphCut(_Parts):
    def forward(self, x, mask=None):
        x = Tensor(x.data + self.attention(self.norm1(x), mask).data)
        return x + self.mlp(self.norm2(x))


class NothingReturned(_Parts):
    def forward(self, x, mask=None):
        x = x + self.attention(self.norm1(x), mask)
        x = x + self.mlp(self.norm2(x))


_READS = "The third feature is 4 and attention adds -2; normalised, the MLP should read 0.45, got "

MISTAKES = (
    Mistake(
        "one_norm",
        OneNorm,
        "TransformerBlock(8, 2) should have 872 parameters, got 856",
        "Both parts share one LayerNorm, so 8 weights and 8 biases are missing. Attention and "
        "MLP read the stream at different points and need different scales: make two.",
        (_Parts,),
    ),
    Mistake(
        "mlp_first",
        MLPFirst,
        "The block should call attention then mlp, once each, got mlp then attention",
        "The MLP comes before the attention. A stack of such blocks learns too, but the first "
        "MLP sees single tokens without context, and weights of a GPT do not fit.",
        (_Parts,),
    ),
    Mistake(
        "post_norm",
        PostNorm,
        "Attention should read a normalised input, of standard deviation 1.00, got 4.00",
        "This is the post-norm order of the first Transformer: attention reads the raw stream, "
        "and each sum is normalised. The normalisations then lie on the residual path itself, "
        "and in a deep stack the gradient shrinks on its way to the first block. "
        "Normalise what the part reads: `x + self.attention(self.norm1(x), mask)`.",
        (_Parts,),
    ),
    Mistake(
        "no_first_residual",
        WithoutFirstResidual,
        _READS + "-1.00",
        "What attention found replaces x instead of being added to it: the 4 is gone, and the "
        "MLP reads the normalised -2 alone. Each position then forgets its own token unless "
        "attention copies it.",
        (_Parts,),
    ),
    Mistake(
        "normalised_stream",
        NormalisedStream,
        _READS + "-0.45",
        "`x = self.norm1(x)` writes over the residual stream, so attention's -2 was added to a "
        "normalised 1, not to 4. Only a copy goes through the norm: the stream keeps its scale "
        "and its free path for the gradient.",
        (_Parts,),
    ),
    Mistake(
        "parallel",
        Parallel,
        _READS + "1.00",
        "Attention and MLP read the same input side by side. Some models do this to save time, "
        "but here the MLP should work on what attention has brought: it reads the stream after "
        "the first addition.",
        (_Parts,),
    ),
    Mistake(
        "no_second_norm",
        WithoutSecondNorm,
        _READS + "2.00",
        "The MLP reads the raw stream. The stream grows with every block that adds to it, so "
        "deep in a stack the MLP would read numbers far larger than those it started with. Put "
        "`self.norm2` before it.",
        (_Parts,),
    ),
    Mistake(
        "no_second_residual",
        WithoutSecondResidual,
        "The third feature is 4, attention adds -2 and the MLP 0.5; it should become 2.50, "
        "got 0.50",
        "The MLP's result replaces the stream instead of being added to it. Whatever the MLP "
        "does not pass on is lost to every later block.",
        (_Parts,),
    ),
    Mistake(
        "mask_dropped",
        MaskDropped,
        "With a causal mask and equal scores, position 1 of 4 should give the later positions "
        "the weight 0.00, got 0.50",
        "The mask is not handed on to the attention, so position 1 shares its weight equally "
        "among all four positions, half of it with the two that come later. In training each "
        "position could read the token that it is asked to predict. Write "
        "`self.attention(..., mask)`.",
        (_Parts,),
    ),
    Mistake(
        "mask_after_softmax",
        MaskAfterSoftmax,
        "With a causal mask and equal scores, the weights of position 1 of 4 should sum to 1.00, "
        "got 0.50",
        "The mask was applied after the softmax. The later positions get no weight, but they "
        "were counted in the softmax's sum: position 1 keeps two of four quarters. The result is "
        "too small, and its size still tells something about the future. Set the scores to "
        "minus infinity before the softmax, as `self.attention` does with its mask.",
        (_MaskedAfterwards,),
    ),
    Mistake(
        "second_norm_overwrites",
        SecondNormOverwrites,
        "The third feature is 4, attention adds -2 and the MLP 0.5; it should become 2.50, "
        "got 0.95",
        "`x = self.norm2(x)` writes over the residual stream, so the MLP's 0.5 was added to the "
        "normalised 0.45, not to 2. Normalise a copy: `x + self.mlp(self.norm2(x))`.",
        (_Parts,),
    ),
    Mistake(
        "first_norm_twice",
        FirstNormTwice,
        "With every weight of norm1 at 2 and of norm2 at 3, the MLP should read 1.34, got 0.89",
        "The MLP reads through `norm1`, and `norm2` is never used. At the start the two norms "
        "are alike, so nothing shows until they are trained: norm2's parameters get no gradient. "
        "Write `self.mlp(self.norm2(x))`.",
        (_Parts,),
    ),
    Mistake(
        "mask_transposed",
        MaskTransposed,
        "With a causal mask and equal scores, position 1 of 4 should give the later positions "
        "the weight 0.00, got 0.67",
        "The mask is turned over: position 1 sees itself and the two after it, each with a third "
        "of the weight. The mask that is handed in is right already. Hand it on as it is.",
        (_Parts,),
    ),
    Mistake(
        "mask_inverted",
        MaskInverted,
        "With a causal mask and equal scores, position 1 of 4 should give the later positions "
        "the weight 0.00, got 1.00",
        "The mask is inverted: position 1 sees the two positions after it and neither itself nor "
        "the first. In this book True means that a position may attend, so the mask is handed on "
        "as it is, without `~`.",
        (_Parts,),
    ),
    Mistake(
        "attention_dropout_missing",
        AttentionDropoutMissing,
        "In training, with dropout_prob=0.5, two calls should differ in what self.attention adds; "
        "they agree",
        "`dropout_prob` does not reach the attention, which drops nothing unless it is told to. "
        "Write `MultiHeadAttention(embed_dim, num_heads, dropout_prob)`.",
        (_Parts,),
    ),
    Mistake(
        "mlp_dropout_missing",
        MLPDropoutMissing,
        "With dropout_prob=0 two calls in training should agree; they differ",
        "`dropout_prob` does not reach the MLP, which then drops one number in ten whatever the "
        "block was asked for. Write `MLP(embed_dim, hidden_dim, dropout_prob)`.",
        (_Parts,),
    ),
    Mistake(
        "graph_cut",
        GraphCut,
        "After backward every parameter should have a gradient; TransformerBlock gave none to "
        "norm1.weight",
        "`Tensor(... .data)` has the values and not their history. Backward goes through the MLP "
        "and ends there, so the attention and every block before this one learn nothing. Add "
        "the Tensors themselves.",
        (_Parts,),
    ),
    Mistake(
        "nothing_returned",
        NothingReturned,
        "TransformerBlock should return a Tensor, got None",
        "`forward` computes the result and does not hand it back. A Python function without a "
        "`return` gives None.",
        (_Parts,),
    ),
)

"""The exercises of the chapter The Transformer."""

from tinygpt import scratch
from tinygpt.lab.definitions import Chapter, Exercise
from tinygpt.lab.transformer import (
    checks,
    checks_block,
    checks_drawn,
    checks_generate,
    solutions,
    stubs,
)
from tinygpt.lab.transformer.mistakes import (
    causal_mask,
    drawing,
    generate,
    layer_norm,
    mlp,
    transformer_block,
)

CHAPTER = Chapter(
    name="transformer",
    title="The Transformer",
    stubs=stubs,
    exercises=(
        Exercise(
            name="layer_norm",
            symbol="LayerNorm",
            title="Layer normalisation",
            goal="Write `LayerNorm(normalized_shape, eps)`: give each row mean 0 and variance 1 "
            "over its features, then scale and shift them.",
            section="sec-layernorm",
            section_title="Layer normalisation",
            stub=stubs.LayerNorm,
            solution=solutions.LayerNorm,
            book=scratch.LayerNorm,
            checks=(
                checks.test_unit_layer_norm,
                checks.test_shapes_layer_norm,
                checks.test_gradient_layer_norm,
                checks_drawn.test_drawn_layer_norm,
            ),
            hints=(
                "In `__init__`, keep eps and make two parameters: `Tensor(np.ones(...), "
                "requires_grad=True)` for the weight, and zeros for the bias. In `forward` there "
                "are four steps: mean, deviations, variance, division.",
                "Take every mean over the features: `x.mean(axis=-1, keepdims=True)`. "
                "`keepdims` leaves an axis of length 1, so that the result can be subtracted "
                "from x.",
                "The variance is the mean of the squared deviations. Divide the deviations by "
                "`(variance + self.eps).sqrt()`, then multiply by the weight and add the bias.",
            ),
            mistakes=layer_norm.MISTAKES,
        ),
        Exercise(
            name="causal_mask",
            symbol="create_causal_mask",
            title="A mask that hides the future",
            goal="Write `create_causal_mask(seq_len)`: a square of booleans that lets each "
            "position attend to itself and to the ones before it.",
            section="sec-attention",
            section_title="Attention that looks back",
            stub=stubs.create_causal_mask,
            solution=scratch.create_causal_mask,
            book=scratch.create_causal_mask,
            checks=(
                checks.test_unit_causal_mask,
                checks.test_lengths_causal_mask,
                checks_drawn.test_drawn_causal_mask,
            ),
            hints=(
                "Write the mask for four tokens on paper first. Rows are the positions that "
                "look, columns the positions that are looked at. Which entries are True in the "
                "first row, and which in the last?",
                "Row i is True in columns 0 to i: a triangle with its diagonal. NumPy makes "
                "triangles with `np.tri`, `np.tril` and `np.triu`.",
                "`np.tri(n)` has ones on and below the diagonal, as floats. It takes a `dtype`.",
            ),
            mistakes=causal_mask.MISTAKES,
        ),
        Exercise(
            name="mlp",
            symbol="MLP",
            title="The MLP",
            goal="Write `MLP(embed_dim, hidden_dim, dropout_prob)`: widen each position to four "
            "times its width, apply a GELU, narrow it again.",
            section="sec-mlp",
            section_title="The MLP",
            stub=stubs.MLP,
            solution=scratch.MLP,
            book=scratch.MLP,
            checks=(
                checks.test_unit_mlp,
                checks.test_dropout_mlp,
                checks.test_shapes_mlp,
                checks_drawn.test_drawn_mlp,
            ),
            hints=(
                "Three parts are needed: a `Linear` that widens, called `fc1`, a `Linear` that "
                "narrows, called `fc2`, and a `Dropout`. When `hidden_dim` is None it is "
                "`4 * embed_dim`.",
                "In `forward` the data goes through fc1, then `gelu`, then fc2, then dropout. "
                "Nothing is added to x here.",
            ),
            mistakes=mlp.MISTAKES,
        ),
        Exercise(
            name="transformer_block",
            symbol="TransformerBlock",
            title="The transformer block",
            goal="Write `TransformerBlock(embed_dim, num_heads, mlp_ratio, dropout_prob)`: "
            "attention and MLP, each reading a normalised copy of the residual stream and adding "
            "to it.",
            section="sec-block",
            section_title="The residual stream and the block",
            stub=stubs.TransformerBlock,
            solution=scratch.TransformerBlock,
            book=scratch.TransformerBlock,
            checks=(
                checks_block.test_unit_transformer_block,
                checks_block.test_causal_transformer_block,
                checks_block.test_dropout_transformer_block,
                checks_block.test_shapes_transformer_block,
                checks_drawn.test_drawn_transformer_block,
            ),
            hints=(
                "Make four parts: norm1, attention, norm2, mlp. The attention is given: "
                "`MultiHeadAttention(embed_dim, num_heads, dropout_prob)`. The MLP's hidden "
                "width is `int(mlp_ratio * embed_dim)`.",
                "x itself is never normalised and never replaced. Both steps have the form "
                "x = x + part(norm(x)).",
                "The mask belongs to the attention alone: `self.attention(self.norm1(x), mask)`.",
            ),
            mistakes=transformer_block.MISTAKES,
        ),
        Exercise(
            name="generate",
            symbol="generate",
            title="Generation",
            goal="Write `generate(model, prompt_tokens, max_new_tokens, temperature, seed=...)`: "
            "draw the next token from the model's scores, append it, repeat.",
            section="sec-generate",
            section_title="Generating text",
            stub=stubs.generate,
            solution=solutions.generate,
            book=scratch.GPT.generate,
            checks=(
                checks_generate.test_unit_generate,
                checks_generate.test_context_generate,
                checks_generate.test_temperature_generate,
                checks_generate.test_drawn_generate,
                checks_generate.test_rows_generate,
                checks_generate.test_defaults_generate,
            ),
            hints=(
                "A loop of `max_new_tokens` steps. In each, give the model the tokens so far, at "
                "most the last `model.max_seq_len` of them, take the scores at the last position, "
                "`logits[:, -1]`, choose one token per row, and append it with `np.concatenate`.",
                "Around the loop: remember `model.training`, call `model.eval()`, and put the "
                "mode back at the end. Decorate the function with `@no_grad()`.",
                "To choose: at temperature 0 take the argmax. Otherwise subtract each row's "
                "largest score, divide by the temperature, take `np.exp`, and divide by the sum. "
                "These are probabilities.",
                "To draw from probabilities for all rows at once: take `p.cumsum(axis=-1)` and "
                "one `rng.random((B, 1))` per row; the token is the number of cumulative "
                "sums that are not above it. Make the rng once, before the loop.",
            ),
            mistakes=generate.MISTAKES + drawing.MISTAKES,
        ),
    ),
)

"""The exercises of the chapter The GPT in PyTorch."""

from tinygpt import models
from tinygpt.lab.definitions import Chapter, Exercise
from tinygpt.lab.gpt import checks, checks_drawn, checks_weights, solutions, stubs
from tinygpt.lab.gpt.mistakes import (
    causal_attention,
    count_parameters,
    gpt_model,
    init_weights,
    tie_weights,
)

CHAPTER = Chapter(
    name="gpt",
    title="The GPT in PyTorch",
    stubs=stubs,
    exercises=(
        Exercise(
            name="causal_attention",
            symbol="causal_attention",
            title="Attention, written out",
            goal="Write `causal_attention(query, key, value)` for tensors of shape (B, h, T, d_k): "
            "scaled matches, the mask, the softmax, the average of the values.",
            section="sec-gpt-torch-attention",
            section_title="Attention, written out and fused",
            stub=stubs.causal_attention,
            solution=solutions.causal_attention,
            book=solutions.causal_attention,
            checks=(
                checks.test_unit_causal_attention,
                checks.test_shapes_causal_attention,
                checks.test_gradient_causal_attention,
                checks_drawn.test_drawn_causal_attention,
            ),
            hints=(
                "Four steps: `query @ key.transpose(-2, -1)`, divided by the root of the last "
                "axis's length; hide the future; softmax over the keys; `@ value`. `@` works on "
                "the last two axes and leaves batch and heads alone.",
                "`torch.ones(T, T, dtype=torch.bool).tril()` is True for the past. "
                "`scores.masked_fill(mask, -math.inf)` fills where its mask is True, so it wants "
                "the opposite: `~`.",
                "The softmax runs over the keys, the last axis: `.softmax(dim=-1)`.",
            ),
            mistakes=causal_attention.MISTAKES,
        ),
        Exercise(
            name="init_weights",
            symbol="init_weights",
            title="GPT-2's first weights",
            goal="Write `init_weights(model)`: small normal matrices, smaller ones where a block "
            "writes to the residual stream, zero biases, norms that begin as they are.",
            section="sec-gpt-torch-init",
            section_title="How small the weights start",
            stub=stubs.init_weights,
            solution=solutions.init_weights,
            book=solutions.init_weights,
            checks=(
                checks_weights.test_unit_init_weights,
                checks_weights.test_draws_init_weights,
                checks_weights.test_depth_init_weights,
                checks_drawn.test_drawn_init_weights,
            ),
            hints=(
                "Go through `model.named_parameters()` once. The name tells a bias, `ndim` tells a "
                "matrix from the weight of a LayerNorm, and the end of the name tells the two "
                "matrices that write to the stream.",
                "`parameter.normal_(0.0, 0.02)`, `.zero_()` and `.fill_(1.0)` change a parameter "
                "in place. PyTorch allows it under `@torch.no_grad()`.",
                "`name.endswith(('attention.output.weight', 'mlp.fc2.weight'))` finds the writers; "
                "theirs is `0.02 / math.sqrt(2 * len(model.blocks))`.",
            ),
            mistakes=init_weights.MISTAKES,
        ),
        Exercise(
            name="gpt_model",
            symbol="GPT",
            title="The decoder",
            goal="Write `GPT(vocab_size, embed_dim, num_layers, num_heads, max_seq_len)` as an "
            "nn.Module: two embeddings, L blocks, a last norm, the head.",
            section="sec-gpt-torch-model",
            section_title="The whole decoder",
            stub=stubs.GPT,
            solution=solutions.GPT,
            book=models.GPT,
            checks=(
                checks.test_unit_gpt_model,
                checks.test_blocks_gpt_model,
                checks.test_training_gpt_model,
                checks_drawn.test_drawn_gpt_model,
            ),
            hints=(
                "Begin with `super().__init__()`. Two `nn.Embedding`, an `nn.Dropout`, an "
                "`nn.ModuleList` of blocks, an `nn.LayerNorm`, and an `nn.Linear(C, V, "
                "bias=False)`.",
                "A plain Python list of blocks would not be found by `parameters()`. Give "
                "`nn.ModuleList` a comprehension, so that each block is a new one.",
                "In `forward`: token rows plus the first T position rows, dropout, every block in "
                "turn, the norm, the head. No softmax.",
            ),
            mistakes=gpt_model.MISTAKES,
        ),
        Exercise(
            name="tie_weights",
            symbol="tie_weights",
            title="One table, two uses",
            goal="Write `tie_weights(model)`: make the head's matrix and the token embedding's one "
            "parameter.",
            section="sec-gpt-torch-tying",
            section_title="Weight tying",
            stub=stubs.tie_weights,
            solution=solutions.tie_weights,
            book=solutions.tie_weights,
            checks=(
                checks_weights.test_unit_tie_weights,
                checks_weights.test_training_tie_weights,
                checks_drawn.test_drawn_tie_weights,
            ),
            hints=(
                "Both weights have the shape (V, C), so nothing needs to be turned or copied.",
                "A parameter is an object. Assign it to a second name, and it belongs to both "
                "modules.",
            ),
            mistakes=tie_weights.MISTAKES,
        ),
        Exercise(
            name="count_parameters",
            symbol="count_parameters",
            title="Where the parameters are",
            goal="Write `count_parameters(model)`: how many parameters each component holds, a "
            "tied matrix counted once.",
            section="sec-gpt-torch-count",
            section_title="Counting",
            stub=stubs.count_parameters,
            solution=solutions.count_parameters,
            book=solutions.count_parameters,
            checks=(
                checks_weights.test_unit_count_parameters,
                checks_weights.test_tied_count_parameters,
                checks_weights.test_gpt2_count_parameters,
                checks_drawn.test_drawn_count_parameters,
            ),
            hints=(
                "`model.named_parameters()` gives every parameter once, a tied one under the first "
                "of its names, and `parameter.numel()` is its size, on any device.",
                "The component is in the name: `blocks.3.attention.query.weight`. All norms, the "
                "final one too, have `norm` in theirs.",
            ),
            mistakes=count_parameters.MISTAKES,
        ),
    ),
)

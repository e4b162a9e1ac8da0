"""The GPT in PyTorch: five pieces to write. Read the chapter beside them.

    tinygpt lab check gpt                     check all five
    tinygpt lab check gpt causal_attention    check one
    tinygpt lab hint gpt causal_attention     the next hint

Write over each `raise NotImplementedError`. Names and arguments stay as they are; the order
in which you write the pieces is up to you. Everything imported here is given, and may be used.
Only in the piece you are writing, the book's own version of it, and whatever else in `tinygpt`
does its whole work, may not be called, extended or handed over; in the other pieces they may.
"""

# ruff: noqa: F401
import math

import torch
from torch import nn
from torch.nn import functional as F

from tinygpt.models import TransformerBlock


def causal_attention(query, key, value):
    """Let every position average the values of itself and of the positions before it.

    softmax(Q Kᵀ / √d_k, masked to the past) V

    Write the steps out; `F.scaled_dot_product_attention` is what you are compared with.

    Args:
        query, key: (B, h, T, d_k): batch, heads, positions, width of a head.
        value: (B, h, T, d_v).

    Returns:
        (B, h, T, d_v), in the dtype of the inputs.
    """
    raise NotImplementedError


def init_weights(model):
    """Give a GPT the weights that GPT-2 starts with, in place; return nothing.

    - Matrices, the embeddings too: normal, mean 0, standard deviation 0.02.
    - The two matrices of each block that write to the residual stream,
      `attention.output.weight` and `mlp.fc2.weight`: 0.02 / √(2 L), with L blocks.
    - Biases: 0. Weights of the LayerNorms: 1.

    Args:
        model: any nn.Module with the parameter names of tinygpt.models.GPT.
            `model.named_parameters()` gives ("blocks.0.attention.output.weight", parameter), …;
            `len(model.blocks)` is L.
    """
    raise NotImplementedError


class GPT(nn.Module):
    """A decoder-only transformer: from token ids to a score for every possible next token.

    Args:
        vocab_size: number of tokens, V.
        embed_dim: width of the residual stream, C.
        num_layers: number of blocks, L.
        num_heads: attention heads per block.
        max_seq_len: number of learned positions.
        dropout_prob: dropout on the sum of the embeddings and inside the blocks.

    Attributes:
        token_embedding: nn.Embedding, V rows.
        position_embedding: nn.Embedding, max_seq_len rows.
        blocks: L times TransformerBlock(embed_dim, num_heads, dropout_prob=dropout_prob), which
            is given and causal.
        final_norm: nn.LayerNorm.
        head: nn.Linear from C to V, without a bias.
    """

    def __init__(
        self, vocab_size, embed_dim, num_layers, num_heads, max_seq_len=1024, *, dropout_prob=0.1
    ):
        raise NotImplementedError

    def forward(self, tokens):
        """Map ids (B, T) to logits (B, T, V), on the device of the ids."""
        raise NotImplementedError


def tie_weights(model):
    """Make the head and the token embedding of a GPT one parameter, in place; return nothing.

    Args:
        model: has token_embedding (nn.Embedding) and head (nn.Linear), whose weights both
            have the shape (V, C).
    """
    raise NotImplementedError


def count_parameters(model):
    """Count a GPT's parameters by component; a tied matrix counts once.

    Args:
        model: any nn.Module with the parameter names of tinygpt.models.GPT, on any device.

    Returns:
        A dict of integers: "token embedding", "position embedding", "attention" (all blocks),
        "mlp" (all blocks), "norms" (all, with the final one), "head" (0 when it is tied) and
        "total".
    """
    raise NotImplementedError

"""Answers to learn from. The package's own GPT does the same and checks its arguments."""

import math

import torch
from torch import nn

from tinygpt.models import TransformerBlock


def causal_attention(query, key, value):
    """Let every position average the values of itself and of the positions before it."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])  # (B, h, T, T)
    past = torch.ones_like(scores, dtype=torch.bool).tril()
    weights = scores.masked_fill(~past, -math.inf).softmax(dim=-1)
    return weights @ value  # (B, h, T, d_v)


@torch.no_grad()
def init_weights(model):
    """Give a GPT the weights that GPT-2 starts with, in place."""
    writers = ("attention.output.weight", "mlp.fc2.weight")
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            parameter.zero_()
        elif parameter.ndim == 1:  # the weight of a LayerNorm
            parameter.fill_(1.0)
        elif name.endswith(writers):
            parameter.normal_(0.0, 0.02 / math.sqrt(2 * len(model.blocks)))
        else:
            parameter.normal_(0.0, 0.02)


class GPT(nn.Module):
    """A decoder-only transformer: from token ids to a score for every possible next token."""

    def __init__(
        self, vocab_size, embed_dim, num_layers, num_heads, max_seq_len=1024, *, dropout_prob=0.1
    ):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab_size, embed_dim)
        self.position_embedding = nn.Embedding(max_seq_len, embed_dim)
        self.dropout = nn.Dropout(dropout_prob)
        self.blocks = nn.ModuleList(
            TransformerBlock(embed_dim, num_heads, dropout_prob=dropout_prob)
            for _ in range(num_layers)
        )
        self.final_norm = nn.LayerNorm(embed_dim)
        self.head = nn.Linear(embed_dim, vocab_size, bias=False)

    def forward(self, tokens):
        """Map ids (B, T) to logits (B, T, V)."""
        positions = torch.arange(tokens.shape[1], device=tokens.device)  # (T,)
        x = self.token_embedding(tokens) + self.position_embedding(positions)  # (B, T, C)
        x = self.dropout(x)
        for block in self.blocks:
            x = block(x)
        return self.head(self.final_norm(x))  # (B, T, V)


def tie_weights(model):
    """Make the head and the token embedding of a GPT one parameter, in place."""
    model.head.weight = model.token_embedding.weight


def count_parameters(model):
    """Count a GPT's parameters by component; a tied matrix counts once."""
    parts = {
        "token embedding": "token_embedding.",
        "position embedding": "position_embedding.",
        "attention": ".attention.",
        "mlp": ".mlp.",
        "norms": "norm",
        "head": "head.",
    }
    sizes = {name: parameter.numel() for name, parameter in model.named_parameters()}
    counts = {
        part: sum(size for name, size in sizes.items() if mark in name)
        for part, mark in parts.items()
    }
    return counts | {"total": sum(sizes.values())}

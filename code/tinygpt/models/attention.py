"""Causal self-attention in PyTorch: an explicit path to read, and the fused one to train with."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tinygpt.models.checks import check_input, check_query_and_key
from tinygpt.shapes import Bool, Float
from tinygpt.validate import flag, instance, positive_integer, probability


def create_causal_mask(seq_len: int, device: torch.device | None = None) -> Bool[Tensor, "T T"]:
    """Return the mask that lets position t see positions 0 to t; True means may attend."""
    seq_len = positive_integer("create_causal_mask", "seq_len", seq_len)
    if device is not None:
        instance("create_causal_mask", "device", device, torch.device)
    return torch.ones(seq_len, seq_len, dtype=torch.bool, device=device).tril()


def attention_weights(
    query: Float[Tensor, "*B T d"], key: Float[Tensor, "*B T d"]
) -> Float[Tensor, "*B T T"]:
    """Return how much each position takes from each earlier one; every row sums to 1.

    A = softmax(Q Kᵀ / √d, masked to the past)

    Raises:
        TypeError: when query or key is not a tensor of floats.
        ValueError: when their shapes are not alike.

    Source: Vaswani et al. (2017), Attention Is All You Need, equation 1.
    """
    check_query_and_key("attention_weights", query, key)
    scores = query / math.sqrt(query.shape[-1]) @ key.transpose(-2, -1)  # (..., T, T)
    past = create_causal_mask(query.shape[-2], query.device)  # (T, T)
    blocked = torch.zeros_like(past, dtype=scores.dtype).masked_fill(~past, -math.inf)
    return scores.add_(blocked).softmax(dim=-1)


class MultiHeadAttention(nn.Module):
    """Causal self-attention in several heads, each over its own slice of the width.

    Args:
        embed_dim: width of input and output, C.
        num_heads: number of heads, h; it must divide embed_dim. d_k = C / h.
        dropout_prob: dropout on the attention weights and on the output, in training.
        fused_attention: whether one kernel computes softmax(Q Kᵀ / √d_k) V without keeping
            the weights. Both ways give the same numbers to 1e-5.

    Source: Vaswani et al. (2017), section 3.2.2; the fused kernel: Dao et al. (2022).
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout_prob: float = 0.0,
        *,
        fused_attention: bool = True,
    ):
        super().__init__()
        embed_dim = positive_integer("MultiHeadAttention", "embed_dim", embed_dim)
        self.num_heads = positive_integer("MultiHeadAttention", "num_heads", num_heads)
        if embed_dim % num_heads:
            raise ValueError(
                f"MultiHeadAttention: num_heads={num_heads} does not divide embed_dim={embed_dim}"
            )
        self.query = nn.Linear(embed_dim, embed_dim)
        self.key = nn.Linear(embed_dim, embed_dim)
        self.value = nn.Linear(embed_dim, embed_dim)
        self.output = nn.Linear(embed_dim, embed_dim)
        self.dropout = nn.Dropout(probability("MultiHeadAttention", "dropout_prob", dropout_prob))
        self.fused_attention = flag("MultiHeadAttention", "fused_attention", fused_attention)

    def forward(self, x: Float[Tensor, "B T C"]) -> Float[Tensor, "B T C"]:
        """Let every position of x attend to itself and to those before it."""
        check_input("MultiHeadAttention.forward", x, self.query.weight, "(B, T, C)")
        query, key, value = self._project(x)  # (B, h, T, d_k) each
        if self.fused_attention:
            dropout_p = self.dropout.p if self.training else 0.0  # the kernel knows no eval()
            mixed = F.scaled_dot_product_attention(
                query, key, value, dropout_p=dropout_p, is_causal=True
            )  # (B, h, T, d_k)
        else:
            mixed = self.dropout(attention_weights(query, key)) @ value  # (B, h, T, d_k)
        return self.dropout(self.output(mixed.transpose(1, 2).flatten(2)))  # (B, T, C)

    @torch.no_grad()
    def weights(self, x: Float[Tensor, "B T C"]) -> Float[Tensor, "B h T T"]:
        """Return each head's attention weights on x, to look at."""
        check_input("MultiHeadAttention.weights", x, self.query.weight, "(B, T, C)")
        query, key, _ = self._project(x)
        return attention_weights(query, key)

    def _project(self, x: Float[Tensor, "B T C"]) -> list[Float[Tensor, "B h T d_k"]]:
        return [self._split_heads(part(x)) for part in (self.query, self.key, self.value)]

    def _split_heads(self, x: Float[Tensor, "B T C"]) -> Float[Tensor, "B h T d_k"]:
        batch, seq_len, width = x.shape
        return x.view(batch, seq_len, self.num_heads, width // self.num_heads).transpose(1, 2)

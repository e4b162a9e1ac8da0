"""The parts of a block besides attention, and the block."""

from torch import Tensor, nn

from tinygpt.models.attention import MultiHeadAttention
from tinygpt.models.checks import check_input
from tinygpt.models.gelu import gelu
from tinygpt.shapes import Float
from tinygpt.validate import flag, number, positive_integer, probability


class MLP(nn.Module):
    """Two linear maps with a GELU between them, the same at every position.

    y = GELU(x W₁ᵀ + b₁) W₂ᵀ + b₂

    Args:
        embed_dim: width of input and output, C.
        hidden_dim: width between the two maps; 4 C when None.
        dropout_prob: dropout on the output, in training.
        exact_gelu: whether the GELU is the exact one, not the tanh form of GPT-2.

    Source: Vaswani et al. (2017), section 3.3.
    """

    def __init__(
        self,
        embed_dim: int,
        hidden_dim: int | None = None,
        dropout_prob: float = 0.1,
        *,
        exact_gelu: bool = False,
    ):
        super().__init__()
        embed_dim = positive_integer("MLP", "embed_dim", embed_dim)
        hidden_dim = 4 * embed_dim if hidden_dim is None else hidden_dim
        hidden_dim = positive_integer("MLP", "hidden_dim", hidden_dim)
        self.fc1 = nn.Linear(embed_dim, hidden_dim)
        self.fc2 = nn.Linear(hidden_dim, embed_dim)
        self.dropout = nn.Dropout(probability("MLP", "dropout_prob", dropout_prob))
        self.exact_gelu = flag("MLP", "exact_gelu", exact_gelu)

    def forward(self, x: Float[Tensor, "*B C"]) -> Float[Tensor, "*B C"]:
        """Widen, bend, narrow."""
        check_input("MLP.forward", x, self.fc1.weight, "(..., C)")
        hidden = gelu(self.fc1(x), self.exact_gelu)  # (..., 4C)
        return self.dropout(self.fc2(hidden))  # (..., C)


class TransformerBlock(nn.Module):
    """Attention, then an MLP; each reads a normalised copy and adds to the residual stream.

    x ← x + Attention(LayerNorm(x))
    x ← x + MLP(LayerNorm(x))

    Args:
        embed_dim: width of the residual stream, C.
        num_heads: number of attention heads; it must divide embed_dim.
        mlp_ratio: width of the MLP's hidden layer, in multiples of C.
        dropout_prob: dropout inside both parts, in training.
        fused_attention: whether attention runs in one kernel.
        exact_gelu: whether the MLP's GELU is the exact one, not the tanh form of GPT-2.

    Source: Radford et al. (2019), GPT-2, section 2.3 (pre-norm).
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        mlp_ratio: float = 4,
        dropout_prob: float = 0.1,
        *,
        fused_attention: bool = True,
        exact_gelu: bool = False,
    ):
        super().__init__()
        embed_dim = positive_integer("TransformerBlock", "embed_dim", embed_dim)
        mlp_ratio = number("TransformerBlock", "mlp_ratio", mlp_ratio, low=1 / embed_dim)
        self.norm1 = nn.LayerNorm(embed_dim)
        self.attention = MultiHeadAttention(
            embed_dim, num_heads, dropout_prob, fused_attention=fused_attention
        )
        self.norm2 = nn.LayerNorm(embed_dim)
        hidden_dim = int(mlp_ratio * embed_dim)
        self.mlp = MLP(embed_dim, hidden_dim, dropout_prob, exact_gelu=exact_gelu)

    def forward(self, x: Float[Tensor, "B T C"]) -> Float[Tensor, "B T C"]:
        """Mix between positions, then work at each position."""
        check_input("TransformerBlock.forward", x, self.mlp.fc1.weight, "(B, T, C)")
        x = x + self.attention(self.norm1(x))  # (B, T, C)
        x = x + self.mlp(self.norm2(x))  # (B, T, C)
        return x

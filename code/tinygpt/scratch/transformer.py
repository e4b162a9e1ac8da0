"""The transformer: MLP, block and GPT, from the smallest part to the whole."""

import math

import numpy as np

from tinygpt.scratch.attention import MultiHeadAttention, create_causal_mask
from tinygpt.scratch.functional import cross_entropy, gelu
from tinygpt.scratch.graph import no_grad
from tinygpt.scratch.layers import Dropout, Embedding, LayerNorm, Linear, Module, evaluation_mode
from tinygpt.scratch.tensor import Tensor
from tinygpt.shapes import Bool, Float, Int
from tinygpt.validate import (
    finite_scores,
    flag,
    generator,
    ids_below,
    integer,
    integer_array,
    number,
    positive_integer,
    probability,
)


class MLP(Module):
    """Two linear maps with a GELU between them, the same at every position.

    y = GELU(x W₁ᵀ + b₁) W₂ᵀ + b₂

    Args:
        embed_dim: width of input and output, C.
        hidden_dim: width between the two maps; 4 C when None.
        dropout_prob: dropout on the output, in training.

    Source: Vaswani et al. (2017), section 3.3; GELU in its tanh form as in GPT-2.
    """

    def __init__(self, embed_dim: int, hidden_dim: int | None = None, dropout_prob: float = 0.1):
        embed_dim = positive_integer("MLP", "embed_dim", embed_dim)
        hidden_dim = 4 * embed_dim if hidden_dim is None else hidden_dim
        hidden_dim = positive_integer("MLP", "hidden_dim", hidden_dim)
        self.fc1 = Linear(embed_dim, hidden_dim)
        self.fc2 = Linear(hidden_dim, embed_dim)
        self.dropout = Dropout(probability("MLP", "dropout_prob", dropout_prob))

    def forward(self, x: Float[Tensor, "*B C"]) -> Float[Tensor, "*B C"]:
        """Widen, bend, narrow."""
        hidden = gelu(self.fc1(x))  # (..., 4C)
        return self.dropout(self.fc2(hidden))  # (..., C)


class TransformerBlock(Module):
    """Attention, then an MLP; each reads a normalised copy and adds to the residual stream.

    x ← x + Attention(LayerNorm(x))
    x ← x + MLP(LayerNorm(x))

    Args:
        embed_dim: width of the residual stream, C.
        num_heads: number of attention heads; it must divide embed_dim.
        mlp_ratio: width of the MLP's hidden layer, in multiples of C.
        dropout_prob: dropout inside both parts, in training.

    Source: Radford et al. (2019), GPT-2, section 2.3 (pre-norm).
    """

    def __init__(
        self, embed_dim: int, num_heads: int, mlp_ratio: float = 4, dropout_prob: float = 0.1
    ):
        embed_dim = positive_integer("TransformerBlock", "embed_dim", embed_dim)
        mlp_ratio = number("TransformerBlock", "mlp_ratio", mlp_ratio, low=1 / embed_dim)
        self.norm1 = LayerNorm(embed_dim)
        self.attention = MultiHeadAttention(embed_dim, num_heads, dropout_prob)
        self.norm2 = LayerNorm(embed_dim)
        self.mlp = MLP(embed_dim, int(mlp_ratio * embed_dim), dropout_prob)

    def forward(
        self, x: Float[Tensor, "B T C"], mask: Bool[np.ndarray, "..."] | None = None
    ) -> Float[Tensor, "B T C"]:
        """Mix between positions, then work at each position."""
        x = x + self.attention(self.norm1(x), mask)  # (B, T, C)
        x = x + self.mlp(self.norm2(x))  # (B, T, C)
        return x


class GPT(Module):
    """A decoder-only transformer: from token ids to a score for every possible next token.

    Args:
        vocab_size: number of tokens, V.
        embed_dim: width of the residual stream, C.
        num_layers: number of blocks, L.
        num_heads: attention heads per block; it must divide embed_dim.
        max_seq_len: number of learned positions, the longest input.
        dropout_prob: dropout on embeddings, attention and MLPs, in training.
        tie_weights: whether the head uses the token embedding's matrix.
        seed: fixes the initial weights and the dropout masks.

    Weights start normal with standard deviation 0.02; those of the 2 L maps that write to the
    residual stream are divided by √(2 L), so that its size does not grow with depth. Biases
    start at 0.

    Source: Radford et al. (2019), Language Models are Unsupervised Multitask Learners.
    """

    def __init__(
        self,
        vocab_size: int,
        embed_dim: int,
        num_layers: int,
        num_heads: int,
        max_seq_len: int = 1024,
        *,
        dropout_prob: float = 0.1,
        tie_weights: bool = False,
        seed: int | None = None,
    ):
        self.vocab_size = positive_integer("GPT", "vocab_size", vocab_size)
        self.max_seq_len = positive_integer("GPT", "max_seq_len", max_seq_len)
        embed_dim = positive_integer("GPT", "embed_dim", embed_dim)
        num_layers = positive_integer("GPT", "num_layers", num_layers)
        self.token_embedding = Embedding(vocab_size, embed_dim)
        self.position_embedding = Embedding(max_seq_len, embed_dim)
        self.dropout = Dropout(probability("GPT", "dropout_prob", dropout_prob))
        self.blocks = [
            TransformerBlock(embed_dim, num_heads, dropout_prob=dropout_prob)
            for _ in range(num_layers)
        ]
        self.final_norm = LayerNorm(embed_dim)
        self.head = Linear(embed_dim, vocab_size, bias=False)
        if flag("GPT", "tie_weights", tie_weights):
            self.head.weight = self.token_embedding.weight
        self._initialise(generator("GPT", seed))

    def forward(self, tokens: Int[np.ndarray, "*B T"] | list) -> Float[Tensor, "B T V"]:
        """Return the scores of the next token at every position.

        Args:
            tokens: ids from 0 to V - 1, (B, T) or (T,), at most max_seq_len long.

        Returns:
            Logits (B, T, V), with B = 1 for tokens of shape (T,).

        Raises:
            TypeError: when tokens are not integers.
            ValueError: when they are too many, outside the vocabulary or not 1-D or 2-D.
        """
        tokens = self._check_tokens("GPT.forward", "tokens", tokens)
        seq_len = tokens.shape[1]
        if seq_len > self.max_seq_len:
            raise ValueError(
                f"GPT.forward: {seq_len:,} tokens exceed max_seq_len={self.max_seq_len}; truncate "
                "the input or build the model with a longer max_seq_len"
            )
        positions = np.arange(seq_len)  # (T,)
        x = self.token_embedding(tokens) + self.position_embedding(positions)  # (B, T, C)
        x = self.dropout(x)
        mask = create_causal_mask(seq_len)  # (T, T)
        for block in self.blocks:
            x = block(x, mask)  # (B, T, C)
        return self.head(self.final_norm(x))  # (B, T, V)

    def loss(
        self, tokens: Int[np.ndarray, "*B T"] | list, targets: Int[np.ndarray, "*B T"] | list
    ) -> Float[Tensor, ""]:
        """Return the mean cross-entropy, in nats per token, of the true next tokens.

        Args:
            tokens: the inputs, (B, T) or (T,).
            targets: at every position the token that follows, of the same shape.
        """
        tokens = self._check_tokens("GPT.loss", "tokens", tokens)
        targets = self._check_tokens("GPT.loss", "targets", targets)
        if tokens.shape != targets.shape:
            raise ValueError(
                f"GPT.loss: targets must have the shape of tokens, {tokens.shape}, "
                f"got {targets.shape}"
            )
        return cross_entropy(self.forward(tokens), targets)

    @no_grad()
    def generate(
        self,
        prompt_tokens: Int[np.ndarray, "*B T"] | list,
        max_new_tokens: int = 50,
        temperature: float = 1.0,
        *,
        stop_token: int | None = None,
        seed: int | None = None,
    ) -> Int[np.ndarray, "*B S"]:
        """Continue each prompt, one token at a time, each drawn by the model's own scores.

        p = softmax(logits / temperature) at the last position; the prompt is cropped to the
        last max_seq_len tokens.

        Args:
            prompt_tokens: (B, T) or (T,), T at least 1.
            max_new_tokens: how many tokens to add at most.
            temperature: below 1 sharpens, above 1 flattens; 0 takes the best token always.
            stop_token: a sequence ends with this token and is filled up with it; generation
                ends when all sequences have.
            seed: fixes the draws.

        Returns:
            Prompts and continuations, (B, T + new) or (T + new,).
        """
        tokens = self._check_tokens("GPT.generate", "prompt_tokens", prompt_tokens)  # (B, T)
        max_new_tokens = integer("GPT.generate", "max_new_tokens", max_new_tokens)
        temperature = number("GPT.generate", "temperature", temperature, low=0.0)
        if stop_token is not None:
            integer("GPT.generate", "stop_token", stop_token, high=self.vocab_size - 1)
        rng = generator("GPT.generate", seed)

        stop = -1 if stop_token is None else stop_token  # no token is -1
        finished = np.zeros(len(tokens), dtype=bool)  # (B,)
        with evaluation_mode(self):
            for _ in range(max_new_tokens):
                logits = self.forward(tokens[:, -self.max_seq_len :])  # (B, T, V)
                chosen = _sample(logits.data[:, -1], temperature, rng)  # (B,)
                chosen[finished] = stop
                finished |= chosen == stop
                tokens = np.concatenate([tokens, chosen[:, None]], axis=1)  # (B, T + 1)
                if finished.all():
                    break
        return tokens[0] if np.ndim(prompt_tokens) == 1 else tokens

    def _initialise(self, rng):
        residual_scale = 1 / math.sqrt(2 * len(self.blocks))
        for name, tensor in self.named_parameters():
            if name.endswith("bias"):
                tensor.data.fill(0.0)
            elif tensor.ndim == 2:
                rng.standard_normal(out=tensor.data, dtype=np.float32)
                writes_to_stream = name.endswith(("attention.output.weight", "mlp.fc2.weight"))
                tensor.data *= 0.02 * (residual_scale if writes_to_stream else 1.0)
        for _, module in self.modules():
            if isinstance(module, Dropout):
                module.rng = rng

    def _check_tokens(self, where, name, tokens) -> Int[np.ndarray, "B T"]:
        tokens = integer_array(where, name, tokens)
        if tokens.ndim not in (1, 2) or tokens.shape[-1] == 0:
            raise ValueError(
                f"{where}: {name} must have shape (B, T) or (T,) with T at least 1, "
                f"got {tokens.shape}"
            )
        return np.atleast_2d(ids_below(where, f"{name}: id", tokens, self.vocab_size))


def _sample(
    logits: Float[np.ndarray, "B V"], temperature: float, rng: np.random.Generator
) -> Int[np.ndarray, "B"]:
    """Draw one token per row with probability softmax(logits / temperature)."""
    logits = finite_scores("GPT.generate", "logits", logits).astype(np.float64)
    if temperature == 0:
        return logits.argmax(axis=-1)
    with np.errstate(over="ignore"):  # a tiny temperature sends all but the best to -inf
        scaled = (logits - logits.max(axis=-1, keepdims=True)) / temperature
    cumulative = np.exp(scaled).cumsum(axis=-1)  # (B, V)
    draw = rng.random((len(logits), 1)) * cumulative[:, -1:]  # (B, 1)
    return (cumulative <= draw).sum(axis=-1)

"""The GPT in PyTorch, with the names of the NumPy one, so that weights copy across by name."""

import math

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tinygpt.models.layers import TransformerBlock
from tinygpt.shapes import Float, Int, Integer
from tinygpt.validate import describe, flag, integer, integer_array, positive_integer, probability

_INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


class GPT(nn.Module):
    """A decoder-only transformer: from token ids to a score for every possible next token.

    Args:
        vocab_size: number of tokens, V.
        embed_dim: width of the residual stream, C.
        num_layers: number of blocks, L.
        num_heads: attention heads per block; it must divide embed_dim.
        max_seq_len: number of learned positions, the longest input.
        dropout_prob: dropout on embeddings, attention and MLPs, in training.
        tie_weights: whether the head uses the token embedding's matrix.
        seed: fixes the initial weights; dropout follows torch.manual_seed.
        fused_attention: whether attention runs in one kernel, which does not keep its weights.
        exact_gelu: whether the GELU is the exact one, not the tanh form of GPT-2.

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
        fused_attention: bool = True,
        exact_gelu: bool = False,
    ):
        super().__init__()
        self.vocab_size = positive_integer("GPT", "vocab_size", vocab_size)
        self.max_seq_len = positive_integer("GPT", "max_seq_len", max_seq_len)
        embed_dim = positive_integer("GPT", "embed_dim", embed_dim)
        num_layers = positive_integer("GPT", "num_layers", num_layers)
        self.token_embedding = nn.Embedding(vocab_size, embed_dim)
        self.position_embedding = nn.Embedding(max_seq_len, embed_dim)
        self.dropout = nn.Dropout(probability("GPT", "dropout_prob", dropout_prob))
        self.blocks = nn.ModuleList(
            TransformerBlock(
                embed_dim,
                num_heads,
                dropout_prob=dropout_prob,
                fused_attention=fused_attention,
                exact_gelu=exact_gelu,
            )
            for _ in range(num_layers)
        )
        self.final_norm = nn.LayerNorm(embed_dim)
        self.head = nn.Linear(embed_dim, vocab_size, bias=False)
        self.exact_gelu = exact_gelu
        if flag("GPT", "tie_weights", tie_weights):
            self.head.weight = self.token_embedding.weight
        self._initialise(seed)

    def forward(self, tokens: Integer[Tensor, "*B T"]) -> Float[Tensor, "B T V"]:
        """Return the scores of the next token at every position.

        Args:
            tokens: ids from 0 to V - 1, (B, T) or (T,), at most max_seq_len long. Only ids on
                the CPU are checked against V; elsewhere that would wait for the device.

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
        x = self.token_embedding(tokens) + self.position_embedding.weight[:seq_len]  # (B, T, C)
        x = self.dropout(x)
        for block in self.blocks:
            x = block(x)  # (B, T, C)
        return self.head(self.final_norm(x))  # (B, T, V)

    def loss(
        self, tokens: Integer[Tensor, "*B T"], targets: Integer[Tensor, "*B T"]
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
                f"GPT.loss: targets must have the shape of tokens, {tuple(tokens.shape)}, "
                f"got {tuple(targets.shape)}"
            )
        return F.cross_entropy(self(tokens).flatten(0, 1), targets.flatten())

    def num_parameters(self) -> int:
        """Return how many numbers the parameters hold; a tied matrix counts once."""
        return sum(parameter.numel() for parameter in self.parameters())

    def generate(
        self,
        prompt_tokens: Integer[Tensor, "*B T"] | Int[np.ndarray, "*B T"] | list,
        max_new_tokens: int = 50,
        temperature: float = 1.0,
        *,
        top_k: int | None = None,
        top_p: float | None = None,
        stop_token: int | None = None,
        seed: int | None = None,
    ) -> Int[Tensor, "*B S"]:
        """Continue each prompt, one token at a time; `tinygpt.sampling.generate` says how.

        Args:
            prompt_tokens: (B, T) or (T,), T at least 1.
            max_new_tokens: how many tokens to add at most.
            temperature: below 1 sharpens, above 1 flattens; 0 takes the best token always.
            top_k: draw from this many of the most probable tokens only.
            top_p: draw from the fewest tokens whose probabilities reach this sum only.
            stop_token: a sequence ends with this token and is filled up with it.
            seed: fixes the draws.

        Returns:
            Prompts and continuations, (B, T + new) or (T + new,), on the CPU.
        """
        from tinygpt import sampling

        if not isinstance(prompt_tokens, Tensor):
            prompt_tokens = torch.as_tensor(
                integer_array("GPT.generate", "prompt_tokens", prompt_tokens)
            )
        prompts = self._check_tokens("GPT.generate", "prompt_tokens", prompt_tokens)  # (B, T)
        if stop_token is not None:
            integer("GPT.generate", "stop_token", stop_token, high=self.vocab_size - 1)
        rows = sampling.generate(
            self,
            list(prompts),
            max_new_tokens,
            temperature,
            top_k=top_k,
            top_p=top_p,
            stop_token=stop_token,
            seed=seed,
        )
        filling = 0 if stop_token is None else stop_token  # without one all are equally long
        tokens = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=filling)
        return tokens[0] if prompt_tokens.ndim == 1 else tokens

    @torch.no_grad()
    def _initialise(self, seed):
        generator = None
        if seed is not None and self.head.weight.device.type != "meta":
            generator = torch.Generator(self.head.weight.device)
            generator.manual_seed(integer("GPT", "seed", seed, high=2**63 - 1))
        residual_scale = 1 / math.sqrt(2 * len(self.blocks))
        for name, parameter in self.named_parameters():
            if name.endswith("bias"):
                parameter.zero_()
            elif parameter.ndim == 2:
                writes_to_stream = name.endswith(("attention.output.weight", "mlp.fc2.weight"))
                scale = 0.02 * (residual_scale if writes_to_stream else 1.0)
                parameter.normal_(0.0, scale, generator=generator)

    def _check_tokens(self, where, name, tokens) -> Int[Tensor, "B T"]:
        if not isinstance(tokens, Tensor) or tokens.dtype not in _INTEGERS:
            raise TypeError(f"{where}: {name} must be a tensor of integers, got {describe(tokens)}")
        if tokens.ndim not in (1, 2) or tokens.numel() == 0:
            raise ValueError(
                f"{where}: {name} must have shape (B, T) or (T,) with B and T at least 1, "
                f"got {tuple(tokens.shape)}"
            )
        if tokens.device.type == "cpu" and not torch.compiler.is_compiling():
            low, high = (int(bound) for bound in tokens.aminmax())
            if low < 0 or high >= self.vocab_size:
                wrong = low if low < 0 else high
                raise ValueError(
                    f"{where}: {name}: id {wrong:,} is outside 0..{self.vocab_size - 1:,}"
                )
        return torch.atleast_2d(tokens.long())

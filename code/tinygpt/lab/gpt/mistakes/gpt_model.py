"""Wrong GPTs."""

import torch
from torch import nn

from tinygpt.lab.definitions import Mistake
from tinygpt.models import TransformerBlock


class _Parts(nn.Module):
    """What most of them get right: the parts."""

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

    def embed(self, tokens):
        positions = torch.arange(tokens.shape[1])
        return self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))


class PythonList(_Parts):
    def __init__(
        self, vocab_size, embed_dim, num_layers, num_heads, max_seq_len=1024, *, dropout_prob=0.1
    ):
        super().__init__(vocab_size, embed_dim, 0, num_heads, max_seq_len)
        del self.blocks
        self.blocks = [
            TransformerBlock(embed_dim, num_heads, dropout_prob=dropout_prob)
            for _ in range(num_layers)
        ]

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(self.final_norm(x))


class SameBlock(_Parts):
    def __init__(
        self, vocab_size, embed_dim, num_layers, num_heads, max_seq_len=1024, *, dropout_prob=0.1
    ):
        super().__init__(vocab_size, embed_dim, 0, num_heads, max_seq_len)
        block = TransformerBlock(embed_dim, num_heads, dropout_prob=dropout_prob)
        self.blocks = nn.ModuleList([block] * num_layers)

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(self.final_norm(x))


class HeadWithBias(_Parts):
    def __init__(
        self, vocab_size, embed_dim, num_layers, num_heads, max_seq_len=1024, *, dropout_prob=0.1
    ):
        super().__init__(
            vocab_size, embed_dim, num_layers, num_heads, max_seq_len, dropout_prob=dropout_prob
        )
        self.head = nn.Linear(embed_dim, vocab_size)

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(self.final_norm(x))


class NoSuperInit(nn.Module):
    def __init__(
        self, vocab_size, embed_dim, num_layers, num_heads, max_seq_len=1024, *, dropout_prob=0.1
    ):
        self.token_embedding = nn.Embedding(vocab_size, embed_dim)
        self.position_embedding = nn.Embedding(max_seq_len, embed_dim)

    def forward(self, tokens):
        return self.token_embedding(tokens)


class WithoutPositions(_Parts):
    def forward(self, tokens):
        x = self.dropout(self.token_embedding(tokens))
        for block in self.blocks:
            x = block(x)
        return self.head(self.final_norm(x))


class PositionsByToken(_Parts):
    def forward(self, tokens):
        x = self.dropout(self.token_embedding(tokens) + self.position_embedding(tokens))
        for block in self.blocks:
            x = block(x)
        return self.head(self.final_norm(x))


class WithoutFinalNorm(_Parts):
    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class SoftmaxInside(_Parts):
    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(self.final_norm(x)).softmax(dim=-1)


class LastPositionOnly(_Parts):
    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(self.final_norm(x[:, -1]))


class EmbeddingsNotDropped(_Parts):
    def forward(self, tokens):
        x = self.token_embedding(tokens) + self.position_embedding.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.head(self.final_norm(x))


class OnlyTokensDropped(_Parts):
    def forward(self, tokens):
        x = self.dropout(self.token_embedding(tokens))
        x = x + self.position_embedding.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.head(self.final_norm(x))


class BlocksWithoutRate(_Parts):
    def __init__(
        self, vocab_size, embed_dim, num_layers, num_heads, max_seq_len=1024, *, dropout_prob=0.1
    ):
        super().__init__(
            vocab_size, embed_dim, 0, num_heads, max_seq_len, dropout_prob=dropout_prob
        )
        self.blocks = nn.ModuleList(
            TransformerBlock(embed_dim, num_heads) for _ in range(num_layers)
        )

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(self.final_norm(x))


class OneBlockOnly(_Parts):
    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            out = block(x)
        return self.head(self.final_norm(out))


_COUNT = "GPT(10, 8, 2, 2, max_seq_len=6) should have 1,968 parameters, got "
_LOGITS = "With blocks that add nothing, the first logits of token 3 at position "

MISTAKES = (
    Mistake(
        "python_list",
        PythonList,
        _COUNT + "224",
        "A Python list hides its modules from PyTorch: `parameters()` does not find the blocks, so "
        "the optimiser never moves them, `save` leaves them out and `to(device)` leaves them "
        "behind. `nn.ModuleList` registers what it holds.",
        (_Parts,),
    ),
    Mistake(
        "same_block",
        SameBlock,
        _COUNT + "1,096",
        "`[block] * n` is one block n times over: its weights are shared by all layers. Make a "
        "new one for each layer, in a comprehension.",
        (_Parts,),
    ),
    Mistake(
        "head_bias",
        HeadWithBias,
        _COUNT + "1,978",
        "`nn.Linear` has a bias unless it is told otherwise. The head of a GPT has none: tied to "
        "the embedding it is a table of vectors, and each logit is a dot product with one of them.",
        (_Parts,),
    ),
    Mistake(
        "no_super_init",
        NoSuperInit,
        "GPT.__init__ should begin with super().__init__(), got parts before it",
        "`nn.Module` makes the tables in which it keeps its parts in its own `__init__`. Until "
        "that has run there is nowhere to register a layer. Call it in the first line.",
    ),
    Mistake(
        "no_positions",
        WithoutPositions,
        _LOGITS + "1 should be [0.71, 0.71, 0.00], got [1.00, 0.00, 0.00]",
        "The position table is made and never used: token 3 gives the same at both positions. "
        "Attention would have only its mask to tell it where a token stands.",
        (_Parts,),
    ),
    Mistake(
        "positions_by_token",
        PositionsByToken,
        _LOGITS + "0 should be [1.00, 0.00, 0.00], got [0.71, 0.00, 0.71]",
        "The position table is looked up by token id, which makes it a second token table. Its "
        "rows are for the places: `torch.arange(T)`.",
        (_Parts,),
    ),
    Mistake(
        "no_final_norm",
        WithoutFinalNorm,
        _LOGITS + "0 should be [1.00, 0.00, 0.00], got [2.00, 0.00, 0.00]",
        "The head reads the stream itself, whose size grows with every block. The last LayerNorm "
        "gives it rows of one size, as every other reader of the stream has.",
        (_Parts,),
    ),
    Mistake(
        "softmax_inside",
        SoftmaxInside,
        _LOGITS + "0 should be [1.00, 0.00, 0.00], got [0.23, 0.09, 0.09]",
        "The model returns probabilities. `F.cross_entropy` takes logits and applies the softmax "
        "itself; applied twice, the loss cannot fall below ln(V - 1 + e) - 1, about 1.46 nats for "
        "10 tokens.",
        (_Parts,),
    ),
    Mistake(
        "last_position_only",
        LastPositionOnly,
        "GPT should return the shape (2, 4, 10), got (2, 10)",
        "Only the last position is scored. Generation needs no more, but training learns from "
        "every position of a window at once: T predictions for the price of one.",
        (_Parts,),
    ),
    Mistake(
        "one_block_only",
        OneBlockOnly,
        "With the book's weights the logits of 5 tokens differ; the largest difference should be "
        "below 0.0001, got 3.15",
        "Each block is given the embeddings, and only the last one's result is used. The loop has "
        "to hand the stream on: `x = block(x)`.",
        (_Parts,),
    ),
    Mistake(
        "embeddings_not_dropped",
        EmbeddingsNotDropped,
        "In training, with dropout_prob=0.5, dropout should act on the sum of the embeddings; two "
        "calls agree",
        "GPT-2 applies dropout to the sum of its embeddings, before the first block. The layer is "
        "made here and not called.",
        (_Parts,),
    ),
    Mistake(
        "only_tokens_dropped",
        OnlyTokensDropped,
        "In training, dropout should act on the sum of the embeddings: where the two cancel the "
        "sum is 0 and stays 0; it does not",
        "Dropout is applied to one embedding, or to each by itself, before they are added. GPT-2 "
        "adds first and drops numbers of the sum, so that a dropped number is gone altogether.",
        (_Parts,),
    ),
    Mistake(
        "blocks_without_rate",
        BlocksWithoutRate,
        "With dropout_prob=0.25 the blocks should drop with probability 0.25, got [0.1]",
        "`dropout_prob` is not handed on to the blocks, which then use their own default. With "
        "`dropout_prob=0` such a model still drops a tenth, and no error says so.",
        (_Parts,),
    ),
)

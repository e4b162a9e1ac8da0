"""A GPT in the idiom of nanoGPT's model.py, the rival of the benchmark: plain, eager PyTorch.

Query, key and value come from one matrix, attention from the fused kernel, the GELU is the
exact one, and AdamW is fused, with decay on matrices only.
"""

import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.packed = nn.Linear(embed_dim, 3 * embed_dim)
        self.output = nn.Linear(embed_dim, embed_dim)

    def forward(self, x):
        batch, seq_len, width = x.shape
        query, key, value = (
            part.view(batch, seq_len, self.num_heads, width // self.num_heads).transpose(1, 2)
            for part in self.packed(x).split(width, dim=2)
        )
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.output(mixed.transpose(1, 2).contiguous().view(batch, seq_len, width))


class Block(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(embed_dim)
        self.attention = Attention(embed_dim, num_heads)
        self.norm2 = nn.LayerNorm(embed_dim)
        self.mlp = nn.Sequential(
            nn.Linear(embed_dim, 4 * embed_dim), nn.GELU(), nn.Linear(4 * embed_dim, embed_dim)
        )

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Idiom(nn.Module):
    """The whole model; the head shares the embedding."""

    def __init__(self, vocab_size, embed_dim, num_layers, num_heads, max_seq_len):
        super().__init__()
        self.tokens = nn.Embedding(vocab_size, embed_dim)
        self.positions = nn.Embedding(max_seq_len, embed_dim)
        self.blocks = nn.ModuleList(Block(embed_dim, num_heads) for _ in range(num_layers))
        self.norm = nn.LayerNorm(embed_dim)
        self.head = nn.Linear(embed_dim, vocab_size, bias=False)
        self.head.weight = self.tokens.weight
        for parameter in self.parameters():
            if parameter.ndim == 2:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, tokens, targets):
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.tokens(tokens) + self.positions(positions)
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))


class Trainer:
    """Its training loop, one update at a time."""

    def __init__(self, model: Idiom, ids: torch.Tensor, batch_size: int, block_size: int):
        self.model, self.ids = model, ids
        self.batch_size, self.block_size = batch_size, block_size
        decays = [p for p in model.parameters() if p.ndim >= 2]
        rest = [p for p in model.parameters() if p.ndim < 2]
        groups = [{"params": decays, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}]
        self.optimizer = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.99), fused=True)

    def update(self) -> float:
        starts = torch.randint(len(self.ids) - self.block_size, (self.batch_size,))
        tokens = torch.stack([self.ids[i : i + self.block_size] for i in starts])
        targets = torch.stack([self.ids[i + 1 : i + 1 + self.block_size] for i in starts])
        loss = self.model(tokens, targets)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss.item()

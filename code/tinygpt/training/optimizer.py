"""AdamW as a GPT wants it: decay on matrices, none on biases and norms."""

import torch
from torch import nn

from tinygpt.training.config import Config


def configure_optimizer(model: nn.Module, config: Config) -> torch.optim.AdamW:
    """Return AdamW with weight decay on the parameters that have two axes.

    A bias or a norm's scale says where a feature starts and how large it is; pulling it to
    zero would not make the model simpler. One fused kernel updates all of a group.

    Source: Brown et al. (2020), GPT-3, appendix B, for AdamW, its betas and the clipping.
    """
    parameters = list(model.parameters())  # a tied one once
    groups = [
        {
            "params": [p for p in parameters if p.ndim >= 2],
            "weight_decay": config.weight_decay,
        },
        {"params": [p for p in parameters if p.ndim < 2], "weight_decay": 0.0},
    ]
    groups = [group for group in groups if group["params"]]
    fused = parameters[0].device.type in ("cpu", "cuda")
    return torch.optim.AdamW(
        groups, lr=config.learning_rate, betas=config.betas, fused=fused or None
    )

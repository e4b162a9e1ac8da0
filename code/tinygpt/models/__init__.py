"""The models in PyTorch.

Read them in this order: `attention`, `gelu`, `layers`, `gpt`; then `weights` and
`huggingface`, which move weights between models and files, and `folder`.
"""

from tinygpt.models.attention import MultiHeadAttention, attention_weights, create_causal_mask
from tinygpt.models.folder import load_huggingface, save_huggingface
from tinygpt.models.gelu import gelu
from tinygpt.models.gpt import GPT
from tinygpt.models.layers import MLP, TransformerBlock
from tinygpt.models.weights import copy_weights, load, load_weights, save, weights

__all__ = [
    "GPT",
    "MLP",
    "MultiHeadAttention",
    "TransformerBlock",
    "attention_weights",
    "copy_weights",
    "create_causal_mask",
    "gelu",
    "load",
    "load_huggingface",
    "load_weights",
    "save",
    "save_huggingface",
    "weights",
]

"""A GPT and everything under it, in NumPy alone.

Read it in this order: `scalar`, `tensor`, `functional`, `losses`, `layers`, `attention`,
`transformer`, `optim`, `checkpoint`.
"""

from tinygpt.scratch.anatomy import GraphMemory, graph_memory
from tinygpt.scratch.attention import (
    MultiHeadAttention,
    SingleHeadAttention,
    attention_weights,
    create_causal_mask,
    create_padding_mask,
    scaled_dot_product_attention,
)
from tinygpt.scratch.checkpoint import load, save
from tinygpt.scratch.classifier import (
    Epoch,
    FeedForward,
    accuracy,
    evaluate,
    fit,
    minibatches,
    train_epoch,
)
from tinygpt.scratch.convolution import (
    Conv2d,
    MaxPool2d,
    col2im,
    conv2d,
    im2col,
    max_pool2d,
    output_size,
)
from tinygpt.scratch.functional import (
    concatenate,
    cross_entropy,
    dropout,
    embedding,
    gelu,
    layer_norm,
    linear,
    log_softmax,
    softmax,
    stack,
    where,
)
from tinygpt.scratch.gradcheck import GradientError, check_gradients, numerical_gradient
from tinygpt.scratch.graph import no_grad
from tinygpt.scratch.initialisation import he_weights, initialise
from tinygpt.scratch.layers import (
    GELU,
    Dropout,
    Embedding,
    LayerNorm,
    Linear,
    Module,
    ReLU,
    Sequential,
    evaluation_mode,
    manual_seed,
)
from tinygpt.scratch.lenet import LeNet, confusion_matrix
from tinygpt.scratch.losses import binary_cross_entropy, mean_squared_error, sigmoid, tanh
from tinygpt.scratch.optim import SGD, Adam, AdamW, CosineSchedule, adamw_step, clip_grad_norm
from tinygpt.scratch.positions import apply_rotary, rotary_frequencies, sinusoidal_positions
from tinygpt.scratch.scalar import Value
from tinygpt.scratch.tensor import Tensor
from tinygpt.scratch.transformer import GPT, MLP, TransformerBlock

__all__ = [
    "GELU",
    "GPT",
    "MLP",
    "SGD",
    "Adam",
    "AdamW",
    "Conv2d",
    "CosineSchedule",
    "Dropout",
    "Embedding",
    "Epoch",
    "FeedForward",
    "GradientError",
    "GraphMemory",
    "LayerNorm",
    "LeNet",
    "Linear",
    "MaxPool2d",
    "Module",
    "MultiHeadAttention",
    "ReLU",
    "Sequential",
    "SingleHeadAttention",
    "Tensor",
    "TransformerBlock",
    "Value",
    "accuracy",
    "adamw_step",
    "apply_rotary",
    "attention_weights",
    "binary_cross_entropy",
    "check_gradients",
    "clip_grad_norm",
    "col2im",
    "concatenate",
    "confusion_matrix",
    "conv2d",
    "create_causal_mask",
    "create_padding_mask",
    "cross_entropy",
    "dropout",
    "embedding",
    "evaluate",
    "evaluation_mode",
    "fit",
    "gelu",
    "graph_memory",
    "he_weights",
    "im2col",
    "initialise",
    "layer_norm",
    "linear",
    "load",
    "log_softmax",
    "manual_seed",
    "max_pool2d",
    "mean_squared_error",
    "minibatches",
    "no_grad",
    "numerical_gradient",
    "output_size",
    "rotary_frequencies",
    "save",
    "scaled_dot_product_attention",
    "sigmoid",
    "sinusoidal_positions",
    "softmax",
    "stack",
    "tanh",
    "train_epoch",
    "where",
]

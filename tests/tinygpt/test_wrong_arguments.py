"""Every public function and class of both engines, with every argument wrong in many ways.

A call may work, or raise an error of the package's own; never one of NumPy's or PyTorch's.
"""

import numpy as np
import pytest
import torch
from tinygpt import models, scratch
from tinygpt.models.huggingface import from_huggingface, to_huggingface
from tinygpt.scratch import Tensor
from wrong import complaints

pytestmark = [
    pytest.mark.usefixtures("without_type_checks"),
    pytest.mark.filterwarnings("ignore"),
]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Where a file that is written by a right path does no harm."""
    monkeypatch.chdir(tmp_path)


def fixed(value):
    return lambda: value


def array(*shape):
    return lambda: np.full(shape, 0.5, np.float32)


def tensor(*shape):
    return lambda: Tensor(np.full(shape, 0.5), requires_grad=True)


def floats(*shape):
    return lambda: torch.full(shape, 0.5, requires_grad=True)


def rng():
    return np.random.default_rng(0)


def net():
    return scratch.Sequential(scratch.Linear(4, 3))


def gpt():
    return scratch.GPT(5, 8, 1, 2, 6, dropout_prob=0.0, seed=0)


def torch_gpt():
    return models.GPT(5, 8, 1, 2, 6, dropout_prob=0.0, seed=0)


IDS = fixed(np.array([[0, 1, 2], [3, 4, 0]]))
LABELS = fixed(np.array([0, 2]))
TORCH_IDS = fixed(torch.tensor([[0, 1, 2], [3, 4, 0]]))
ATTENTION = {"query": tensor(2, 3, 4), "key": tensor(2, 3, 4)}
MASK = fixed(np.tril(np.ones((3, 3), bool)))
IMAGES, KERNELS = tensor(2, 1, 6, 6), tensor(3, 1, 3, 3)
WINDOW = {"kernel_size": fixed(3), "stride": fixed(1), "padding": fixed(1)}
SIZES = {
    "vocab_size": fixed(5),
    "embed_dim": fixed(8),
    "num_layers": fixed(1),
    "num_heads": fixed(2),
    "max_seq_len": fixed(6),
    "dropout_prob": fixed(0.1),
    "tie_weights": fixed(False),
    "seed": fixed(0),
}


def optimizer(kind):
    return lambda: kind([Tensor([1.0], requires_grad=True)], lr=0.1)


def method(make, name):
    return lambda **arguments: getattr(make(), name)(**arguments)


NOWHERE = "no such folder/file"
SCRATCH = {
    "Tensor": (
        Tensor,
        {"data": array(2), "requires_grad": fixed(True), "dtype": fixed(np.float32)},
    ),
    "Value": (scratch.Value, {"data": fixed(1.0)}),
    "linear": (scratch.linear, {"x": tensor(2, 4), "weight": tensor(3, 4), "bias": tensor(3)}),
    "softmax": (
        scratch.softmax,
        {"x": tensor(2, 4), "axis": fixed(-1), "mask": fixed(np.ones((2, 4), bool))},
    ),
    "log_softmax": (scratch.log_softmax, {"x": tensor(2, 4), "axis": fixed(0)}),
    "cross_entropy": (scratch.cross_entropy, {"logits": tensor(2, 4), "targets": LABELS}),
    "layer_norm": (
        scratch.layer_norm,
        {"x": tensor(2, 4), "weight": tensor(4), "bias": tensor(4), "eps": fixed(1e-5)},
    ),
    "gelu": (scratch.gelu, {"x": tensor(2), "approximate": fixed("none")}),
    "sigmoid": (scratch.sigmoid, {"x": tensor(2)}),
    "tanh": (scratch.tanh, {"x": tensor(2)}),
    "mean_squared_error": (
        scratch.mean_squared_error,
        {"predictions": tensor(2), "targets": array(2)},
    ),
    "binary_cross_entropy": (
        scratch.binary_cross_entropy,
        {"logits": tensor(2), "targets": array(2)},
    ),
    "embedding": (scratch.embedding, {"weight": tensor(5, 4), "ids": IDS}),
    "dropout": (scratch.dropout, {"x": tensor(2, 3), "p": fixed(0.5), "rng": rng}),
    "where": (
        scratch.where,
        {"condition": fixed(np.ones(2, bool)), "x": tensor(2), "y": tensor(2)},
    ),
    "concatenate": (scratch.concatenate, {"tensors": lambda: [tensor(2)()], "axis": fixed(0)}),
    "stack": (scratch.stack, {"tensors": lambda: [tensor(2)()], "axis": fixed(0)}),
    "numerical_gradient": (
        scratch.numerical_gradient,
        {"function": fixed(np.sum), "x": array(3), "eps": fixed(1e-5)},
    ),
    "check_gradients": (
        lambda function, x, **rest: scratch.check_gradients(function, x, **rest),
        {
            "function": fixed(lambda x: x * x),
            "x": array(3),
            "eps": fixed(1e-5),
            "tolerance": fixed(1e-3),
        },
    ),
    "he_weights": (
        scratch.he_weights,
        {"in_features": fixed(3), "out_features": fixed(2), "gain": fixed(1.0), "rng": rng},
    ),
    "initialise": (
        scratch.initialise,
        {"module": net, "gain": fixed(1.0), "seed": fixed(0)},
    ),
    "manual_seed": (scratch.manual_seed, {"seed": fixed(0)}),
    "evaluation_mode": (
        lambda module: scratch.evaluation_mode(module).__enter__(),
        {"module": net},
    ),
    "Linear": (
        scratch.Linear,
        {"in_features": fixed(3), "out_features": fixed(2), "bias": fixed(True)},
    ),
    "Linear.forward": (method(lambda: scratch.Linear(4, 3), "forward"), {"x": tensor(2, 4)}),
    "Embedding": (scratch.Embedding, {"num_embeddings": fixed(5), "embedding_dim": fixed(2)}),
    "Embedding.forward": (method(lambda: scratch.Embedding(5, 2), "forward"), {"ids": IDS}),
    "LayerNorm": (scratch.LayerNorm, {"normalized_shape": fixed(5), "eps": fixed(1e-5)}),
    "LayerNorm.forward": (method(lambda: scratch.LayerNorm(4), "forward"), {"x": tensor(2, 4)}),
    "Dropout": (scratch.Dropout, {"p": fixed(0.5)}),
    "Dropout.forward": (method(lambda: scratch.Dropout(0.5), "forward"), {"x": tensor(2, 4)}),
    "GELU": (scratch.GELU, {"approximate": fixed("none")}),
    "GELU.forward": (method(scratch.GELU, "forward"), {"x": tensor(2)}),
    "ReLU": (method(scratch.ReLU, "forward"), {"x": tensor(2)}),
    "Sequential": (
        lambda layer: scratch.Sequential(layer),
        {"layer": lambda: scratch.Linear(2, 2)},
    ),
    "Sequential.forward": (method(net, "forward"), {"x": tensor(2, 4)}),
    "Module": (
        method(lambda: scratch.Linear(2, 2), "load_state_dict"),
        {"state": lambda: scratch.Linear(2, 2).state_dict()},
    ),
    "Module.train": (method(net, "train"), {"mode": fixed(True)}),
    "attention_weights": (scratch.attention_weights, ATTENTION | {"mask": MASK}),
    "scaled_dot_product_attention": (
        scratch.scaled_dot_product_attention,
        ATTENTION | {"value": tensor(2, 3, 4), "mask": MASK},
    ),
    "create_causal_mask": (scratch.create_causal_mask, {"seq_len": fixed(3)}),
    "create_padding_mask": (
        scratch.create_padding_mask,
        {"lengths": fixed(np.array([1, 2])), "seq_len": fixed(3)},
    ),
    "SingleHeadAttention": (
        scratch.SingleHeadAttention,
        {"embed_dim": fixed(4), "head_dim": fixed(2)},
    ),
    "SingleHeadAttention.forward": (
        method(lambda: scratch.SingleHeadAttention(4, 2), "forward"),
        {"x": tensor(2, 3, 4), "mask": MASK},
    ),
    "MultiHeadAttention": (
        scratch.MultiHeadAttention,
        {"embed_dim": fixed(4), "num_heads": fixed(2), "dropout_prob": fixed(0.1)},
    ),
    "MultiHeadAttention.forward": (
        method(lambda: scratch.MultiHeadAttention(4, 2), "forward"),
        {"x": tensor(2, 3, 4), "mask": MASK, "context": tensor(2, 3, 4)},
    ),
    "MultiHeadAttention.weights": (
        method(lambda: scratch.MultiHeadAttention(4, 2), "weights"),
        {"x": tensor(2, 3, 4), "mask": MASK, "context": tensor(2, 3, 4)},
    ),
    "MLP": (
        scratch.MLP,
        {"embed_dim": fixed(4), "hidden_dim": fixed(5), "dropout_prob": fixed(0.1)},
    ),
    "MLP.forward": (method(lambda: scratch.MLP(4), "forward"), {"x": tensor(2, 4)}),
    "TransformerBlock": (
        scratch.TransformerBlock,
        {
            "embed_dim": fixed(4),
            "num_heads": fixed(2),
            "mlp_ratio": fixed(2),
            "dropout_prob": fixed(0.1),
        },
    ),
    "TransformerBlock.forward": (
        method(lambda: scratch.TransformerBlock(4, 2), "forward"),
        {"x": tensor(2, 3, 4), "mask": MASK},
    ),
    "GPT": (scratch.GPT, SIZES),
    "GPT.forward": (method(gpt, "forward"), {"tokens": IDS}),
    "GPT.loss": (method(gpt, "loss"), {"tokens": IDS, "targets": IDS}),
    "GPT.generate": (
        method(gpt, "generate"),
        {
            "prompt_tokens": IDS,
            "max_new_tokens": fixed(2),
            "temperature": fixed(1.0),
            "stop_token": fixed(1),
            "seed": fixed(0),
        },
    ),
    "output_size": (scratch.output_size, {"size": fixed(6), **WINDOW}),
    "im2col": (scratch.im2col, {"x": array(2, 1, 6, 6), **WINDOW}),
    "col2im": (
        scratch.col2im,
        {"columns": array(2, 9, 36), "shape": fixed((2, 1, 6, 6)), **WINDOW},
    ),
    "conv2d": (
        scratch.conv2d,
        {
            "x": IMAGES,
            "weight": KERNELS,
            "bias": tensor(3),
            "stride": fixed(1),
            "padding": fixed(1),
        },
    ),
    "max_pool2d": (scratch.max_pool2d, {"x": IMAGES, **WINDOW}),
    "Conv2d": (
        scratch.Conv2d,
        {"in_channels": fixed(1), "out_channels": fixed(2), **WINDOW, "bias": fixed(True)},
    ),
    "Conv2d.forward": (method(lambda: scratch.Conv2d(1, 2, 3), "forward"), {"x": IMAGES}),
    "MaxPool2d": (scratch.MaxPool2d, WINDOW),
    "MaxPool2d.forward": (method(lambda: scratch.MaxPool2d(2), "forward"), {"x": IMAGES}),
    "LeNet": (
        scratch.LeNet,
        {
            "channels": fixed((1, 2)),
            "hidden": fixed(3),
            "num_classes": fixed(3),
            "image_size": fixed(4),
            "dropout_prob": fixed(0.1),
        },
    ),
    "LeNet.forward": (method(scratch.LeNet, "forward"), {"images": tensor(2, 8, 8)}),
    "confusion_matrix": (
        scratch.confusion_matrix,
        {"labels": LABELS, "predictions": LABELS, "num_classes": fixed(3)},
    ),
    "minibatches": (
        scratch.minibatches,
        {"inputs": array(2, 4), "labels": LABELS, "batch_size": fixed(2), "rng": rng},
    ),
    "evaluate": (
        scratch.evaluate,
        {"model": net, "inputs": array(2, 4), "labels": LABELS, "batch_size": fixed(2)},
    ),
    "accuracy": (scratch.accuracy, {"model": net, "inputs": array(2, 4), "labels": LABELS}),
    "train_epoch": (
        scratch.train_epoch,
        {
            "model": net,
            "batches": lambda: [(array(2, 4)(), LABELS())],
            "optimizer": optimizer(scratch.SGD),
        },
    ),
    "fit": (
        scratch.fit,
        {
            "model": net,
            "train": lambda: (array(2, 4)(), LABELS()),
            "validation": lambda: (array(2, 4)(), LABELS()),
            "optimizer": optimizer(scratch.SGD),
            "epochs": fixed(1),
            "batch_size": fixed(2),
            "schedule": fixed(lambda step: 0.1),
            "seed": fixed(0),
        },
    ),
    "FeedForward": (
        scratch.FeedForward,
        {"sizes": fixed((3, 4, 2)), "activation": fixed(scratch.ReLU), "dropout_prob": fixed(0.1)},
    ),
    "FeedForward.forward": (
        method(lambda: scratch.FeedForward((4, 3)), "forward"),
        {"x": tensor(2, 4)},
    ),
    "SGD": (
        scratch.SGD,
        {"parameters": lambda: [tensor(2)()], "lr": fixed(0.1), "momentum": fixed(0.9)},
    ),
    "Adam": (
        scratch.Adam,
        {
            "parameters": lambda: [tensor(2)()],
            "lr": fixed(0.1),
            "betas": fixed((0.9, 0.99)),
            "eps": fixed(1e-8),
        },
    ),
    "AdamW": (
        scratch.AdamW,
        {
            "parameters": lambda: [tensor(2)()],
            "lr": fixed(0.1),
            "betas": fixed((0.9, 0.99)),
            "eps": fixed(1e-8),
            "weight_decay": fixed(0.1),
        },
    ),
    "clip_grad_norm": (
        scratch.clip_grad_norm,
        {"parameters": lambda: [tensor(2)()], "max_norm": fixed(1.0)},
    ),
    "adamw_step": (
        scratch.adamw_step,
        {
            "weight": array(2),
            "grad": array(2),
            "mean": array(2),
            "square": array(2),
            "step": fixed(1),
            "lr": fixed(0.1),
            "betas": fixed((0.9, 0.99)),
            "eps": fixed(1e-8),
            "weight_decay": fixed(0.1),
        },
    ),
    "CosineSchedule": (
        scratch.CosineSchedule,
        {
            "max_lr": fixed(1.0),
            "total_steps": fixed(9),
            "warmup_steps": fixed(2),
            "min_lr": fixed(0.1),
        },
    ),
    "CosineSchedule.call": (
        method(lambda: scratch.CosineSchedule(1.0, 9), "__call__"),
        {"step": fixed(3)},
    ),
    "rotary_frequencies": (scratch.rotary_frequencies, {"dim": fixed(4), "base": fixed(10.0)}),
    "sinusoidal_positions": (
        scratch.sinusoidal_positions,
        {"num_positions": fixed(3), "dim": fixed(4), "base": fixed(10.0)},
    ),
    "apply_rotary": (
        scratch.apply_rotary,
        {"x": tensor(2, 3, 4), "positions": fixed(np.arange(3)), "base": fixed(10.0)},
    ),
    "save": (scratch.save, {"path": fixed(NOWHERE), "module": net}),
    "load": (scratch.load, {"path": fixed(NOWHERE), "module": net}),
    "graph_memory": (scratch.graph_memory, {"result": tensor(2)}),
}

MODELS = {
    "GPT": (models.GPT, SIZES | {"fused_attention": fixed(True), "exact_gelu": fixed(False)}),
    "GPT.forward": (method(torch_gpt, "forward"), {"tokens": TORCH_IDS}),
    "GPT.loss": (method(torch_gpt, "loss"), {"tokens": TORCH_IDS, "targets": TORCH_IDS}),
    "GPT.generate": (
        method(torch_gpt, "generate"),
        {
            "prompt_tokens": TORCH_IDS,
            "max_new_tokens": fixed(2),
            "temperature": fixed(1.0),
            "top_k": fixed(2),
            "top_p": fixed(0.5),
            "stop_token": fixed(1),
            "seed": fixed(0),
        },
    ),
    "MLP": (
        models.MLP,
        {
            "embed_dim": fixed(4),
            "hidden_dim": fixed(5),
            "dropout_prob": fixed(0.1),
            "exact_gelu": fixed(True),
        },
    ),
    "MLP.forward": (method(lambda: models.MLP(4), "forward"), {"x": floats(2, 4)}),
    "MultiHeadAttention": (
        models.MultiHeadAttention,
        {
            "embed_dim": fixed(4),
            "num_heads": fixed(2),
            "dropout_prob": fixed(0.1),
            "fused_attention": fixed(True),
        },
    ),
    "MultiHeadAttention.forward": (
        method(lambda: models.MultiHeadAttention(4, 2), "forward"),
        {"x": floats(2, 3, 4)},
    ),
    "MultiHeadAttention.weights": (
        method(lambda: models.MultiHeadAttention(4, 2), "weights"),
        {"x": floats(2, 3, 4)},
    ),
    "TransformerBlock": (
        models.TransformerBlock,
        {
            "embed_dim": fixed(4),
            "num_heads": fixed(2),
            "mlp_ratio": fixed(2),
            "dropout_prob": fixed(0.1),
            "fused_attention": fixed(True),
            "exact_gelu": fixed(True),
        },
    ),
    "TransformerBlock.forward": (
        method(lambda: models.TransformerBlock(4, 2), "forward"),
        {"x": floats(2, 3, 4)},
    ),
    "attention_weights": (
        models.attention_weights,
        {"query": floats(2, 3, 4), "key": floats(2, 3, 4)},
    ),
    "create_causal_mask": (
        models.create_causal_mask,
        {"seq_len": fixed(3), "device": fixed(None)},
    ),
    "gelu": (models.gelu, {"x": floats(2), "exact": fixed(True)}),
    "copy_weights": (models.copy_weights, {"source": torch_gpt, "target": torch_gpt}),
    "weights": (models.weights, {"model": torch_gpt}),
    "load_weights": (
        models.load_weights,
        {"model": torch_gpt, "state": lambda: models.weights(torch_gpt())},
    ),
    "save": (models.save, {"path": fixed(NOWHERE), "model": torch_gpt}),
    "load": (models.load, {"path": fixed(NOWHERE), "model": torch_gpt}),
    "save_huggingface": (
        models.save_huggingface,
        {"folder": fixed("/dev/null"), "model": torch_gpt},
    ),
    "load_huggingface": (models.load_huggingface, {"folder": fixed(NOWHERE)}),
    "to_huggingface": (to_huggingface, {"model": torch_gpt}),
    "from_huggingface": (
        from_huggingface,
        {"state": lambda: to_huggingface(torch_gpt()), "model": torch_gpt},
    ),
}


def test_nothing_public_is_left_out():
    results = {"Epoch", "GradientError", "GraphMemory", "no_grad"}  # made by others, or bare
    assert set(scratch.__all__) - results <= SCRATCH.keys()
    assert set(models.__all__) <= MODELS.keys()


NEEDS_A_FILE = {"save", "load", "save_huggingface", "load_huggingface"}


@pytest.mark.parametrize("table", [SCRATCH, MODELS], ids=["scratch", "models"])
def test_right_arguments_are_right(table):
    for name, (call, arguments) in table.items():
        if name not in NEEDS_A_FILE:
            call(**{key: make() for key, make in arguments.items()})


@pytest.mark.parametrize("name", SCRATCH)
def test_the_engine_says_what_is_wrong(name):
    call, arguments = SCRATCH[name]
    assert complaints(call, arguments) == []


@pytest.mark.parametrize("name", MODELS)
def test_the_models_say_what_is_wrong(name):
    call, arguments = MODELS[name]
    assert complaints(call, arguments) == []

"""Checks of the layers on inputs drawn from a seed, of their defaults, and of where they drop."""

import numpy as np

from tinygpt import scratch
from tinygpt.lab.definitions import kind_of, require
from tinygpt.lab.drawing import cases
from tinygpt.lab.measures import close, has_shape, shown, tensor_of
from tinygpt.lab.transformer.checks_block import Recorder
from tinygpt.lab.undisturbed import undisturbed
from tinygpt.scratch import Tensor


def test_drawn_causal_mask(create_causal_mask):
    """Short and long; each call makes a mask of its own."""
    for length in (1, 300, 17, 40, 16, 129, 64, 65):
        for call in ("", ", called again after the first mask was overwritten,"):
            mask = create_causal_mask(length)
            kind = kind_of(mask)
            require(isinstance(mask, np.ndarray), f"The mask should be a NumPy array, got {kind}")
            has_shape(f"create_causal_mask({length})", mask, (length, length))
            require(mask.dtype == np.bool_, "The mask should hold booleans, got other numbers")
            wrong = np.argwhere(mask != np.tri(length, dtype=bool))[:1].tolist()
            require(
                not wrong,
                f"create_causal_mask({length}){call} should be True up to the diagonal and False "
                f"above it; it is not at {wrong}",
            )
            if mask.flags.writeable:
                mask[...] = False


def test_drawn_layer_norm(LayerNorm):
    """Rows that hardly vary show the default eps; one layer serves inputs of many shapes."""
    shapes = ((3,), (2, 3, 5, 7), (4, 6), (2, 3, 5), (1, 1, 33))
    for case in cases(2, 10, shape=shapes, size=(0.003, 1000.0, 1.0)):
        width = case.shape[-1]
        norm = LayerNorm(width)
        weight, bias = case.numbers(2, width)
        norm.weight.data[...], norm.bias.data[...] = weight, bias
        for shape in (case.shape, (5, width), case.shape):
            x = Tensor(
                case.numbers(*shape, size=case.size, offset=3 * case.size), requires_grad=True
            )
            with undisturbed("LayerNorm", x=x, parameters=norm):
                out = norm(x)
            found = tensor_of("LayerNorm", out, shape)
            twins = [Tensor(value, requires_grad=True) for value in (x.data, weight, bias)]
            expected = scratch.layer_norm(*twins, 1e-5)
            what = f"of an input of shape {shape} and size {case.size:g}, with the default eps"
            close(f"LayerNorm {what}", found, expected.data, 1e-2)
            upstream = case.numbers(*shape)
            norm.zero_grad()
            out.backward(upstream)
            expected.backward(upstream)
            ours = {"input": x, "weight": norm.weight, "bias": norm.bias}
            for (name, tensor), twin in zip(ours.items(), twins, strict=True):
                _slopes_agree(f"The gradient of the {name} {what}", tensor, twin, 0.01)


def test_drawn_mlp(MLP):
    """Inputs of every shape and size, with the gradients; dropout on the output, 10% of it."""
    mlp, many = MLP(16, dropout_prob=0.5), Tensor(np.ones((400, 64)))
    kept, dropped = (mlp.train(training)(many[:40, :16]).data for training in (False, True))
    factors = (dropped / kept)[dropped != 0]
    require(
        bool(len(factors)) and np.allclose(factors, factors[0], rtol=1e-3),
        "In training each number of the output should be 0 or a fixed multiple of that of eval "
        "mode; dropout acts elsewhere",
    )
    if (MLP(64, dropout_prob=0.0).train()(many).data == 0).any():
        return  # what is dropped does not depend on dropout_prob: nothing else can be compared
    require(
        bool(abs(factors - 2).max(initial=0) < 0.01),
        "With dropout_prob=0.5 what is not dropped should be doubled in training, got "
        f"{shown(factors[:1].sum())} times it",
    )
    _a_tenth("Of the output of MLP(64)", float((MLP(64).train()(many).data == 0).mean()))
    for case in cases(
        3,
        8,
        shape=((2,), (2, 3, 4, 3), (5, 6), (2, 20, 4)),
        hidden=(None, 9, 1),
        size=(0.3, 300.0, 4.0),
    ):
        book = scratch.MLP(case.shape[-1], case.hidden, 0.0)
        mlp = MLP(case.shape[-1], case.hidden, 0.0)
        state = {name: case.numbers(*p.shape) for name, p in book.named_parameters()}
        arrays = case.numbers(*case.shape, size=case.size), case.numbers(*case.shape)
        results = []
        for layer in (mlp, book):
            layer.load_state_dict(state)
            x = Tensor(arrays[0], requires_grad=True)
            with undisturbed("MLP", x=x, parameters=layer):
                out = layer(x)
            tensor_of("MLP", out, case.shape).copy()
            out.backward(arrays[1])
            results.append((out.data, {"input": x} | dict(layer.named_parameters())))
        what = f"of an input of shape {case.shape} and size {case.size:g}"
        # Wide enough for the exact GELU, which differs from the tanh form by up to 0.0005.
        close(f"MLP {what}", results[0][0], results[1][0], 0.02 + 1e-5 * case.size)
        for name, twin in results[1][1].items():
            _slopes_agree(f"The gradient of {name} {what}", results[0][1][name], twin, 0.02)


def test_drawn_transformer_block(TransformerBlock):
    """Masks of every shape, lengths beyond 16, gradients; 10% dropped of what each part adds."""
    for case in cases(
        4,
        24,
        batch=range(1, 4),
        heads=(1, 3, 2),
        length=range(1, 24),
        ratio=(4, 2, 1),
        kind=(None, "some", "causal", "empty"),
        spread=(False, True),
    ):
        width = 4 * case.heads
        book = scratch.TransformerBlock(width, case.heads, case.ratio, 0.0)
        block = TransformerBlock(width, case.heads, case.ratio, 0.0)
        state = {name: case.numbers(*p.shape) for name, p in book.named_parameters()}
        shape = (case.batch, case.length, width)
        masks = (case.batch, case.heads, case.length, case.length)
        masks = masks if case.spread else masks[-2:]
        mask = None if case.kind is None else case.mask(*masks, kind=case.kind)
        arrays = case.numbers(*shape), case.numbers(*shape)
        results = []
        for layer in (block, book):
            layer.load_state_dict(state)
            x = Tensor(arrays[0], requires_grad=True)
            with undisturbed("TransformerBlock", x=x, mask=mask, parameters=layer):
                out = layer(x, mask)
            tensor_of("TransformerBlock", out, shape)
            out.backward(arrays[1])
            results.append((out.data, {"input": x} | dict(layer.named_parameters())))
        masked = "no mask" if mask is None else f"a mask of shape {mask.shape}"
        what = f"of an input of shape {shape} with {masked}"
        close(f"TransformerBlock {what}", results[0][0], results[1][0], 0.02)
        for name, twin in results[1][1].items():
            _slopes_agree(f"The gradient of {name} {what}", results[0][1][name], twin, 0.03)
    x = Tensor(np.random.default_rng(5).normal(size=(2, 200, 16)))
    for name, other in [("attention", "mlp"), ("mlp", "attention")]:
        block = TransformerBlock(16, 2).train()
        setattr(block, other, Recorder(other, np.float32(0), []))
        share = float((block(x).data == x.data).mean())
        _a_tenth(f"Of what self.{name} adds in TransformerBlock(16, 2)", share)
        setattr(block, name, Recorder(name, np.float32(0), []))
        require(
            np.array_equal(block(x).data, x.data),
            "In training nothing should be dropped from the residual stream itself; where "
            "attention and MLP add 0 the input should come out, and does not",
        )


def _a_tenth(what, share):
    require(
        0.08 < share < 0.12,
        f"{what} about 10% should be dropped in training, as dropout_prob=0.1 is the default, "
        f"got about {shown(5 * round(20 * share), 0)}%",
    )


def _slopes_agree(what, tensor, twin, tolerance):
    require(tensor.grad is not None, f"{what} should be there, got None")
    close(what, tensor.grad, twin.grad, tolerance * max(1.0, float(np.abs(twin.grad).max())))

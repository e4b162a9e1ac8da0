"""One convolution, forward and backward: this book's NumPy against PyTorch, one thread each.

The two settings are the second convolution of the LeNet on 8 by 8 digits, and a larger one:
16 channels of 28 by 28 pixels through 32 kernels of 5 by 5. Both take turns. A layer this
small is over before a second thread has begun, so a second one would measure the waiting.
"""

import numpy as np
import torch
from threadpoolctl import threadpool_limits
from tinygpt.scratch import Tensor
from tinygpt.scratch.convolution import conv2d

from tests.bench.race import Contestant, race

# (images, channels, side, kernels, side of a kernel, padding)
SETTINGS = {
    "16 × 4 × 4, 3 × 3": (32, 16, 4, 32, 3, 1),
    "16 × 28 × 28, 5 × 5": (32, 16, 28, 32, 5, 2),
}


def measure(rounds: int = 200, at_most: float = 30.0) -> dict[str, dict[str, float]]:
    """Return images per second of each contestant in each setting."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            return {name: _race(setting, rounds, at_most) for name, setting in SETTINGS.items()}
    finally:
        torch.set_num_threads(threads)


def _race(setting, rounds, at_most):
    batch, channels, side, kernels, window, padding = setting
    rng = np.random.default_rng(0)
    shapes = (batch, channels, side, side), (kernels, channels, window, window), (kernels,)
    arrays = [rng.standard_normal(shape, dtype=np.float32) for shape in shapes]
    upstream = rng.standard_normal((batch, kernels, side, side), dtype=np.float32)
    contestants = {
        "PyTorch": Contestant(batch, _pytorch(arrays, upstream, padding)),
        "NumPy": Contestant(batch, _numpy(arrays, upstream, padding)),
    }
    return race(contestants, rounds, _must_agree, at_most / len(SETTINGS))


def _must_agree(gradients: dict):
    for theirs, ours in zip(gradients["PyTorch"], gradients["NumPy"], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-2, atol=1e-2)


def _pytorch(arrays, upstream, padding):
    tensors = [torch.tensor(array, requires_grad=True) for array in arrays]
    upstream = torch.tensor(upstream)

    def run(_):
        for tensor in tensors:
            tensor.grad = None
        torch.nn.functional.conv2d(*tensors, padding=padding).backward(upstream)
        return [tensor.grad.numpy() for tensor in tensors]

    return run


def _numpy(arrays, upstream, padding):
    tensors = [Tensor(array, requires_grad=True) for array in arrays]

    def run(_):
        for tensor in tensors:
            tensor.zero_grad()
        conv2d(*tensors, padding=padding).backward(upstream)
        return [tensor.grad for tensor in tensors]

    return run


def ratios(speeds: dict[str, dict[str, float]]) -> dict[str, float]:
    """Return NumPy's speed as a share of PyTorch's in each setting."""
    return {name: each["NumPy"] / each["PyTorch"] for name, each in speeds.items()}


def report(speeds: dict[str, dict[str, float]]):
    """Print the speeds and the ratios."""
    for name, each in speeds.items():
        for engine, speed in each.items():
            print(f"convolution  {name:<20} {engine:<8} {speed:>9,.0f} images/s")
    for name, ratio in ratios(speeds).items():
        print(f"NumPy / PyTorch, conv2d of {name}: {ratio:.2f} (at least 0.25 wanted)")


if __name__ == "__main__":
    report(measure())

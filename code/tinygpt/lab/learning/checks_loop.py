"""Checks of batches and of the loop."""

import numpy as np

from tinygpt.lab.definitions import kind_of, require
from tinygpt.lab.measures import shown
from tinygpt.scratch import SGD, Linear, Module, Tensor, cross_entropy

# ---- batches ------------------------------------------------------------------------------------


def test_unit_minibatches(minibatches):
    """Each example once, with its own label, in batches of the asked size."""
    inputs, labels = np.arange(10.0)[:, None] * [1.0, -1.0], np.arange(10)
    batches = _batches(minibatches, inputs, labels, 4)
    sizes = [len(y) for _, y in batches]
    require(
        sizes == [4, 4, 2],
        f"10 examples in batches of 4 should make batches of [4, 4, 2], got {sizes}",
    )
    x, y = (np.concatenate(part) for part in zip(*batches, strict=True))
    require(
        x.shape == (10, 2), f"The inputs of all batches should be of shape (10, 2), got {x.shape}"
    )
    require(
        sorted(x[:, 0].tolist()) == list(range(10)),
        "Each example should come once in a pass, got some several times and others never",
    )
    require(
        np.array_equal(x[:, 0], y),
        "Each input should come with its own label, got inputs with the label of another",
    )


def test_order_minibatches(minibatches):
    """The order is random, decided by the generator, and leaves the data as they were."""
    inputs, labels = np.arange(40.0)[:, None], np.arange(40)
    kept = inputs.copy(), labels.copy()
    rng = np.random.default_rng(5)
    first, second = (_order(minibatches, inputs, labels, rng) for _ in range(2))
    require(first != list(range(40)), "The examples should come in a random order, got them as is")
    require(
        np.array_equal(inputs, kept[0]) and np.array_equal(labels, kept[1]),
        "minibatches should leave inputs and labels as they were; it changed their order",
    )
    require(first != second, "A second pass should have a new order, got the same again")
    blocks = {frozenset(range(start, start + 8)) for start in range(0, 40, 8)}
    require(
        {frozenset(first[start : start + 8]) for start in range(0, 40, 8)} != blocks,
        "Any examples should be able to meet in a batch, got batches of neighbours in the data",
    )
    again = _order(minibatches, inputs, labels, np.random.default_rng(5))
    require(
        first == again, "Two generators with the same seed should give the same order, got others"
    )


def test_sizes_minibatches(minibatches):
    """Batches of one, batches that fit exactly, and one that is larger than the data."""
    for count, size, expected in [(3, 1, [1, 1, 1]), (6, 3, [3, 3]), (5, 8, [5])]:
        inputs, labels = np.ones((count, 2, 2), np.float32), np.zeros(count, int)
        sizes = [len(y) for _, y in _batches(minibatches, inputs, labels, size)]
        require(
            sizes == expected,
            f"{count} examples in batches of {size} should make batches of {expected}, got {sizes}",
        )


def _batches(minibatches, inputs, labels, size, rng=None):
    given = minibatches(inputs, labels, size, rng or np.random.default_rng(0))
    kind = kind_of(given)
    require(hasattr(given, "__iter__"), f"minibatches should give batches, got {kind}")
    batches = list(given)
    for batch in batches:
        pair = isinstance(batch, (tuple, list)) and len(batch) == 2
        require(pair, f"A batch should be a pair of arrays, got {type(batch).__name__}")
        for part in batch:
            require(
                isinstance(part, np.ndarray),
                f"A batch should be a pair of NumPy arrays, got {type(part).__name__}",
            )
        x, y = batch
        require(
            len(x) == len(y),
            f"A batch should hold as many labels as inputs, got {len(x)} inputs and {len(y)} "
            "labels",
        )
    return batches


def _order(minibatches, inputs, labels, rng):
    batches = _batches(minibatches, inputs, labels, 8, rng)
    return [int(label) for _, y in batches for label in y]


# ---- the loop -----------------------------------------------------------------------------------

BATCHES = [
    (np.array([[1.0], [2.0], [0.0]]), np.array([0, 1, 1])),
    (np.array([[3.0]]), np.array([1])),
]


class _Classifier(Module):
    """Two scores from one number; it notes in which mode it is called."""

    def __init__(self):
        self.map = Linear(1, 2)
        self.map.weight.data[...] = [[1.0], [-1.0]]
        self.map.bias.data[...] = 0
        self.modes = []

    def forward(self, x):
        self.modes.append(self.training)
        return self.map(x)


class _Watched(SGD):
    """SGD that keeps the gradient, and what it should be, at each step."""

    def __init__(self, model):
        super().__init__(model.parameters(), lr=0.5)
        self.model, self.found, self.expected, self.losses = model, [], [], []

    def step(self):
        if len(self.found) < len(BATCHES):
            twin = _Classifier()
            twin.load_state_dict(self.model.state_dict())
            inputs, labels = BATCHES[len(self.found)]
            loss = cross_entropy(twin(Tensor(inputs)), labels)
            loss.backward()
            self.losses.append(loss.item())
            self.expected.append(twin.map.weight.grad)
        grad = self.model.map.weight.grad
        require(
            grad is not None,
            "At every step there should be gradients to follow, got none; zero_grad comes before "
            "backward, and backward before step",
        )
        self.found.append(grad.copy())
        super().step()


def test_unit_train_epoch(train_epoch):
    """One step for each batch, along the gradient of that batch alone."""
    model, optimizer, _ = _run(train_epoch)
    steps = len(optimizer.found)
    require(steps == 2, f"Two batches should make two steps, got {steps}")
    found, expected = optimizer.found, optimizer.expected
    both = expected[0] + expected[1]
    require(
        not np.allclose(found[1], both, atol=1e-5),
        "The second step should follow the gradient of the second batch, got the sum of both",
    )
    for step, which in enumerate(("first", "second")):
        require(
            np.allclose(found[step], expected[step], atol=1e-5),
            f"The {which} step should follow the gradient of the mean loss of the {which} batch, "
            f"{shown(expected[step][0, 0], 3)} for the first weight, "
            f"got {shown(found[step][0, 0], 3)}",
        )


def test_loss_train_epoch(train_epoch):
    """The mean loss of all examples, as a float, each before its step."""
    _, optimizer, loss = _run(train_epoch)
    kind = kind_of(loss)
    require(
        isinstance(loss, (float, np.floating)), f"train_epoch should return a float, got {kind}"
    )
    expected = (3 * optimizer.losses[0] + optimizer.losses[1]) / 4
    require(
        abs(loss - expected) < 1e-4,
        "The mean loss of batches of 3 and 1 examples should weight them 3 to 1 and be "
        f"{shown(expected, 3)}, got {shown(loss, 3)}",
    )


def test_mode_train_epoch(train_epoch):
    """In training mode, without old gradients, and through batches that come only once."""
    model, optimizer, _ = _run(train_epoch, evaluating=True)
    require(
        all(model.modes),
        "The model should be in training mode while it learns, got it in eval mode",
    )
    _, optimizer, _ = _run(train_epoch, left_over=True)
    require(
        np.allclose(optimizer.found[0], optimizer.expected[0], atol=1e-5),
        "The first step should not follow gradients that were there before, got them added",
    )


def _run(train_epoch, evaluating=False, left_over=False):
    model = _Classifier()
    optimizer = _Watched(model)
    if evaluating:
        model.eval()
    if left_over:
        for parameter in model.parameters():
            parameter.grad = np.ones_like(parameter.data)
    batches = [(inputs.copy(), labels.copy()) for inputs, labels in BATCHES]
    loss = train_epoch(model, iter(batches), optimizer)
    return model, optimizer, loss

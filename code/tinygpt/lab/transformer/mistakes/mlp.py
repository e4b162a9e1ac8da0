"""Wrong MLPs."""

import numpy as np

from tinygpt.lab.definitions import Mistake
from tinygpt.scratch import GELU, Dropout, Linear, Module, Tensor, dropout, gelu


class _Layers(Module):
    """What most of them get right: the two maps."""

    def __init__(self, embed_dim, hidden_dim=None, dropout_prob=0.1):
        hidden_dim = 4 * embed_dim if hidden_dim is None else hidden_dim
        self.fc1 = Linear(embed_dim, hidden_dim)
        self.fc2 = Linear(hidden_dim, embed_dim)
        self.dropout = Dropout(dropout_prob)


class NotWider(Module):
    def __init__(self, embed_dim, hidden_dim=None, dropout_prob=0.1):
        hidden_dim = embed_dim if hidden_dim is None else hidden_dim
        self.fc1 = Linear(embed_dim, hidden_dim)
        self.fc2 = Linear(hidden_dim, embed_dim)
        self.dropout = Dropout(dropout_prob)

    def forward(self, x):
        return self.dropout(self.fc2(gelu(self.fc1(x))))


class AlwaysFourTimes(Module):
    def __init__(self, embed_dim, hidden_dim=None, dropout_prob=0.1):
        self.fc1 = Linear(embed_dim, 4 * embed_dim)
        self.fc2 = Linear(4 * embed_dim, embed_dim)
        self.dropout = Dropout(dropout_prob)

    def forward(self, x):
        return self.dropout(self.fc2(gelu(self.fc1(x))))


class WithoutBias(Module):
    def __init__(self, embed_dim, hidden_dim=None, dropout_prob=0.1):
        hidden_dim = 4 * embed_dim if hidden_dim is None else hidden_dim
        self.fc1 = Linear(embed_dim, hidden_dim, bias=False)
        self.fc2 = Linear(hidden_dim, embed_dim, bias=False)
        self.dropout = Dropout(dropout_prob)

    def forward(self, x):
        return self.dropout(self.fc2(gelu(self.fc1(x))))


class NotNarrowed(_Layers):
    def forward(self, x):
        return self.dropout(gelu(self.fc1(x)))


class WithoutActivation(_Layers):
    def forward(self, x):
        return self.dropout(self.fc2(self.fc1(x)))


class WithReLU(_Layers):
    def forward(self, x):
        return self.dropout(self.fc2(self.fc1(x).relu()))


class ActivationLast(_Layers):
    def forward(self, x):
        return self.dropout(gelu(self.fc2(self.fc1(x))))


class ResidualInside(_Layers):
    def forward(self, x):
        return x + self.dropout(self.fc2(gelu(self.fc1(x))))


class WithoutDropout(_Layers):
    def forward(self, x):
        return self.fc2(gelu(self.fc1(x)))


class DropoutAlways(_Layers):
    def forward(self, x):
        return dropout(self.fc2(gelu(self.fc1(x))), self.dropout.p, np.random.default_rng())


class NoDropoutAtAll(Module):
    def __init__(self, embed_dim, hidden_dim=None, dropout_prob=0.1):
        hidden_dim = 4 * embed_dim if hidden_dim is None else hidden_dim
        self.fc1 = Linear(embed_dim, hidden_dim)
        self.fc2 = Linear(hidden_dim, embed_dim)

    def forward(self, x):
        return self.fc2(gelu(self.fc1(x)))


class DropoutProbIgnored(_Layers):
    def __init__(self, embed_dim, hidden_dim=None, dropout_prob=0.1):
        super().__init__(embed_dim, hidden_dim, dropout_prob)
        self.dropout = Dropout()

    def forward(self, x):
        return self.dropout(self.fc2(gelu(self.fc1(x))))


class NewDropoutEachTime(Module):
    def __init__(self, embed_dim, hidden_dim=None, dropout_prob=0.1):
        hidden_dim = 4 * embed_dim if hidden_dim is None else hidden_dim
        self.fc1 = Linear(embed_dim, hidden_dim)
        self.fc2 = Linear(hidden_dim, embed_dim)
        self.dropout_prob = dropout_prob

    def forward(self, x):
        return Dropout(self.dropout_prob)(self.fc2(gelu(self.fc1(x))))


class LayerMadeOfItsInput(_Layers):
    def forward(self, x):
        return self.dropout(self.fc2(GELU(self.fc1(x))))


class GraphCut(_Layers):
    def forward(self, x):
        return self.dropout(self.fc2(Tensor(gelu(self.fc1(x)).data)))


class NothingReturned(_Layers):
    def forward(self, x):
        self.dropout(self.fc2(gelu(self.fc1(x))))


MISTAKES = (
    Mistake(
        "not_wider",
        NotWider,
        "MLP(4).fc1.weight should have the shape (16, 4), got (4, 4)",
        "The hidden layer is as wide as the input. It should be four times as wide when "
        "`hidden_dim` is None, and then holds two thirds of the weights of a block.",
    ),
    Mistake(
        "always_four_times",
        AlwaysFourTimes,
        "MLP(4, hidden_dim=6).fc1.weight should have the shape (6, 4), got (16, 4)",
        "The argument `hidden_dim` is ignored. Four times the width is what holds when nothing "
        "is asked for; a given number has to be used.",
    ),
    Mistake(
        "no_bias",
        WithoutBias,
        "MLP(4) should have 148 parameters, got 128",
        "The two linear maps have no bias. Two matrices of 4 by 16 make 128 numbers; 16 + 4 "
        "more are the biases. GPT-2 has them, and its weights would not fit without.",
    ),
    Mistake(
        "not_narrowed",
        NotNarrowed,
        "MLP should return the shape (2, 3, 4), got (2, 3, 16)",
        "The second map is left out, so the result has the hidden width. The block adds the "
        "result to its input, for which both must have the width C.",
        (_Layers,),
    ),
    Mistake(
        "no_activation",
        WithoutActivation,
        "With fc1 and fc2 the identity, -1 should become -0.159, got -1.000",
        "There is nothing nonlinear between the two maps. Two linear maps in a row are one "
        "linear map, so seven eighths of the parameters are wasted. Put `gelu` between them.",
        (_Layers,),
    ),
    Mistake(
        "relu",
        WithReLU,
        "With fc1 and fc2 the identity, -1 should become -0.159, got 0.000",
        "The bend is a ReLU, which cuts every negative number to 0 and passes no gradient "
        "there. GPT uses GELU, which lets a little through: GELU(-1) = -0.159.",
        (_Layers,),
    ),
    Mistake(
        "residual_inside",
        ResidualInside,
        "With fc1 and fc2 the identity, -1 should become -0.159, got -1.159",
        "The MLP adds its input to its result: -1 - 0.159. That addition belongs to the block, "
        "which does it as well, so the input would be counted twice.",
        (_Layers,),
    ),
    Mistake(
        "activation_last",
        ActivationLast,
        "With fc1 the identity and fc2 minus it, 1 should become -0.841, got -0.159",
        "The GELU comes after both maps. The maps then merge into one, and the MLP can hardly "
        "subtract anything from the residual stream, since a GELU never falls below -0.17.",
        (_Layers,),
    ),
    Mistake(
        "no_dropout",
        WithoutDropout,
        "In training, with dropout_prob=0.5, two calls should differ; they agree",
        "The dropout layer is made but never called. Without it nothing keeps a large model "
        "from learning a small text by heart.",
        (_Layers,),
    ),
    Mistake(
        "dropout_always",
        DropoutAlways,
        "In eval mode two calls on the same input should agree; they differ",
        "The function `dropout` does not know the mode and drops in eval mode too, so the "
        "finished model would give another answer each time. The layer `self.dropout` knows: "
        "it does nothing after `eval()`.",
        (_Layers,),
    ),
    Mistake(
        "no_dropout_at_all",
        NoDropoutAtAll,
        "In training, with dropout_prob=0.5, two calls should differ; they agree, and there is no "
        "Dropout in it",
        "The argument `dropout_prob` is not used. Make the layer in `__init__`, "
        "`self.dropout = Dropout(dropout_prob)`, and send the result through it.",
    ),
    Mistake(
        "dropout_prob_ignored",
        DropoutProbIgnored,
        "With dropout_prob=0 two calls in training should agree; they differ",
        "There is a dropout layer, but it does not get `dropout_prob`. `Dropout()` drops half of "
        "the numbers whatever is asked for. Write `Dropout(dropout_prob)`.",
        (_Layers,),
    ),
    Mistake(
        "new_dropout_each_time",
        NewDropoutEachTime,
        "In eval mode two calls on the same input should agree; they differ, and each makes a new "
        "Dropout",
        "A layer made inside `forward` is new and in training mode at every call; `eval()` ran "
        "before it existed. Make it once in `__init__`, as `self.dropout`, where `train()` and "
        "`eval()` find it.",
    ),
    Mistake(
        "layer_made_of_its_input",
        LayerMadeOfItsInput,
        "MLP hands a Tensor to GELU(...), which makes the layer; make it first, then call it: "
        "GELU()(x)",
        "`GELU` is a class: what stands in the first brackets are its settings, what stands in "
        "the second is its input. Write `GELU()(x)`, keep a `self.gelu = GELU()`, or use the "
        "function `gelu(x)`.",
        (_Layers,),
    ),
    Mistake(
        "graph_cut",
        GraphCut,
        "After backward every parameter should have a gradient; MLP gave none to fc1.weight",
        "`Tensor(y.data)` has the values of y and not its history. Backward comes as far as fc2 "
        "and ends there, so fc1 keeps its first weights for ever. Hand on the Tensor itself.",
        (_Layers,),
    ),
    Mistake(
        "nothing_returned",
        NothingReturned,
        "MLP should return a Tensor, got None",
        "`forward` computes the result and does not hand it back. A Python function without a "
        "`return` gives None.",
        (_Layers,),
    ),
)

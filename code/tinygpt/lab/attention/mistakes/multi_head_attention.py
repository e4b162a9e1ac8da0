"""Wrong layers of attention."""

from tinygpt.lab.definitions import Mistake
from tinygpt.scratch import Linear, Module, scaled_dot_product_attention


class _Layers(Module):
    """What most of them get right: the four maps, and the heads."""

    def __init__(self, embed_dim, num_heads):
        self.num_heads = num_heads
        self.query = Linear(embed_dim, embed_dim)
        self.key = Linear(embed_dim, embed_dim)
        self.value = Linear(embed_dim, embed_dim)
        self.output = Linear(embed_dim, embed_dim)

    def split(self, x):
        batch, length, width = x.shape
        return x.reshape(batch, length, self.num_heads, width // self.num_heads).swapaxes(1, 2)

    def join(self, heads):
        batch, count, length, width = heads.shape
        return heads.swapaxes(1, 2).reshape(batch, length, count * width)

    def attend(self, query, key, value, mask):
        query, key, value = self.split(query), self.split(key), self.split(value)
        return self.join(scaled_dot_product_attention(query, key, value, mask))


class ContextIgnored(_Layers):
    def forward(self, x, mask=None, context=None):
        return self.output(self.attend(self.query(x), self.key(x), self.value(x), None))


class ContextOrX(_Layers):
    def forward(self, x, mask=None, context=None):
        context = context or x
        heads = self.attend(self.query(x), self.key(context), self.value(context), mask)
        return self.output(heads)


class ValuesFromX(_Layers):
    def forward(self, x, mask=None, context=None):
        context = x if context is None else context
        return self.output(self.attend(self.query(x), self.key(context), self.value(x), mask))


class ContextAsks(_Layers):
    def forward(self, x, mask=None, context=None):
        context = x if context is None else context
        return self.output(self.attend(self.query(context), self.key(x), self.value(x), None))


class MaskForgotten(_Layers):
    def forward(self, x, mask=None, context=None):
        context = x if context is None else context
        heads = self.attend(self.query(x), self.key(context), self.value(context), None)
        return self.output(heads)


class WithoutOutput(_Layers):
    def forward(self, x, mask=None, context=None):
        context = x if context is None else context
        return self.attend(self.query(x), self.key(context), self.value(context), mask)


class OneWideHead(_Layers):
    def forward(self, x, mask=None, context=None):
        context = x if context is None else context
        query, key, value = self.query(x), self.key(context), self.value(context)
        return self.output(scaled_dot_product_attention(query, key, value, mask))


class OneMapForKeysAndValues(_Layers):
    def forward(self, x, mask=None, context=None):
        context = x if context is None else context
        heads = self.attend(self.query(x), self.key(context), self.key(context), mask)
        return self.output(heads)


MISTAKES = (
    Mistake(
        "context_ignored",
        ContextIgnored,
        "Asking a context of 6, 2, 1, queries of -1, 2, 3 should get their best matches, "
        "1.00, 6.00, 6.00, got -1.00, 3.00, 3.00",
        "The context is never read: queries, keys and values all come from x. This is "
        "self-attention, and a translation would never look at the sentence that it "
        "translates.",
        (_Layers,),
    ),
    Mistake(
        "context_or_x",
        ContextOrX,
        "MultiHeadAttention raised ValueError: Tensor.item: needs exactly one element, got "
        "shape (1, 3, 4)",
        "`context or x` asks whether the context is true, and a Tensor of many numbers is "
        "neither true nor false. Ask whether there is one: `x if context is None else context`.",
        (_Layers,),
    ),
    Mistake(
        "values_from_x",
        ValuesFromX,
        "Asking a context of 6, 2, 1, queries of -1, 2, 3 should get their best matches, "
        "1.00, 6.00, 6.00, got 3.00, -1.00, -1.00",
        "The keys come from the context and the values from x. Weights over the context's "
        "positions have to average the context's values. When both sequences have one "
        "length nothing stops this, and the answer is nonsense.",
        (_Layers,),
    ),
    Mistake(
        "context_asks",
        ContextAsks,
        "Asking a context of 6, 2, 1, queries of -1, 2, 3 should get their best matches, "
        "1.00, 6.00, 6.00, got 3.00, 3.00, 3.00",
        "The roles are exchanged: the context asks and x is asked. The result has a row "
        "for each query, so queries come from the sequence that is to be continued or "
        "labelled, which is x.",
        (_Layers,),
    ),
    Mistake(
        "one_map_for_keys_and_values",
        OneMapForKeysAndValues,
        "Asking a context of 6, 2, 1, queries of -1, 2, 3 should get their best matches, "
        "1.00, 6.00, 6.00, got 10.00, 60.00, 60.00",
        "The values are made by `self.key`. What a position is found by and what it hands "
        "over are different things, so each has a map of its own; here that of the keys "
        "multiplies by ten.",
        (_Layers,),
    ),
    Mistake(
        "mask_forgotten",
        MaskForgotten,
        "Asking a context of 6, 2, 1, queries of -1, 2, 3 should get, with the 1 hidden, "
        "2.00, 6.00, 6.00, got 1.00, 6.00, 6.00",
        "The mask is an argument of forward and goes no further. Without it a query sees "
        "the filling of short sequences, or the future.",
        (_Layers,),
    ),
    Mistake(
        "without_output",
        WithoutOutput,
        "Asking a context of 6, 2, 1, queries of -1, 2, 3 should get, doubled by the "
        "output map, 2.00, 12.00, 12.00, got 1.00, 6.00, 6.00",
        "The answers of the heads lie side by side and are returned so. The output map "
        "lets every feature of the result draw on every head; without it head 0 can only "
        "ever write to the first features.",
        (_Layers,),
    ),
    Mistake(
        "one_wide_head",
        OneWideHead,
        "Asking a context of 6, 6, 1, 1 and 1, 1, 6, 6, each of two heads should find its own "
        "sixes and give 6.00, 6.00, 6.00, 6.00, got 3.50, 3.50, 3.50, 3.50",
        "The four maps are right and there is one head, whatever num_heads says. The "
        "parameters are the same, so only the numbers tell. Split queries, keys and "
        "values, attend, and join.",
        (_Layers,),
    ),
)

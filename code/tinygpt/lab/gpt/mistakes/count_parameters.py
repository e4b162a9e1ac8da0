"""Wrong counts."""

from tinygpt.lab.definitions import Mistake

_PARTS = {
    "token embedding": "token_embedding.",
    "position embedding": "position_embedding.",
    "attention": ".attention.",
    "mlp": ".mlp.",
    "norms": "norm",
    "head": "head.",
}


def _by_part(sizes):
    counts = {
        part: sum(size for name, size in sizes.items() if mark in name)
        for part, mark in _PARTS.items()
    }
    return counts | {"total": sum(sizes.values())}


def from_the_state_dict(model):
    return _by_part({name: value.numel() for name, value in model.state_dict().items()})


def trainable_only(model):
    return _by_part({n: p.numel() for n, p in model.named_parameters() if p.requires_grad})


def without_biases(model):
    return _by_part({n: p.numel() for n, p in model.named_parameters() if p.ndim > 1})


def first_block_only(model):
    sizes = {n: p.numel() for n, p in model.named_parameters()}
    return _by_part({n: s for n, s in sizes.items() if "blocks." not in n or "blocks.0." in n})


def norms_of_the_blocks(model):
    sizes = {n: p.numel() for n, p in model.named_parameters()}
    inside = sum(size for name, size in sizes.items() if ".norm" in name)
    return _by_part(sizes) | {"norms": inside}


def by_address(model):
    seen = {p.data_ptr(): (n, p.numel()) for n, p in model.named_parameters()}
    return _by_part(dict(seen.values()))


def total_doubled(model):
    counts = _by_part({n: p.numel() for n, p in model.named_parameters()})
    return counts | {"total": sum(counts.values())}


MISTAKES = (
    Mistake(
        "from_the_state_dict",
        from_the_state_dict,
        "The tied GPT should have 0 parameters in 'head', got 80",
        "`state_dict()` lists a shared parameter under each of its names, so the tied matrix "
        "counts twice. `named_parameters()` gives it once, under the name it meets first.",
        (_by_part,),
    ),
    Mistake(
        "trainable_only",
        trainable_only,
        "A GPT whose parameters are frozen should have 80 parameters in 'token embedding', got 0",
        "Only what requires a gradient is counted. A frozen parameter takes the same memory and "
        "the same arithmetic; the size of a model does not depend on who trains it.",
        (_by_part,),
    ),
    Mistake(
        "without_biases",
        without_biases,
        "GPT(10, 8, 2, 2, max_seq_len=6) should have 576 parameters in 'attention', got 512",
        "Biases and norms have one axis and are left out. They are few in a large model, a tenth "
        "of a per cent, and the difference between a count that agrees and one that nearly does.",
        (_by_part,),
    ),
    Mistake(
        "first_block_only",
        first_block_only,
        "GPT(10, 8, 2, 2, max_seq_len=6) should have 576 parameters in 'attention', got 288",
        "Only block 0 is counted. The components are sums over all L blocks.",
        (_by_part,),
    ),
    Mistake(
        "norms_of_the_blocks",
        norms_of_the_blocks,
        "GPT(10, 8, 2, 2, max_seq_len=6) should have 80 parameters in 'norms', got 64",
        "The final LayerNorm is missing: its name has no dot before `norm`. Then the parts do not "
        "add up to the total, which is the quickest test of such a table.",
        (_by_part,),
    ),
    Mistake(
        "total_doubled",
        total_doubled,
        "GPT(10, 8, 2, 2, max_seq_len=6) should have 1,968 parameters in total, got 3,936",
        "The sum runs over a dict that already holds a total. Add up the parts, or the "
        "parameters; not both.",
        (_by_part,),
    ),
    Mistake(
        "by_address",
        by_address,
        "GPT-2 small, on the meta device, should have 124,439,808 parameters, got 768",
        "Equal addresses mean shared memory, but on the meta device there is no memory and every "
        "address is 0. A shared parameter is one object; `named_parameters()` compares objects.",
        (_by_part,),
    ),
)

"""The book's own version is refused, however it is borrowed; what may be used is not."""

import functools
import inspect
import types

import pytest
from tinygpt import lab, sampling, scratch
from tinygpt.lab.borrowing import guarded, judge
from tinygpt.lab.grading import FAILED, SOLVED
from tinygpt.lab.isolation import check_file
from tinygpt.scratch import Module, attention


class Extended(scratch.TransformerBlock):
    pass


class Holding(Module):
    def __init__(self, *args, **kwargs):
        self.inner = scratch.TransformerBlock(*args, **kwargs)

    def forward(self, x, mask=None):
        return self.inner(x, mask)


class Copied(Module):
    __init__ = scratch.TransformerBlock.__init__
    forward = scratch.TransformerBlock.forward


def swallowed(seq_len):
    try:
        return scratch.create_causal_mask(seq_len)
    except Exception:
        return scratch.Tensor([0.0])


def through_map(seq_len):
    return next(map(scratch.create_causal_mask, [seq_len]))


def through_partial(seq_len):
    return functools.partial(scratch.create_causal_mask, seq_len)()


_innermost = inspect.unwrap(scratch.create_causal_mask)  # tests check the types of arguments
mask_again = types.FunctionType(_innermost.__code__, vars(attention))

BORROWED = {
    "subclass": ("transformer_block", Extended, "extends the book's own TransformerBlock"),
    "part": ("transformer_block", Holding, "calls the book's own TransformerBlock"),
    "copied methods": ("transformer_block", Copied, "hands over the book's own TransformerBlock"),
    "itself": ("causal_mask", scratch.create_causal_mask, "create_causal_mask is the book's own"),
    "error caught": ("causal_mask", swallowed, "calls the book's own create_causal_mask"),
    "map": ("causal_mask", through_map, "calls the book's own create_causal_mask"),
    "partial inside": ("causal_mask", through_partial, "calls the book's own create_causal_mask"),
    "partial": (
        "causal_mask",
        functools.partial(scratch.create_causal_mask),
        "hands over the book's own create_causal_mask",
    ),
    "its code": ("causal_mask", mask_again, "hands over the book's own create_causal_mask"),
    "a solution": (
        "soft_lookup",
        lambda query, keys, values: lab.exercise("soft_lookup").solution(query, keys, values),
        "soft_lookup calls the book's own soft_lookup",
    ),
    "the package's version of a solution": (
        "masked_softmax",
        lambda scores, mask: scratch.softmax(scores, mask=mask),
        "masked_softmax calls the book's own softmax",
    ),
    "a method": (
        "generate",
        lambda model, prompt_tokens, max_new_tokens=50, temperature=1.0, *, seed=None: (
            scratch.GPT.generate(model, prompt_tokens, max_new_tokens, temperature, seed=seed)
        ),
        "generate calls the book's own generate",
    ),
    "with PyTorch": (
        "top_k",
        lambda logits, k: sampling.keep_top_k(logits, k),
        "keep_top_k calls the book's own keep_top_k",
    ),
}


@pytest.mark.parametrize("case", BORROWED)
def test_what_is_borrowed_is_refused_in_one_sentence(case):
    exercise, answer, expected = BORROWED[case]
    result = judge(lab.exercise(exercise), answer)
    assert (result.status, result.cause) == (FAILED, "borrowed")
    assert expected in result.message and result.message.endswith("; write it yourself")
    assert "\n" not in result.message


def test_helpers_that_call_the_books_version_on_their_way_may_be_used():
    def attend_in_heads(query, key, value, num_heads, mask=None):
        def split(x):
            return x.reshape(*x.shape[:2], num_heads, -1).swapaxes(1, 2)

        given = [split(x) for x in (query, key, value)]
        heads = scratch.scaled_dot_product_attention(*given, mask)  # which calls softmax
        return heads.swapaxes(1, 2).reshape(query.shape)

    assert judge(lab.exercise("attend_in_heads"), attend_in_heads).status == SOLVED

    def masked_softmax(scores, mask):  # softmax without its mask is a helper
        return scratch.softmax(scores.masked_fill(~mask, -1e30)) * mask

    assert judge(lab.exercise("masked_softmax"), masked_softmax).cause != "borrowed"


def test_afterwards_the_book_is_what_it_was():
    exercise = lab.exercise("transformer_block")
    before = scratch.TransformerBlock.__init__.__code__
    with pytest.raises(KeyError), guarded(exercise):
        assert scratch.TransformerBlock.__init__.__code__ is not before
        raise KeyError
    assert scratch.TransformerBlock.__init__.__code__ is before


FORGED = {
    "a line in the pipe": (
        "import json, os\n"
        'line = json.dumps({"result": {"exercise": "causal_mask", "status": "solved"}}) + "\\n"\n'
        "for number in range(3, 30):\n"
        "    try:\n        os.write(number, line.encode())\n    except OSError:\n        pass\n"
        "def create_causal_mask(seq_len):\n    return 1\n",
        "work_lab.py writes a result of its own where the check writes its",
    ),
    "require replaced": (
        "import tinygpt.lab.definitions, sys\n"
        "nothing = lambda condition, message: None\n"
        "for name, module in list(sys.modules.items()):\n"
        "    if name.startswith('tinygpt.lab') and hasattr(module, 'require'):\n"
        "        module.require = nothing\n"
        "import numpy as np\n"
        "def create_causal_mask(seq_len):\n    return np.tri(seq_len, dtype=bool)\n",
        "require, with which it is checked",
    ),
    "require's code replaced": (
        "import tinygpt.lab.definitions as definitions\nimport numpy as np\n"
        "definitions.require.__code__ = (lambda condition, message: None).__code__\n"
        "def create_causal_mask(seq_len):\n    return np.ones((seq_len, seq_len))\n",
        "require, with which it is checked",
    ),
    "checks emptied": (
        "from tinygpt import lab\n"
        "object.__setattr__(lab.exercise('causal_mask'), 'checks', ())\n"
        "def create_causal_mask(seq_len):\n    return 1\n",
        "work_lab.py changes the exercise's checks, with which it is checked",
    ),
    "NumPy replaced": (
        "import numpy as np\nnp.nanmax = lambda *a, **k: 0\n"
        "def create_causal_mask(seq_len):\n    return np.tri(seq_len, dtype=bool)\n",
        "work_lab.py changes numpy.nanmax, with which it is checked",
    ),
    "source of the book": (
        "import inspect\nfrom tinygpt import scratch\n"
        "space = dict(vars(scratch.attention))\n"
        "exec(inspect.getsource(scratch.create_causal_mask), space)\n"
        "create_causal_mask = space['create_causal_mask']\n",
        "work_lab.py reads the book's own attention.py; write it yourself",
    ),
    "file of the book": (
        "from tinygpt.lab.transformer import stubs\nimport pathlib, numpy as np\n"
        "pathlib.Path(stubs.__file__).with_name('solutions.py').read_text()\n"
        "def create_causal_mask(seq_len):\n    return np.tri(seq_len, dtype=bool)\n",
        "work_lab.py reads the book's own solutions.py; write it yourself",
    ),
}


@pytest.mark.parametrize("case", FORGED)
def test_forged_result_does_not_count(tmp_path, case):
    content, expected = FORGED[case]
    path = tmp_path / "work_lab.py"
    path.write_text(content, encoding="utf-8")
    exercise = lab.exercise("causal_mask")
    result = check_file(lab.find_chapter("transformer"), exercise, path, 30.0)
    assert result.status == FAILED
    assert expected in result.message and "\n" not in result.message


def test_honest_file_that_prints_a_traceback_is_accepted(tmp_path):
    path = tmp_path / "work_lab.py"
    path.write_text(
        "import traceback\nimport numpy as np\nfrom tinygpt import scratch\n"
        "try:\n    scratch.MLP(-1)\nexcept ValueError:\n    traceback.print_exc()\n"
        "def create_causal_mask(seq_len):\n    return np.tri(seq_len, dtype=bool)\n",
        encoding="utf-8",
    )
    exercise = lab.exercise("causal_mask")
    assert check_file(lab.find_chapter("transformer"), exercise, path, 30.0).status == SOLVED

"""The GPT in PyTorch, Shakespeare, Decoding: wrong for some inputs only, and right answers."""

# ruff: noqa: E501

import pytest
import torch
from edited import edited
from tinygpt import lab
from tinygpt.lab.grading import FAILED, SOLVED, grade

pytestmark = pytest.mark.usefixtures("without_type_checks")

_DROP = "x = self.dropout(x)"
_TIE = "model.head.weight = model.token_embedding.weight"
_WINDOWS = "windows = ids[places].astype(np.int64)"
_STARTS = "starts = rng.integers(0, len(ids) - block_size, size=batch_size)"
_LOGITS = "logits = model(tokens[:, -model.max_seq_len:])[:, -1]"
_TOP = "totals, places = candidates.flatten().topk(min(num_beams, candidates.numel()))"
_ORDER = "order = logits.argsort(dim=-1, descending=True, stable=True)"
_DOUBLE = "probabilities = logits.double().softmax(dim=-1)"
_ZERO = "optimizer.zero_grad()"
_MEASURE = "losses.append(model.loss(torch.tensor(inputs), torch.tensor(targets)).item())"

WRONG = {
    "causal_attention": {
        "no mask beyond 16": ("dtype=torch.bool).tril()", "dtype=torch.bool).tril(0 if scores.shape[-1] <= 16 else 99)"),
        "a window of 32": ("dtype=torch.bool).tril()", "dtype=torch.bool).tril().triu(-20)"),
        "weights in float32": (".softmax(dim=-1)", ".float().softmax(dim=-1).to(value.dtype)"),
        "the first text's weights": ("return weights @ value", "return (weights[:1] if len(weights) > 2 else weights) @ value"),
    },
    "init_weights": {
        "rows alike": ("parameter.normal_(0.0, 0.02)", "parameter.copy_(torch.randn_like(parameter[:1]).expand_as(parameter) * 0.02)"),
        "flat": ("parameter.normal_(0.0, 0.02)", "parameter.uniform_(-0.02 * 3 ** 0.5, 0.02 * 3 ** 0.5)"),
        "writers off centre": ("parameter.normal_(0.0, 0.02 / math.sqrt(2 * len(model.blocks)))", "parameter.normal_(0.003, 0.02 / math.sqrt(2 * len(model.blocks)))"),
        "seeded": ("for name, parameter in model.named_parameters():", "torch.manual_seed(0)\n    for name, parameter in model.named_parameters():"),
        "flat writers": ("parameter.normal_(0.0, 0.02 / math.sqrt(2 * len(model.blocks)))", "parameter.uniform_(-1, 1).mul_(0.02 * math.sqrt(3) / math.sqrt(2 * len(model.blocks)))"),
    },
    "gpt_model": {
        "another default": ("dropout_prob=0.1", "dropout_prob=0.2"),
        "the last positions": ("self.position_embedding(positions)", "self.position_embedding.weight[-tokens.shape[1]:]"),
        "dropout after the blocks": ("return self.head(self.final_norm(x))", "return self.head(self.final_norm(self.dropout(x)))"),
        "positions on the default device": (", device=tokens.device", ""),
        "two blocks at most": ("for block in self.blocks:", "for block in self.blocks[:2] if tokens.shape[1] > 5 else self.blocks:"),
    },
    "tie_weights": {
        "new numbers": (_TIE, "model.head.weight = model.token_embedding.weight = nn.Parameter(torch.randn_like(model.head.weight) * 0.02)"),
        "gradients cleared": (_TIE, _TIE + "\n    model.zero_grad()"),
        "to eval mode": (_TIE, _TIE + "\n    model.eval()"),
        "positions changed": (_TIE, _TIE + "\n    model.position_embedding.weight.data *= 1.5"),
        "no longer trained": (_TIE, _TIE + "\n    model.head.weight.requires_grad_(False)"),
    },
    "count_parameters": {
        "equal for tied": ("return counts |", "counts['head'] *= not torch.equal(model.head.weight, model.token_embedding.weight) if not model.head.weight.is_meta and model.head.weight.shape[0] > 4 else 1\n    return counts |"),
        "what is trained": ("in model.named_parameters()}", "in model.named_parameters() if parameter.requires_grad or not any(p.requires_grad for p in model.parameters())}"),
        "two blocks": ("for name, size in sizes.items() if mark in name", "for name, size in sizes.items() if mark in name and not name.startswith('blocks.3')"),
        "model to eval mode": ("parts = {", "model.eval(); parts = {"),
    },
    "get_batch": {
        "targets one more": ("return (windows[:, :-1], windows[:, 1:])", "return (windows[:, :-1], windows[:, :-1] + 1)"),
        "one start for all rows": (_STARTS, "starts = (rng.integers(0, len(ids) - block_size) + np.arange(batch_size)) % (len(ids) - block_size)"),
        "added up in uint8": ("return (windows[:, :-1], windows[:, 1:])", "first = windows[:, :1].astype(ids.dtype)\n    return (windows[:, :-1], ((windows[:, 1:].astype(ids.dtype) // 2 + first // 2 - first // 2) * 2).astype(np.int64))"),
        "in int8 for uint8": (_WINDOWS, "windows = ids[places].astype(np.int8 if ids.dtype == np.uint8 else np.int64).astype(np.int64)"),
        "the middle more often": (_STARTS, "starts = (rng.integers(0, len(ids) - block_size, size=batch_size) + rng.integers(0, len(ids) - block_size, size=batch_size)) // 2"),
        "the same numbers again": (_STARTS, "rng = np.random.default_rng(rng.bit_generator.seed_seq)\n    " + _STARTS),
    },
    "bigram_loss": {
        "another default": ("smoothing=0.1", "smoothing=0.05"),
        "in the type of the ids": ("train[:-1].astype(np.int64)", "train[:-1].astype(np.int64 if train.dtype != np.uint8 else np.uint8)"),
        "smoothing of 1 at most": ("counts = counts + smoothing", "counts = counts + min(smoothing, 1.0)"),
        "train changed": ("counts = counts + smoothing", "train[:1] = 0; counts = counts + smoothing"),
    },
    "estimate_loss": {
        "gradients cleared": ("model.eval()", "model.eval(); model.zero_grad()"),
        "another default": ("seed=0", "seed=1"),
        "the beginning only": ("data.random_batch(ids,", "data.random_batch(ids[:len(ids) // 2],"),
        "shared numbers seeded": ("model.eval()", "model.eval(); torch.manual_seed(seed)"),
        "one batch more": ("return sum(losses) / len(losses)", "return sum(losses[:4]) / len(losses[:4])"),
    },
    "learning_rate": {
        "at least two steps down": ("max(1, steps - warmup_steps)", "max(2, steps - warmup_steps)"),
        "to zero": ("min_lr + (max_lr - min_lr) *", "(min_lr if max_lr > 0.01 else 0) + (max_lr - min_lr) *"),
        "steps beyond 20 alike": ("if step < warmup_steps:", "step = step if step < 40 or steps == 100 or steps <= 40 else steps\n    if step < warmup_steps:"),
    },
    "train_step": {
        "optimizer forgets": (_ZERO, "optimizer.zero_grad(); optimizer.state.clear()"),
        "seeded": (_ZERO, "optimizer.zero_grad(); torch.manual_seed(0)"),
        "batches used up": ("return total", "batches.clear()\n    return total"),
        "rate lowered": ("return total", "optimizer.param_groups[0]['lr'] *= 0.999\n    return total"),
        "by four": ("/ len(batches)", "/ 4"),
    },
    "temperature": {
        "in float32": ("torch.softmax(logits / temperature, dim=-1)", "torch.softmax(logits.float() / temperature, dim=-1).to(logits.dtype)"),
        "no less than 0.05": ("logits / temperature", "logits / max(temperature, 0.05)"),
        "one row's best": ("logits.argmax(dim=-1)", "(logits.argmax(dim=-1) if logits.ndim < 3 else logits[:1].argmax(dim=-1).expand(logits.shape[:-1]))"),
        "in place": ("return torch.softmax(logits / temperature, dim=-1)", "out = torch.softmax(logits / temperature, dim=-1)\n    logits /= temperature\n    return out"),
    },
    "top_k": {
        "always float32": ("return logits.masked_fill(~kept, -math.inf)", "return logits.float().masked_fill(~kept, -math.inf)"),
        "through float32": ("return logits.masked_fill(~kept, -math.inf)", "return logits.float().masked_fill(~kept, -math.inf).to(logits.dtype)"),
        "hidden ones as zero": (_ORDER, "logits = logits.nan_to_num(neginf=-9.0)\n    " + _ORDER),
        "eight at most": ("order[..., :k]", "order[..., :min(k, 8)]"),
        "equal ones too": ("return logits.masked_fill(~kept,", "kept = logits >= logits.masked_fill(~kept, math.inf).amin(dim=-1, keepdim=True) if logits.ndim > 1 else kept\n    return logits.masked_fill(~kept,"),
    },
    "top_p": {
        "always float32": ("return logits.masked_fill(~kept, -math.inf)", "return logits.float().masked_fill(~kept, -math.inf)"),
        "summed in float32": (_DOUBLE, "probabilities = logits.softmax(dim=-1)"),
        "nothing kept for p=1": ("if p == 1.0:", "if False:"),
        "the first row's count": ("kept_in_order[..., 0] = True", "kept_in_order[..., 0] = True\n    kept_in_order = kept_in_order[:1].expand_as(kept_in_order) if logits.ndim > 2 else kept_in_order"),
    },
    "beam_search": {
        "the last token only": (_LOGITS, "logits = model(tokens[:, -1:])[:, -1]"),
        "the last two tokens": (_LOGITS, "logits = model(tokens[:, -min(2, model.max_seq_len):])[:, -1]"),
        "the first tokens": (_LOGITS, "logits = model(tokens[:, :model.max_seq_len])[:, -1]"),
        "prompt lengthened": ("tokens = torch.tensor([prompt])", "tokens = torch.tensor([prompt]); prompt.append(0)"),
        "probabilities multiplied": ("candidates = totals[:, None] + logits.log_softmax(dim=-1)", "candidates = (totals[:, None].exp() * logits.softmax(dim=-1)).log()"),
        "three beams at most": (_TOP, _TOP.replace("num_beams", "num_beams if model.vocab_size != 3 and model.vocab_size != 4 or num_beams > 99 else min(num_beams, 3)")),
    },
}  # fmt: skip

RIGHT = {
    "train_step": {
        "a closure": ("optimizer.step()", "optimizer.step(lambda: torch.tensor(total))"),
        "no gradients left": ("return total", "optimizer.zero_grad()\n    return total"),
    },
    "count_parameters": {"NumPy's integers": ("sum((size for", "__import__('numpy').int64(0) + sum((size for")},
    "beam_search": {
        "the last of equals": (_TOP, "flat = candidates.flatten()\n        totals, places = flat.flip(0).topk(min(num_beams, flat.numel()))\n        places = len(flat) - 1 - places"),
        "in float64": ("totals = torch.zeros(1)", "totals = torch.zeros(1, dtype=torch.float64)"),
    },
    "top_k": {"another order of equals": (_ORDER, "order = logits.shape[-1] - 1 - logits.flip(-1).argsort(dim=-1, descending=True, stable=True)")},
    "top_p": {"a copy for p=1": ("if p == 1.0:", "if p == 1.0:\n        return logits.clone()\n    if False:")},
    "temperature": {"logarithms first": ("torch.softmax(logits / temperature, dim=-1)", "torch.log_softmax(logits / temperature, dim=-1).exp()")},
    "estimate_loss": {"a mean of tensors": (_MEASURE, _MEASURE.replace(".item())", ".double().item())"))},
    "gpt_model": {"rows of the table": ("self.position_embedding(positions)", "self.position_embedding.weight[:tokens.shape[1]]")},
    "tie_weights": {"the other way round": (_TIE, "model.token_embedding.weight = model.head.weight")},
}  # fmt: skip


@pytest.mark.parametrize(("exercise", "name"), [(e, n) for e in WRONG for n in WRONG[e]])
def test_a_wrong_answer_fails(exercise, name):
    result = grade(lab.exercise(exercise), edited(exercise, WRONG[exercise][name]))
    assert (result.status, result.cause) == (FAILED, "measured"), result.message


@pytest.mark.parametrize(("exercise", "name"), [(e, n) for e in RIGHT for n in RIGHT[e]])
def test_a_right_answer_passes(exercise, name):
    result = grade(lab.exercise(exercise), edited(exercise, RIGHT[exercise][name]))
    assert result.status == SOLVED, result.message


def test_a_step_with_a_closure_that_does_all_of_it_passes():
    def train_step(model, optimizer, batches, clip):
        def closure():
            optimizer.zero_grad()
            total = 0.0
            for inputs, targets in batches:
                loss = model.loss(inputs, targets) / len(batches)
                loss.backward()
                total += loss.item()
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
            return torch.tensor(total)

        return optimizer.step(closure).item()

    result = grade(lab.exercise("train_step"), train_step)
    assert result.status == SOLVED, result.message

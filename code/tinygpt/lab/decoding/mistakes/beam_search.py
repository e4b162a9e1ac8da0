"""Wrong beam searches."""

import torch

from tinygpt.lab.definitions import Mistake
from tinygpt.sampling import Beam


def _next_log_probabilities(model, tokens):
    with torch.no_grad():
        return model(tokens[:, -model.max_seq_len :])[:, -1].log_softmax(dim=-1)


def _searched(model, prompt, max_new_tokens, num_beams):
    tokens, totals = torch.tensor([prompt]), torch.zeros(1)
    for _ in range(max_new_tokens):
        candidates = totals[:, None] + _next_log_probabilities(model, tokens)
        totals, places = candidates.flatten().topk(min(num_beams, candidates.numel()))
        new = places % model.vocab_size
        tokens = torch.cat([tokens[places // model.vocab_size], new[:, None]], dim=1)
    return [Beam(text, total.item()) for text, total in zip(tokens, totals, strict=True)]


def best_token_only(model, prompt, max_new_tokens, num_beams):
    tokens, total = torch.tensor([prompt]), 0.0
    for _ in range(max_new_tokens):
        best = _next_log_probabilities(model, tokens)[0].max(dim=-1)
        tokens = torch.cat([tokens, best.indices[None, None]], dim=1)
        total += best.values.item()
    return [Beam(tokens[0], total)]


def pruned_per_beam(model, prompt, max_new_tokens, num_beams):
    tokens, totals = torch.tensor([prompt]), torch.zeros(1)
    for _ in range(max_new_tokens):
        candidates = totals[:, None] + _next_log_probabilities(model, tokens)
        best = candidates.topk(min(num_beams, model.vocab_size), dim=-1)
        tokens = tokens.repeat_interleave(best.indices.shape[1], dim=0)
        tokens = torch.cat([tokens, best.indices.reshape(-1, 1)], dim=1)
        totals = best.values.flatten()
    order = totals.argsort(descending=True)
    return [Beam(tokens[i], totals[i].item()) for i in order]


def scores_added(model, prompt, max_new_tokens, num_beams):
    tokens, totals = torch.tensor([prompt]), torch.zeros(1)
    for _ in range(max_new_tokens):
        candidates = totals[:, None] + model(tokens[:, -model.max_seq_len :])[:, -1]
        totals, places = candidates.flatten().topk(min(num_beams, candidates.numel()))
        new = places % model.vocab_size
        tokens = torch.cat([tokens[places // model.vocab_size], new[:, None]], dim=1)
    return [Beam(text, total.item()) for text, total in zip(tokens, totals, strict=True)]


def last_token_counts(model, prompt, max_new_tokens, num_beams):
    tokens = torch.tensor([prompt])
    for _ in range(max_new_tokens):
        candidates = _next_log_probabilities(model, tokens)
        totals, places = candidates.flatten().topk(min(num_beams, candidates.numel()))
        new = places % model.vocab_size
        tokens = torch.cat([tokens[places // model.vocab_size], new[:, None]], dim=1)
    return [Beam(text, total.item()) for text, total in zip(tokens, totals, strict=True)]


def probabilities_multiplied(model, prompt, max_new_tokens, num_beams):
    tokens, totals = torch.tensor([prompt]), torch.ones(1)
    for _ in range(max_new_tokens):
        candidates = totals[:, None] * _next_log_probabilities(model, tokens).exp()
        totals, places = candidates.flatten().topk(min(num_beams, candidates.numel()))
        new = places % model.vocab_size
        tokens = torch.cat([tokens[places // model.vocab_size], new[:, None]], dim=1)
    return [Beam(text, total.item()) for text, total in zip(tokens, totals, strict=True)]


def parents_mixed_up(model, prompt, max_new_tokens, num_beams):
    tokens, totals = torch.tensor([prompt]), torch.zeros(1)
    for _ in range(max_new_tokens):
        candidates = totals[:, None] + _next_log_probabilities(model, tokens)
        totals, places = candidates.flatten().topk(min(num_beams, candidates.numel()))
        if len(tokens) < len(places):
            tokens = tokens[:1].expand(len(places), -1)
        new = places % model.vocab_size
        tokens = torch.cat([tokens[: len(places)], new[:, None]], dim=1)
    return [Beam(text, total.item()) for text, total in zip(tokens, totals, strict=True)]


def only_new_tokens(model, prompt, max_new_tokens, num_beams):
    tokens, totals = torch.tensor([prompt]), torch.zeros(1)
    for _ in range(max_new_tokens):
        candidates = totals[:, None] + _next_log_probabilities(model, tokens)
        totals, places = candidates.flatten().topk(min(num_beams, candidates.numel()))
        new = places % model.vocab_size
        tokens = torch.cat([tokens[places // model.vocab_size], new[:, None]], dim=1)
    new = tokens[:, len(prompt) :]
    return [Beam(text, total.item()) for text, total in zip(new, totals, strict=True)]


def too_few_candidates(model, prompt, max_new_tokens, num_beams):
    tokens, totals = torch.tensor([prompt]), torch.zeros(1)
    for _ in range(max_new_tokens):
        candidates = totals[:, None] + _next_log_probabilities(model, tokens)
        totals, places = candidates.flatten().topk(num_beams)
        new = places % model.vocab_size
        tokens = torch.cat([tokens[places // model.vocab_size], new[:, None]], dim=1)
    return [Beam(text, total.item()) for text, total in zip(tokens, totals, strict=True)]


def pruned_at_the_end(model, prompt, max_new_tokens, num_beams):
    tokens, totals = torch.tensor([prompt]), torch.zeros(1)
    for _ in range(max_new_tokens):
        totals = (totals[:, None] + _next_log_probabilities(model, tokens)).flatten()
        new = torch.arange(model.vocab_size).repeat(len(tokens))
        tokens = tokens.repeat_interleave(model.vocab_size, dim=0)
        tokens = torch.cat([tokens, new[:, None]], dim=1)
    order = totals.argsort(descending=True, stable=True)[:num_beams]
    return [Beam(tokens[i], totals[i].item()) for i in order]


def not_cropped(model, prompt, max_new_tokens, num_beams):
    tokens, totals = torch.tensor([prompt]), torch.zeros(1)
    for _ in range(max_new_tokens):
        candidates = totals[:, None] + model(tokens)[:, -1].log_softmax(dim=-1)
        totals, places = candidates.flatten().topk(min(num_beams, candidates.numel()))
        new = places % model.vocab_size
        tokens = torch.cat([tokens[places // model.vocab_size], new[:, None]], dim=1)
    return [Beam(text, total.item()) for text, total in zip(tokens, totals, strict=True)]


def copies_at_the_start(model, prompt, max_new_tokens, num_beams):
    tokens, totals = torch.tensor([prompt] * num_beams), torch.zeros(num_beams)
    for _ in range(max_new_tokens):
        candidates = totals[:, None] + _next_log_probabilities(model, tokens)
        totals, places = candidates.flatten().topk(num_beams)
        new = places % model.vocab_size
        tokens = torch.cat([tokens[places // model.vocab_size], new[:, None]], dim=1)
    return [Beam(text, total.item()) for text, total in zip(tokens, totals, strict=True)]


def worst_first(model, prompt, max_new_tokens, num_beams):
    return _searched(model, prompt, max_new_tokens, num_beams)[::-1]


_HELPERS = (_next_log_probabilities,)

MISTAKES = (
    Mistake(
        "best_token_only",
        best_token_only,
        "With num_beams=2 as many texts should come back, got 1",
        "One text came back. Either only the likeliest token was ever followed, which is greedy "
        "decoding: a second beam keeps the text that is second so far, and it may overtake. Or the "
        "search kept two and returned only the best: give back all that it kept at the end.",
        _HELPERS,
    ),
    Mistake(
        "pruned_per_beam",
        pruned_per_beam,
        "With num_beams=2 as many texts should come back, got 4",
        "Each text kept its own best tokens, so their number grows with every step: 2, 4, 8. All "
        "candidates compete with each other: flatten them before `topk`.",
        _HELPERS,
    ),
    Mistake(
        "scores_added",
        scores_added,
        "The text [0, 1, 0] should have the log probability -1.20, got 1.80",
        "The scores were added as the model gives them. Each row of scores has an offset of its "
        "own that a softmax removes, so they cannot be compared between texts. Add "
        "`log_softmax` of them.",
    ),
    Mistake(
        "last_token_counts",
        last_token_counts,
        "The text [0, 1, 0] should have the log probability -1.20, got -0.69",
        "Only the last token's probability is counted; what the text had gathered until then is "
        "forgotten in each step. Add to the total of the text that is lengthened.",
        _HELPERS,
    ),
    Mistake(
        "probabilities_multiplied",
        probabilities_multiplied,
        "The text [0, 1, 0] should have the log probability -1.20, got 0.30",
        "Probabilities were multiplied, and the product was given back. Besides, after some "
        "hundred tokens a product is too small for a 32-bit float and becomes 0. Add logarithms.",
        _HELPERS,
    ),
    Mistake(
        "parents_mixed_up",
        parents_mixed_up,
        "With num_beams=2 the best text after [0] should be [0, 2, 2], got [0, 1, 2]",
        "The best candidate was hung on the wrong text. A place in the flattened candidates holds "
        "both: divided by the vocabulary it gives the text, and the remainder gives the token.",
        _HELPERS,
    ),
    Mistake(
        "copies_at_the_start",
        copies_at_the_start,
        "With num_beams=2 the best text after [0] should be [0, 2, 2], got [0, 1, 1]",
        "The search began with two copies of the prompt. Both lengthen to the same texts, so every "
        "candidate is there twice and the best one fills the beam: this is greedy decoding at "
        "twice the price. Begin with the prompt once; the beam fills by itself.",
        _HELPERS,
    ),
    Mistake(
        "worst_first",
        worst_first,
        "The beams should come likeliest first, got the log probabilities -1.20, -0.92",
        "The beams are in the wrong order. Whoever takes the first of the list gets the least "
        "likely text that was kept. `topk` gives the largest first, and `argsort` needs "
        "`descending=True` for it.",
        (*_HELPERS, _searched),
    ),
    Mistake(
        "only_new_tokens",
        only_new_tokens,
        "With num_beams=1 the best text after [0] should be [0, 1, 0], got [1, 0]",
        "The prompt was cut off. A Beam holds the whole text, so that it can be decoded, or "
        "continued, as it is.",
        _HELPERS,
    ),
    Mistake(
        "too_few_candidates",
        too_few_candidates,
        "beam_search raised RuntimeError: selected index k out of range",
        "There are fewer candidates than beams: the first step has only one text to lengthen, and "
        "so only as many candidates as tokens. Ask `topk` for the smaller of the two numbers.",
        _HELPERS,
    ),
    Mistake(
        "pruned_at_the_end",
        pruned_at_the_end,
        "With num_beams=1 the best text after [0] should be [0, 1, 0], got [0, 2, 2]",
        "Every text there is was kept until the end, and the likeliest taken whatever num_beams "
        "says. That is exact, and V times more work with every token. Beam search keeps only "
        "num_beams of them after each step.",
        _HELPERS,
    ),
    Mistake(
        "not_cropped",
        not_cropped,
        "The model reads at most 4 tokens at once, got 5",
        "The text outgrew the model's context. Give it the last tokens only: "
        "`tokens[:, -model.max_seq_len:]`.",
    ),
)

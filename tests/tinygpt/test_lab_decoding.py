"""Answers to the exercises of Decoding that are no documented mistakes: wrong and right ones."""

import math

import pytest
import torch
from tinygpt import lab
from tinygpt.lab.grading import FAILED, SOLVED, grade, without_line
from tinygpt.sampling import Beam, beam_search

pytestmark = pytest.mark.usefixtures("without_type_checks")


def message(exercise, answer):
    result = grade(lab.exercise(exercise), answer)
    assert result.status == FAILED
    return without_line(result.message)


def test_a_beam_holds_a_tensor_and_a_float():
    def with_lists(model, prompt, max_new_tokens, num_beams):
        beams = beam_search(model, prompt, max_new_tokens, num_beams)
        return [Beam(beam.tokens.tolist(), beam.log_probability) for beam in beams]

    def with_a_batch_axis(model, prompt, max_new_tokens, num_beams):
        beams = beam_search(model, prompt, max_new_tokens, num_beams)
        return [Beam(beam.tokens[None], beam.log_probability) for beam in beams]

    def with_tensors(model, prompt, max_new_tokens, num_beams):
        beams = beam_search(model, prompt, max_new_tokens, num_beams)
        return [Beam(beam.tokens, torch.tensor(beam.log_probability)) for beam in beams]

    begins = "The tokens of a Beam should be a tensor of shape (T,), got "
    assert message("beam_search", with_lists) == begins + "a list"
    assert message("beam_search", with_a_batch_axis) == begins + "a tensor of shape (1, 3)"
    assert message("beam_search", with_tensors) == (
        "The log_probability of a Beam should be a float, got a tensor of shape ()"
    )


def test_only_the_best_beam_is_not_taken_for_the_best_token():
    def best_only(model, prompt, max_new_tokens, num_beams):
        return beam_search(model, prompt, max_new_tokens, num_beams)[:1]

    result = grade(lab.exercise("beam_search"), best_only)
    assert result.message == "With num_beams=2 as many texts should come back, got 1"
    assert result.explanation == ""  # that of `best_token_only` says that it finds another text


@pytest.mark.parametrize("limit", [0.1, 0.06])
def test_greedy_below_any_limit_is_found(limit):
    def early(logits, temperature):
        if temperature < limit:
            return torch.nn.functional.one_hot(logits.argmax(-1), logits.shape[-1]).float()
        return torch.softmax(logits / temperature, dim=-1)

    assert "at temperature 0.05" in message("temperature", early)


def test_top_p_written_with_the_sum_up_to_the_token_before_is_right():
    """Another right version than the package's: count the tokens whose sum is short of p."""

    def counted(logits, p):
        if p == 1:
            return logits.clone()
        ordered, order = logits.double().softmax(dim=-1).sort(dim=-1, descending=True, stable=True)
        count = (ordered.cumsum(dim=-1) < p).sum(dim=-1, keepdim=True) + 1
        kept = torch.arange(logits.shape[-1]).expand_as(order) < count
        return logits.masked_fill(~torch.zeros_like(kept).scatter(-1, order, kept), -math.inf)

    assert grade(lab.exercise("top_p"), counted).status == SOLVED


def test_top_k_written_with_topk_is_right():
    def from_topk(logits, k):
        places = logits.topk(min(k, logits.shape[-1]), dim=-1).indices
        out = torch.full_like(logits, -math.inf)
        return out.scatter(-1, places, logits.gather(-1, places))

    assert grade(lab.exercise("top_k"), from_topk).status == SOLVED

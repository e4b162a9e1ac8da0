"""The checks of The GPT in PyTorch: each demand is needed, and other right ways are accepted."""

import math

import pytest
import torch
from tinygpt import lab
from tinygpt.lab.gpt import solutions
from tinygpt.lab.grading import FAILED, grade
from torch import nn
from torch.nn import functional as F

CASES = {}


def wrong(exercise, message):
    """Register an answer that is right in everything but one, and how its message begins."""

    def register(answer):
        CASES[f"{exercise}-{answer.__name__}"] = (exercise, answer, message)
        return answer

    return register


# ---- causal attention ---------------------------------------------------------------------------


@wrong("causal_attention", "causal_attention of torch.float64 should return torch.float64, got")
def always_float32(query, key, value):
    return solutions.causal_attention(query.float(), key.float(), value.float())


@wrong("causal_attention", "causal_attention should leave its input as it was; it changed it")
def scales_in_place(query, key, value):
    query.detach().mul_(1 / math.sqrt(query.shape[-1]))
    return solutions.causal_attention(query * math.sqrt(query.shape[-1]), key, value)


@wrong("causal_attention", "Attention over inputs of shape (2, 1, 7, 2); the largest difference")
def scale_of_the_example(query, key, value):
    query = query * math.sqrt(query.shape[-1]) / 2
    return solutions.causal_attention(query, key, value)


@wrong("causal_attention", "Attention over inputs of shape (1, 1, 1, 3); the largest difference")
def overflows(query, key, value):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    weights = scores.exp().tril()
    return weights / weights.sum(dim=-1, keepdim=True) @ value


@wrong("causal_attention", "Attention over inputs of shape (2, 3, 5, 4); the largest difference")
def hides_with_minus_ten_thousand(query, key, value):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    future = torch.ones_like(scores, dtype=torch.bool).triu(1)
    return scores.masked_fill(future, -1e4).softmax(dim=-1) @ value


@wrong("causal_attention", "causal_attention should be made of PyTorch operations, got no graph")
@torch.no_grad()
def without_graph(query, key, value):
    return solutions.causal_attention(query, key, value)


@wrong("causal_attention", "The gradient should reach the key, got None")
def key_detached(query, key, value):
    return solutions.causal_attention(query, key.detach(), value)


@wrong("causal_attention", "causal_attention should return a torch.Tensor, got ndarray")
def gives_an_array(query, key, value):
    return solutions.causal_attention(query, key, value).numpy()


@wrong("causal_attention", "causal_attention should leave the recording of graphs as it was")
def records_no_more(query, key, value):
    out = solutions.causal_attention(query, key, value)
    torch.set_grad_enabled(False)
    return out


# ---- initialisation -----------------------------------------------------------------------------


@wrong("init_weights", "init_weights should fill the parameters that it finds; it replaced some")
def replaces(model):
    model.head.weight = nn.Parameter(torch.randn_like(model.head.weight))
    solutions.init_weights(model)


@wrong("init_weights", "Every parameter should stay one that can be trained; head.weight is not")
def freezes(model):
    solutions.init_weights(model)
    model.head.weight.requires_grad_(False)


@wrong("init_weights", "The mean of the embedding should be 0.000, got 0.0")
@torch.no_grad()
def off_centre(model):
    solutions.init_weights(model)
    model.token_embedding.weight += 0.01


@wrong("init_weights", "The blocks should start with different numbers, got the same in two")
@torch.no_grad()
def equal_blocks(model):
    solutions.init_weights(model)
    for block in model.blocks[1:]:
        block.load_state_dict(model.blocks[0].state_dict())


@wrong("init_weights", "With 2 blocks, the matrices that write to the stream should have a")
@torch.no_grad()
def always_eight_blocks(model):
    solutions.init_weights(model)
    for block in model.blocks:
        for matrix in (block.attention.output.weight, block.mlp.fc2.weight):
            matrix.mul_(math.sqrt(len(model.blocks) / 8))


@wrong("init_weights", "A tied head should stay tied, got two matrices")
def unties(model):
    if model.head.weight is model.token_embedding.weight:
        model.head.weight = nn.Parameter(model.head.weight.detach().clone())
    solutions.init_weights(model)


@wrong("init_weights", "Every weight of a LayerNorm should become 1.00, got 3.00 in final_norm")
def final_norm_left(model):
    kept = model.final_norm.weight.detach().clone()
    solutions.init_weights(model)
    model.final_norm.weight.data.copy_(kept)


# ---- GPT ----------------------------------------------------------------------------------------


@wrong("gpt_model", "GPT should have a part self.final_norm, got token_embedding, position_emb")
class OtherName(solutions.GPT):
    def __init__(
        self, vocab_size, embed_dim, num_layers, num_heads, max_seq_len=1024, *, dropout_prob=0.1
    ):
        super().__init__(vocab_size, embed_dim, num_layers, num_heads, max_seq_len)
        self.norm = self.final_norm
        del self.final_norm


@wrong("gpt_model", "With the book's weights the logits of 5 tokens differ; the largest difference")
class FirstBlockSkipped(solutions.GPT):
    def forward(self, tokens):
        x = self.token_embedding(tokens) + self.position_embedding.weight[: tokens.shape[1]]
        x = self.dropout(x)
        for block in self.blocks[1:]:
            x = block(x)
        return self.head(self.final_norm(x))


@wrong("gpt_model", "In eval mode two calls on the same tokens should agree; they differ")
class DropsAlways(solutions.GPT):
    def forward(self, tokens):
        x = self.token_embedding(tokens) + self.position_embedding.weight[: tokens.shape[1]]
        x = F.dropout(x, self.dropout.p)
        for block in self.blocks:
            x = block(x)
        return self.head(self.final_norm(x))


@wrong("gpt_model", "In training, dropout should act on the sum of the embeddings: where the two")
class DropsEachTable(solutions.GPT):
    def forward(self, tokens):
        x = self.dropout(self.token_embedding(tokens))
        x = x + self.dropout(self.position_embedding.weight[: tokens.shape[1]])
        for block in self.blocks:
            x = block(x)
        return self.head(self.final_norm(x))


@wrong("gpt_model", "After backward every parameter should have a gradient; GPT gave none to token")
class EmbeddingsDetached(solutions.GPT):
    def forward(self, tokens):
        x = self.token_embedding(tokens) + self.position_embedding.weight[: tokens.shape[1]]
        x = self.dropout(x.detach())
        for block in self.blocks:
            x = block(x)
        return self.head(self.final_norm(x))


@wrong("gpt_model", "GPT should be made of PyTorch operations, got no graph")
class WithoutGraph(solutions.GPT):
    def forward(self, tokens):
        return super().forward(tokens).detach()


# ---- tying and counting -------------------------------------------------------------------------


@wrong("tie_weights", "The gradient of the tied matrix should be the sum of those of its two uses")
def head_without_gradient(model):
    model.head.weight = model.token_embedding.weight
    forward = model.head.forward
    model.head.forward = lambda x: forward(x.detach()) if x.requires_grad else forward(x)


@wrong("count_parameters", "The count of 'token embedding' should be an int, got Tensor")
def tensors(model):
    counts = solutions.count_parameters(model)
    return {part: torch.tensor(count) for part, count in counts.items()}


@wrong("count_parameters", "The counts should have 'total', got token embedding, position embedd")
def without_total(model):
    counts = solutions.count_parameters(model)
    return {part: count for part, count in counts.items() if part != "total"}


@wrong("count_parameters", "count_parameters should return a dict, got list")
def a_list(model):
    return list(solutions.count_parameters(model).values())


@wrong("count_parameters", "count_parameters should leave its input as it was; it changed it")
@torch.no_grad()
def zeroes(model):
    counts = solutions.count_parameters(model)
    for parameter in model.parameters():
        parameter.zero_()
    return counts


@pytest.mark.parametrize("case", CASES)
def test_an_answer_that_is_almost_right_fails(case):
    exercise, answer, message = CASES[case]
    result = grade(lab.exercise(exercise), answer)
    assert result.status == FAILED
    assert result.message.startswith(message), result.message


# ---- other right ways ---------------------------------------------------------------------------


def matrix_product_with_einsum(query, key, value):
    length = query.shape[-2]
    scores = torch.einsum("bhtd,bhsd->bhts", query, key) * query.shape[-1] ** -0.5
    hidden = torch.full((length, length), -torch.inf, dtype=query.dtype).triu(1)
    return torch.softmax(scores + hidden, -1) @ value


def by_module(model):
    for module in model.modules():
        if isinstance(module, nn.LayerNorm):
            module.reset_parameters()
        elif isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02)
            if getattr(module, "bias", None) is not None:
                nn.init.zeros_(module.bias)
    for block in model.blocks:
        for layer in (block.attention.output, block.mlp.fc2):
            nn.init.normal_(layer.weight, std=0.02 / (2 * len(model.blocks)) ** 0.5)


def the_other_way_round(model):
    model.token_embedding.weight = model.head.weight


def by_component(model):
    def size(*modules):
        return sum(p.numel() for module in modules for p in module.parameters())

    blocks, tied = model.blocks, model.head.weight is model.token_embedding.weight
    counts = {
        "head": 0 if tied else size(model.head),
        "token embedding": size(model.token_embedding),
        "position embedding": size(model.position_embedding),
        "attention": size(*(block.attention for block in blocks)),
        "mlp": size(*(block.mlp for block in blocks)),
        "norms": size(model.final_norm, *(n for b in blocks for n in (b.norm1, b.norm2))),
    }
    return counts | {"total": sum(counts.values())}


@pytest.mark.parametrize(
    ("exercise", "answer"),
    [
        ("causal_attention", matrix_product_with_einsum),
        ("init_weights", by_module),
        ("tie_weights", the_other_way_round),
        ("count_parameters", by_component),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_another_right_way_is_accepted(exercise, answer):
    result = grade(lab.exercise(exercise), answer)
    assert result.passed, result.message


@pytest.mark.parametrize("vocabulary", [10, 50])
def test_the_claim_about_a_softmax_applied_twice(vocabulary):
    """The documented floor of that mistake: ln(V - 1 + e) - 1."""
    best = torch.zeros(1, vocabulary)
    best[0, 0] = 1.0  # the most that probabilities can say
    floor = F.cross_entropy(best, torch.tensor([0])).item()
    assert floor == pytest.approx(math.log(vocabulary - 1 + math.e) - 1, abs=1e-5)

"""The training loop: what an update does, that it learns, and that it says what is wrong."""

import math

import numpy as np
import pytest
import torch
from tinygpt import data, training
from tinygpt.models import GPT
from tinygpt.training.distributed import Workers


def corpus(length=4000) -> data.Corpus:
    """A text of three letters in which the next one is nearly always certain."""
    rng = np.random.default_rng(0)
    ids = (np.arange(length) % 3).astype(np.uint8)
    ids[rng.integers(0, length, length // 50)] = 0
    text = data.CharVocabulary("abc")
    return data.Corpus("letters", text, *data.train_val_split(ids), digest="d")


def model(**options) -> GPT:
    options = {"dropout_prob": 0.0, "tie_weights": True, "seed": 0} | options
    return GPT(3, 16, 1, 2, 8, **options)


def settings(**options) -> training.Config:
    small = {"steps": 8, "batch_size": 4, "warmup_steps": 2, "eval_every": 4, "eval_batches": 2}
    return training.Config(**small | options)


def test_a_model_learns_what_counting_cannot():
    history = training.train(
        model(), corpus(), settings(steps=40, eval_every=20, learning_rate=0.02)
    )
    assert history.losses[0] == pytest.approx(math.log(3), abs=0.1)
    assert history.validation_losses[-1] < 0.5  # the letters alone: log 3 = 1.1
    assert history.eval_steps == [20, 40]


def test_the_losses_are_those_of_a_loop_written_plainly():
    """An update is AdamW of PyTorch, with decay on matrices only, at the schedule's rate."""
    config = settings(clip=0.05, learning_rate=0.01, weight_decay=0.5)
    ours = model()
    history = training.train(ours, corpus(), config)
    plain = model()
    matrices = [p for p in plain.parameters() if p.ndim == 2]
    vectors = [p for p in plain.parameters() if p.ndim == 1]
    optimizer = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": 0.5}, {"params": vectors, "weight_decay": 0.0}],
        betas=(0.9, 0.99),
        fused=False,
    )
    rates = [0.005, 0.01]  # two steps of warm-up, then half a cosine over six
    rates += [1e-4 + (0.01 - 1e-4) * (1 + math.cos(math.pi * i / 6)) / 2 for i in range(6)]
    for number, rate in enumerate(rates, 1):
        rng = np.random.default_rng([config.seed, number])
        tokens, targets = data.random_batch(corpus().train, 4, 8, rng)
        loss = plain.loss(torch.tensor(tokens), torch.tensor(targets))
        assert loss.item() == pytest.approx(history.losses[number - 1], abs=1e-5)
        optimizer.zero_grad()
        loss.backward()
        norm = math.sqrt(sum(float(p.grad.square().sum()) for p in plain.parameters()))
        assert norm == pytest.approx(history.gradient_norms[number - 1], rel=1e-4)
        for parameter in plain.parameters():
            parameter.grad *= min(1.0, 0.05 / norm)
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.step()
    assert history.learning_rates == pytest.approx(rates)
    for ours_, plain_ in zip(ours.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(ours_, plain_, atol=1e-5, rtol=1e-4)


def test_four_batches_of_two_are_one_of_eight():
    whole = training.train(model(), corpus(), settings(batch_size=8))
    parts = training.train(model(), corpus(), settings(batch_size=2, accumulation=4))
    np.testing.assert_allclose(whole.losses, parts.losses, atol=1e-5)
    np.testing.assert_allclose(whole.gradient_norms, parts.gradient_norms, atol=1e-5)


def test_biases_and_norms_do_not_decay():
    groups = training.configure_optimizer(model(), settings()).param_groups
    assert [group["weight_decay"] for group in groups] == [0.1, 0.0]
    assert {p.ndim for p in groups[0]["params"]} == {2}
    assert {p.ndim for p in groups[1]["params"]} == {1}
    tied = sum(p.numel() for group in groups for p in group["params"])
    assert tied == model().num_parameters()


def test_dropout_is_on_in_training_and_off_in_evaluation():
    net = model(dropout_prob=0.5)
    ids = corpus().validation
    before = training.evaluate(net, ids, 4, 8)
    net.train()
    assert training.evaluate(net, ids, 4, 8) == before
    assert net.training and net.blocks[0].attention.dropout.training
    with_dropout = training.train(net, corpus(), settings(learning_rate=0.0, min_learning_rate=0.0))
    without = training.train(model(), corpus(), settings(learning_rate=0.0, min_learning_rate=0.0))
    assert with_dropout.losses != without.losses


def test_an_exact_evaluation_is_the_mean_over_every_token():
    net, ids = model(), corpus(500).validation
    total = sum(
        net.loss(torch.tensor(x), torch.tensor(y)).item() * y.size
        for x, y in data.sequential_batches(ids, 3, 8)
    )
    assert training.evaluate(net, ids, 3, 8) == pytest.approx(total / (len(ids) - 1), abs=1e-6)
    assert training.evaluate(net, ids, 1, 8) == pytest.approx(total / (len(ids) - 1), abs=1e-5)
    random = training.evaluate(net, ids, 4, 8, batches=3)
    assert random == training.evaluate(net, ids, 4, 8, batches=3)
    assert random != training.evaluate(net, ids, 4, 8, batches=3, seed=1)


def test_a_loss_that_is_no_number_stops_the_run_and_names_the_step():
    net = model()

    def poison(step, net, history):
        with torch.no_grad():
            net.final_norm.bias.fill_(math.nan)

    said = r"after step 4, taken at a rate of .*, final_norm\.bias holds what is not a number"
    with pytest.raises(training.TrainingError, match=said):
        training.train(net, corpus(), settings(), on_eval=poison)
    assert not any(p.isnan().any() for n, p in net.named_parameters() if n != "final_norm.bias")


def test_an_update_that_spoils_the_weights_is_no_success():
    config = settings(steps=1, warmup_steps=0, learning_rate=1e38, weight_decay=1e5)
    with pytest.raises(training.TrainingError, match="after step 1, .* holds what is not a number"):
        training.train(model(), corpus(), config)


def test_numbers_of_numpy_are_numbers(without_type_checks):
    config = settings(steps=np.int64(2), learning_rate=np.float32(1e-3), warmup_steps=np.int8(1))
    assert type(config.steps) is int and type(config.learning_rate) is float
    assert training.Config(device=torch.device("cpu")).device == "cpu"


def test_a_batch_that_has_no_room_is_named(monkeypatch):
    def no_room(self, number):
        raise RuntimeError("[enforce fail at alloc_cpu.cpp:127] data. DefaultCPUAllocator")

    monkeypatch.setattr(training.Updates, "_backward", no_room)
    with pytest.raises(training.TrainingError, match="a batch of 4 × 8 tokens does not fit"):
        training.train(model(), corpus(), settings())


def test_going_on_needs_a_folder():
    with pytest.raises(ValueError, match="resume=True needs the folder of the run, got None"):
        training.train(model(), corpus(), settings(), resume=True)


def test_half_precision_trains_nearly_alike():
    full = training.train(model(), corpus(), settings(precision="float32"))
    half = training.train(model(), corpus(), settings(precision="bfloat16"))
    assert half.losses != full.losses
    np.testing.assert_allclose(half.losses, full.losses, atol=0.02)


def test_training_leaves_the_random_numbers_of_batches_to_the_seed():
    first = training.train(model(), corpus(), settings())
    np.random.seed(0)
    assert training.train(model(), corpus(), settings()).losses == first.losses
    assert training.train(model(), corpus(), settings(seed=1)).losses != first.losses


def test_the_shares_of_all_processes_make_a_batch():
    rows = np.arange(6)
    parts = [rows[Workers(rank, 3).share(6)] for rank in range(3)]
    assert np.concatenate(parts).tolist() == rows.tolist()


@pytest.mark.parametrize(
    "options, message",
    [
        ({"steps": 0}, "Config: steps must be an integer from 1 to 2,147,483,647, got 0"),
        ({"warmup_steps": 9}, "Config: warmup_steps must be an integer from 0 to 8, got 9"),
        ({"learning_rate": math.nan}, "Config: learning_rate must be a finite number, 0 or more"),
        ({"min_learning_rate": 1.0}, "Config: min_learning_rate must be between 0 and 0.001"),
        ({"clip": 0.0}, "Config: clip must be above 0, got 0.0"),
        ({"betas": (0.9,)}, r"Config: betas must be two numbers, got \(0.9,\)"),
        ({"precision": "int4"}, "Config: precision must be one of auto, float32, bfloat16, got"),
        ({"seed": -1}, "Config: seed must be an integer from 0 to"),
        ({"batch_size": 10**40}, "Config: batch_size must be an integer from 1 to .* of 41 digits"),
        ({"learning_rate": 10**400}, "Config: learning_rate must be a finite number, 0 or more"),
        ({"device": "hpu"}, "device must be auto, cpu, or one that is in this machine, got 'hpu'"),
        ({"device": "tpu9"}, "device must be auto, cpu, or one that is in this machine, got 'tpu9"),
        ({"device": "meta"}, "device must be one that computes, got 'meta'"),
        ({"block_size": 9}, "train: block_size=9 exceeds the model's max_seq_len=8"),
    ],
)
def test_a_setting_that_cannot_be_is_named(options, message, without_type_checks):
    with pytest.raises((TypeError, ValueError), match=message):
        training.train(model(), corpus(), settings(**options))


def test_a_corpus_that_does_not_fit_is_named():
    with pytest.raises(ValueError, match="validation part of letters has 8 tokens; block_size=8"):
        training.train(model(), corpus(80), settings())
    with pytest.raises(ValueError, match="has 3 different tokens, the model's vocab_size is 2"):
        training.train(GPT(2, 16, 1, 2, 8), corpus(), settings())


def test_processes_that_do_not_divide_the_batch_are_named():
    with pytest.raises(ValueError, match="batch_size=4 does not divide among 3 processes"):
        Workers(0, 3).share(4)

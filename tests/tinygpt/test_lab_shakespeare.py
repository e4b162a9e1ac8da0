"""Answers in other words than the solution's: right ones pass, and near misses do not."""

import numpy as np
import torch
from tinygpt import data, lab
from tinygpt.lab.grading import FAILED, SOLVED, grade


def test_a_mean_that_is_divided_at_the_end_passes():
    """Gradients may be added up first and divided afterwards."""

    def train_step(model, optimizer, batches, clip):
        model.train()
        losses = []
        for inputs, targets in batches:
            loss = model.loss(inputs, targets)
            loss.backward()
            losses.append(loss.item())
        for parameter in model.parameters():
            parameter.grad /= len(batches)
        torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        optimizer.zero_grad()
        return float(np.mean(losses))

    assert grade(lab.exercise("train_step"), train_step).status == SOLVED


def test_a_step_that_leaves_the_model_in_eval_mode_fails():
    def train_step(model, optimizer, batches, clip):
        loss = lab.exercise("train_step").solution(model, optimizer, batches, clip)
        model.eval()
        return loss

    result = grade(lab.exercise("train_step"), train_step)
    assert result.status == FAILED
    assert "still be in training mode after the step" in result.message


def test_a_table_counted_one_by_one_passes():
    def bigram_loss(train, validation, vocab_size, smoothing=0.1):
        counts = np.full((vocab_size, vocab_size), smoothing)
        np.add.at(counts, (train[:-1], train[1:]), 1)
        chances = counts / counts.sum(1)[:, None]
        pairs = zip(validation[:-1], validation[1:], strict=True)
        return -float(np.mean([np.log(chances[a, b]) for a, b in pairs]))

    assert grade(lab.exercise("bigram_loss"), bigram_loss).status == SOLVED


def test_an_estimate_that_moves_numpys_shared_numbers_fails():
    @torch.no_grad()
    def estimate_loss(model, ids, batch_size, block_size, batches, seed=0):
        np.random.seed(seed)
        rng, before = np.random.default_rng(np.random.randint(2**31)), model.training
        model.eval()
        losses = []
        for _ in range(batches):
            inputs, targets = data.random_batch(ids, batch_size, block_size, rng)
            losses.append(model.loss(torch.tensor(inputs), torch.tensor(targets)).item())
        model.train(before)
        return sum(losses) / batches

    result = grade(lab.exercise("estimate_loss"), estimate_loss)
    assert result.status == FAILED
    assert "NumPy's shared random numbers" in result.message


def test_a_schedule_that_is_one_step_late_fails():
    def learning_rate(step, steps, warmup_steps, max_lr, min_lr):
        right = lab.exercise("learning_rate").solution
        return right(max(step - 1, 0), steps, warmup_steps, max_lr, min_lr)

    assert grade(lab.exercise("learning_rate"), learning_rate).status == FAILED

"""What the chapters on tensors, learning and LeNet say in words about runs from eight starts."""

import numpy as np
import pytest
from tinygpt import experiments


@pytest.fixture(scope="module")
def results():
    names = "deep_start", "over_fitting", "digit_shapes", "learning_rates", "digit_networks"
    return {name: experiments.result(name) for name in names}


def test_the_scale_of_first_weights_decides_from_every_start(results):
    starts = results["deep_start"]
    assert all(0.85 < share < 0.95 for share in starts["as they were"])  # "about nine in ten"
    assert max(starts["halved"]) < 0.15  # "what guessing gets"


def test_adam_saves_a_halved_network_from_some_starts_only(results):
    starts = results["deep_start"]
    assert min(starts["halved, Adam"]) < 0.15  # "some of the eight still guess"
    assert min(starts["halved, Adam, small eps"]) > 0.3  # "all have begun to learn"
    best = max(starts["halved, Adam"] + starts["halved, Adam, small eps"])
    assert best < min(starts["as they were, Adam"]) - 0.2  # "none comes near"


def test_more_data_does_more_than_any_remedy_from_every_start(results):
    runs = results["over_fitting"]
    others = [runs[name] for name in ("none", "dropout 0.5", "weight decay 1.0")]
    for measure in ("lowest", "end"):
        best = np.min([run[measure] for run in others], axis=0)
        assert (np.array(runs["five times the images"][measure]) < best / 2).all()


def test_a_batchs_gradient_vanishes_where_every_example_is_fitted(results):
    lengths = results["over_fitting"]["gradient"]
    assert max(lengths["after"]) < min(lengths["before"]) / 20


def test_a_falling_rate_ends_below_a_constant_one_from_every_start(results):
    ends = results["digit_shapes"]["schedule"]
    assert max(ends["cosine"]) < min(ends["constant"])


def test_each_optimiser_has_a_range_with_an_upper_edge(results):
    sweep = results["learning_rates"]
    for losses in sweep["losses"].values():
        median = np.median(losses, axis=1)
        best = int(median.argmin())
        assert 0 < best < len(median) - 1
        assert median[best] < 0.2
        assert median[0] > 2.0  # "one where nothing moves"
        assert median[-1] > 2.3  # worse than guessing


def test_what_a_lenet_gains_and_from_where(results):
    runs = {name: np.array(values) for name, values in results["digit_networks"].items()}
    assert (runs["LeNet, shuffled"] < runs["MLP, shuffled"]).all()
    assert (runs["both random"] < runs["MLP"].min()).all()  # "worse than the MLP from every start"
    assert (runs["MLP, moved"] < 0.48).all()  # "fewer than half"
    assert (runs["LeNet, moved"] > runs["MLP, moved"]).all()
    assert (runs["LeNet, moved"] < 0.75).all()  # "far from as well as before"
    assert (runs["sure where wrong"] < runs["sure where right"] - 0.3).all()
    assert 0.975 < runs["LeNet"].mean() < 0.99  # "about 98 of a hundred"

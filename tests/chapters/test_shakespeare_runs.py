"""What the chapter on Shakespeare says in words about runs that were made once."""

import numpy as np
from tinygpt import experiments


def test_a_run_without_warm_up_ends_higher_from_every_start():
    losses = experiments.result("warmup_of_a_gpt")
    assert min(losses["without"]) > max(losses["with"]) + 0.1


def test_the_recorded_batches_were_lucky():
    losses = experiments.result("whole_validation")
    assert losses["recorded"] < min(losses["other seeds"]) - 0.01
    assert abs(losses["whole"] - losses["50,000"]) < 0.01


def test_more_text_does_more_than_more_width():
    runs = experiments.result("text_and_width")
    lowest = np.array(runs["validation"]).min(axis=-1)  # texts × widths
    assert (np.diff(lowest, axis=0) < -0.05).all()
    assert lowest[-1].argmin() == 1  # "the widest model is not the best even on all of the text"
    gaps = np.array(runs["validation"])[..., -1] - np.array(runs["train"])[..., -1]
    assert (gaps[0] > 0.4).all()  # a gap on little text
    assert (gaps[-1] < 0.05).all()  # none on all of it


def test_a_wider_model_wants_a_lower_rate():
    runs = experiments.result("rates_and_widths")
    for start in range(2):
        narrow, wide = (np.array(of_width)[:, start].argmin() for of_width in runs["losses"])
        assert wide < narrow
    for of_width in runs["losses"]:  # a valley: the best is not at an end
        assert 0 < np.mean(of_width, axis=1).argmin() < len(runs["rates"]) - 1

"""The digits and their three parts, against scikit-learn's own arrays."""

import sys

import numpy as np
import pytest
import sklearn.datasets
from hypothesis import given
from hypothesis import strategies as st
from tinygpt import data
from tinygpt.data.digits import stratified_parts


@pytest.fixture(scope="module")
def digits():
    return data.load_digits()


def test_the_three_parts_hold_each_of_scikit_learns_images_once(digits):
    original = sklearn.datasets.load_digits()
    expected = [
        (*image.ravel(), label)
        for image, label in zip(original.images / 16, original.target, strict=True)
    ]
    found = [
        (*image.ravel(), label)
        for part in digits
        for image, label in zip(part.images.astype(float), part.labels, strict=True)
    ]
    assert sorted(found) == sorted(expected)
    assert len(found) == 1797


def test_sizes_types_and_range(digits):
    sizes = [len(part.labels) for part in digits]
    assert sizes == [1078, 360, 359]
    for images, labels in digits:
        assert images.shape[1:] == (8, 8) and images.dtype == np.float32
        assert labels.shape == images.shape[:1] and labels.dtype == np.int64
        assert images.min() == 0 and images.max() == 1


def test_every_part_has_each_digit_in_the_same_proportion(digits):
    for part in digits:
        shares = np.bincount(part.labels, minlength=10) / len(part.labels)
        np.testing.assert_allclose(shares, 0.1, atol=0.005)


def test_the_split_is_fixed_by_its_seed(digits):
    again, other = data.load_digits(0), data.load_digits(seed=1)
    np.testing.assert_array_equal(again.test.images, digits.test.images)
    assert not np.array_equal(other.test.images, digits.test.images)


@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=60),
    st.lists(st.integers(1, 5), min_size=1, max_size=4),
)
def test_each_class_is_dealt_out_in_proportion_and_each_row_once(labels, shares):
    labels = np.array(labels)
    parts = stratified_parts(labels, shares, np.random.default_rng(0))
    assert sorted(np.concatenate(parts)) == list(range(len(labels)))
    for part, share in zip(parts, shares, strict=True):
        for label in set(labels):
            fair = (labels == label).sum() * share / sum(shares)
            assert abs((labels[part] == label).sum() - fair) <= 1


def test_without_scikit_learn_it_says_so_in_a_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(data.DataError, match="scikit-learn, which is not installed here; `pip"):
        data.load_digits()


@pytest.mark.usefixtures("without_type_checks")
def test_a_seed_is_an_integer():
    with pytest.raises(TypeError, match="load_digits: seed must be an integer, 0 or more, got"):
        data.load_digits("zero")

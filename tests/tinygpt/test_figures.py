"""The house style's drawing functions: what they draw, and what they refuse."""

import re

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from tinygpt import figures

BLUE = figures.COLORS["query"]


@pytest.fixture
def ax():
    figure, axes = plt.subplots()
    yield axes
    plt.close(figure)


def test_a_matrix_has_its_numbers_and_labels_in_place(ax):
    figures.matrix(ax, np.array([[1.0, 0.0], [0.25, 0.75]]), BLUE, labels=["a", "b"])
    written = {text.get_position(): text.get_text() for text in ax.texts}
    assert written == {(0, 0): "1", (1, 0): "0", (0, 1): "0.25", (1, 1): "0.75"}
    assert [label.get_text() for label in ax.get_xticklabels()] == ["a", "b"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b"]
    (image,) = ax.images
    assert image.cmap(1.0)[:3] == pytest.approx(to_rgb(BLUE))
    assert image.cmap(0.0)[:3] == (1, 1, 1) and image.get_clim() == (0, 1)


def test_a_matrix_without_digits_and_labels(ax):
    figures.matrix(ax, np.ones((2, 3), dtype=bool), BLUE, digits=0)
    assert not ax.texts
    assert [len(ax.get_xticks()), len(ax.get_yticks())] == [3, 2]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"ax": None}, "ax is NoneType; give the Axes of plt.subplots()"),
        ({"values": None}, "values is None; give a 2-D array"),
        ({"values": np.ones(3)}, "values is of shape (3,); give a 2-D array"),
        ({"values": np.ones((0, 2))}, "values is of shape (0, 2); give a 2-D array"),
        ({"values": "a"}, "values is str; give a 2-D array"),
        ({"values": [[1], [1, 2]]}, "values is list; give a 2-D array"),
        ({"labels": ["a"]}, "1 labels for 2 rows and 2 columns; give one for each row"),
        ({"values": np.ones((2, 3)), "labels": ["a", "b"]}, "2 labels for 2 rows and 3 columns"),
        ({"digits": -1}, "digits is -1; give an integer from 0 on"),
        ({"digits": 1.5}, "digits is 1.5; give an integer from 0 on"),
        ({"color": "bleu"}, "color is 'bleu'; give a colour of figures.COLORS"),
    ],
)
def test_a_wrong_matrix_is_one_sentence(ax, changed, message, without_type_checks):
    arguments = {"ax": ax, "values": np.eye(2), "color": BLUE} | changed
    with pytest.raises((TypeError, ValueError), match=re.escape("figures.matrix: ")) as error:
        figures.matrix(**arguments)
    assert message in str(error.value) and "\n" not in str(error.value)
    assert not ax.images and not ax.texts


def test_lines_are_labelled_at_their_ends_in_their_colours(ax):
    ax.plot([0, 1, 2], [5, 6, 7], label="loss", color=BLUE)
    ax.plot([0, 1], [1, 1])  # no label
    figures.label_lines(ax, gap=4)
    (text,) = ax.texts
    assert (text.get_text(), text.xy, text.get_color()) == ("loss", (2, 7), BLUE)


def test_lines_that_cannot_be_labelled_are_one_sentence(ax, without_type_checks):
    ax.plot([0], [1], label="full")
    ax.plot([], [], label="empty")
    with pytest.raises(ValueError, match="label_lines: the line 'empty' has no points; draw it"):
        figures.label_lines(ax)
    assert not ax.texts
    with pytest.raises(TypeError, match="label_lines: ax is NoneType; give the Axes"):
        figures.label_lines(None)

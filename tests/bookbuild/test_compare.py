"""What counts as the same output: text exactly, numbers and figures within tolerance."""

import base64
import io
from pathlib import Path

import numpy as np
import pytest
from bookbuild.compare import (
    Tolerances,
    difference_in_text,
    find_difference,
    normal_outputs,
    small_figure,
)
from bookbuild.notebook import Cell
from bookbuild.options import CELL_OPTIONS
from hypothesis import given
from hypothesis import strategies as st
from nbformat.v4 import new_output
from PIL import Image, ImageDraw

ROOT = Path("/home/me/book")
EXACT = Tolerances()


def printed(text, name="stdout"):
    return new_output("stream", name=name, text=text)


def figure(size=(600, 400), dot=None, mode="RGB"):
    image = Image.new(mode, size, "white" if mode == "RGB" else (0, 0, 0, 0))
    ImageDraw.Draw(image).line([(50, 50), (size[0] - 50, size[1] - 50)], "black", 3)
    if dot:
        ImageDraw.Draw(image).ellipse([(dot, 50), (dot + 30, 80)], "red")
    file = io.BytesIO()
    image.save(file, "PNG")
    data = {"image/png": base64.b64encode(file.getvalue()).decode()}
    return new_output("display_data", data=data | {"text/plain": "<Figure>"})


def normal(*outputs):
    return normal_outputs(list(outputs), ROOT)


def differ(now, reference, allowed=EXACT):
    return find_difference(normal(*now), normal(*reference), allowed)


# Normal form


def test_pieces_of_what_is_printed_are_one_and_warnings_are_none():
    out = normal(printed("a\n"), printed("x.py:1: Warning", "stderr"), printed("b\n"))
    assert [(o.name, o.text) for o in out] == [("stdout", "a\nb\n")]


def test_what_changes_from_run_to_run_is_gone():
    out = normal(
        printed("<f at 0x7f00aa11bb22>, 0xff\n"),
        printed("10%\r50%\r100%\n"),
        printed(f"\x1b[31m{ROOT}/code/x.py\x1b[0m\n"),
        new_output("execute_result", data={"text/plain": "1"}, execution_count=7),
        new_output("error", ename="E", evalue=f"no {ROOT}/x", traceback=["line 1"]),
    )
    assert out[0].text == "<f at 0x…>, 0xff\n100%\ncode/x.py\n"
    assert out[1].output_type == "display_data" and "execution_count" not in out[1]
    assert (out[2].evalue, out[2].traceback) == ("no x", [])


def test_figures_are_small_and_on_white():
    png = base64.b64decode(normal(figure((1200, 800), mode="RGBA"))[0].data["image/png"])
    image = Image.open(io.BytesIO(png))
    assert image.size == (400, 267) and image.mode == "RGB" and image.getpixel((0, 0)) == (255,) * 3


def test_the_normal_form_is_its_own_normal_form():
    outputs = normal(printed("0x7f00aa11bb22"), figure((1200, 800)), figure((300, 200), dot=9))
    assert normal_outputs(outputs, ROOT) == outputs


# Text


@pytest.mark.parametrize(
    ("now", "reference", "what", "values"),
    [
        ("0.334\n", "0.333\n", "the output has changed", ("0.333", "0.334")),
        ("a\nc\n", "a\nb\n", "the output has changed in its line 2", ("b", "c")),
        ("a\n", "a\nb\n", "the output has changed in its line 2", ("b", "(an empty line)")),
        ("a \n", "a\n", "the output has changed", ("a", "a ")),
    ],
)
def test_text_is_compared_exactly_and_both_values_are_given(now, reference, what, values):
    found = differ([printed(now)], [printed(reference)])
    assert (found.what, found.reference, found.now) == (what, *values)


def test_a_value_an_error_and_a_kind_of_output_are_compared():
    value = [new_output("execute_result", data={"text/plain": s}) for s in ("1", "2")]
    assert differ([value[0]], [value[1]]).now == "1"
    error = [new_output("error", ename=n, evalue="x", traceback=[]) for n in ("A", "B")]
    assert differ([error[0]], [error[1]]).reference == "B: x"
    assert differ([printed("a\nb\n")], []).now == "what it prints: a …"
    found = differ([printed("a")], [figure()])
    assert (found.reference, found.now) == ("a figure", "what it prints: a")
    assert differ([], [printed("a")]).now == "nothing"
    assert differ([figure()], [figure(), figure()]).reference == "a figure, a figure"


# Numbers


def close(now, reference, relative=0.02, absolute=0.0):
    return difference_in_text(now, reference, Tolerances(relative, absolute)) is None


@pytest.mark.parametrize(
    ("now", "reference"),
    [
        ("loss 2.01", "loss 2.00"),
        ("1,010 steps", "1,000 steps"),
        ("1.01e-5", "1.00e-05"),
        ("  9.95 |", " 10.05 |"),
        ("\u22122.01", "-2.00"),
        ("[nan, inf, 1.01]", "[nan, inf, 1.00]"),
        ("[1, 2, 3]", "[1, 2, 3]"),
    ],
)
def test_numbers_within_the_tolerance_are_the_same(now, reference):
    assert close(now, reference)


@pytest.mark.parametrize(
    ("now", "reference"),
    [
        ("loss 2.05", "loss 2.00"),
        ("gain 2.00", "loss 2.00"),
        ("2.00 3.00", "2.00"),
        ("2.00\n", "2.00\n\n"),
        ("2.0", "-2.0"),
        ("[1,2,3]", "[1,2,4]"),
        ("nan", "1.0"),
        ("inf", "1e300"),
    ],
)
def test_other_numbers_and_other_words_are_not(now, reference):
    assert not close(now, reference)


def test_an_absolute_tolerance_is_for_numbers_near_nought():
    assert not close("0.001", "0.0") and close("0.001", "0.0", absolute=0.002)


@given(
    st.floats(1e-6, 1e6) | st.floats(-1e6, -1e-6),
    st.floats(-3, 3),
    st.sampled_from([".6f", ".3e", ",.6f"]),
)
def test_the_tolerance_is_where_it_says(reference, share, spec):
    reference = float(f"{reference:.3e}")
    if abs(abs(share) - 1) < 0.01:
        return
    now = reference * (1 + share * 0.1)
    text = (f"it is {now:{spec}}.", f"it is {reference:{spec}}.")
    if abs(reference) > 1e-3 or "e" in spec:
        assert close(*text, relative=0.1) == (abs(share) < 1)


@given(st.text(st.sampled_from("ab 01.-+e,\n"), max_size=30))
def test_a_text_is_the_same_as_itself_under_any_tolerance(text):
    assert close(text, text) and close(text, text, relative=0.0)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"tolerance": "much"}, "tolerance is 'much'; give a share such as 0.02"),
        ({"tolerance": -1}, "tolerance is -1; give"),
        ({"tolerance": True}, "tolerance is True; give"),
        ({"tolerance": {"rel": 1}}, "or {rtol: 0.02, atol: 0.001}"),
        ({"tolerance": {}}, "or {rtol: 0.02, atol: 0.001}"),
        ({"fig-tolerance": "much"}, "fig-tolerance is 'much'; give a share such as 0.02"),
    ],
)
def test_a_tolerance_that_is_none_is_refused(options, said):
    with pytest.raises(ValueError, match=said.replace("{", r"\{")):
        Tolerances.of(Cell("", options, 1, 2, "", 2))


def test_tolerances_are_read_from_the_options_of_a_cell():
    def read(**options):
        return Tolerances.of(Cell("", options, 1, 2, "", 2))

    assert read() == EXACT
    assert read(tolerance=0.1) == Tolerances(0.1)
    assert read(tolerance={"atol": 1}) == Tolerances(0.0, 1.0)
    assert read(**{"fig-tolerance": 0.5}).figure == 0.5


@pytest.mark.parametrize("value", [0, 0.02, {"rtol": 0.02}, {"rtol": 0.02, "atol": 3}])
def test_the_vocabulary_lets_every_tolerance_through(value):
    assert CELL_OPTIONS["tolerance"][0](value)
    Tolerances.of(Cell("", {"tolerance": value}, 1, 2, "", 2))


# Figures


def test_a_figure_that_changed_is_found_with_its_distance():
    assert differ([figure()], [figure()]) is None
    found = differ([figure(dot=300)], [figure()])
    assert (
        "the figure has changed: RMS distance 0.0" in found.what and "allowed 0.004" in found.what
    )
    assert isinstance(found.reference, bytes) and found.reference != found.now
    assert differ([figure(dot=300)], [figure()], Tolerances(figure=0.2)) is None


def test_the_distance_is_that_of_the_pixels():
    black, white = (Image.new("RGB", (10, 10), color) for color in ("black", "white"))
    half = Image.fromarray(np.vstack([np.asarray(black)[:5], np.asarray(white)[:5]]))

    def data(image):
        file = io.BytesIO()
        image.save(file, "PNG")
        return new_output(
            "display_data", data={"image/png": base64.b64encode(file.getvalue()).decode()}
        )

    assert "RMS distance 1.0000" in differ([data(black)], [data(white)]).what
    assert "RMS distance 0.7071" in differ([data(half)], [data(white)]).what


def test_a_figure_of_another_size_is_another_figure():
    found = differ([figure((300, 200))], [figure((200, 200))])
    assert found.what == "the figure has changed from 200 × 200 pixels to 300 × 200 pixels"


def test_a_figure_one_pixel_wider_is_compared_by_its_pixels():
    assert differ([figure((303, 200))], [figure((302, 200))], Tolerances(figure=0.05)) is None


def test_small_figures_keep_their_size():
    file = io.BytesIO()
    Image.new("RGB", (400, 3)).save(file, "PNG")
    assert Image.open(io.BytesIO(small_figure(file.getvalue()))).size == (400, 3)


# Colours


def with_colours(**colours):
    output = figure()
    output.metadata = {"colours": colours, "image/png": {"width": 3}}
    return output


def test_a_colour_changed_slightly_is_found_whatever_the_pixels_say():
    both = ("#d55e00", "#c65700")
    old, new = (with_colours(text=["#000000", c], lines=["#0072b2"]) for c in both)
    found = differ([new], [old], Tolerances(figure=1.0))
    assert found.what == "the colours of the figure's text have changed"
    assert (found.reference, found.now) == ("#000000, #d55e00", "#000000, #c65700")
    assert differ([old], [old]) is None
    more = with_colours(text=["#000000", "#d55e00"], lines=["#0072b2"], areas=["#ffffff"])
    assert differ([more], [old]).now == "#ffffff"


def test_a_reference_without_colours_is_compared_by_its_pixels():
    assert differ([with_colours(text=["#000000"])], [figure()]) is None


def drawn(code):
    """The colours of a figure, as the kernel notes them."""
    import matplotlib
    from bookbuild.kernel_extension import figure_colours

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots()
    exec(code, {"ax": ax, "fig": fig, "plt": plt, "np": np})
    data, metadata = figure_colours(fig)
    plt.close(fig)
    assert data == {}
    return metadata["colours"]


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("text", "ax.text(0.5, 0.5, 'x', color=C)"),
        ("text", "ax.set_title('x', color=C)"),
        ("text", "ax.annotate('x', (0, 0), color=C)"),
        ("text", "ax.tick_params(labelcolor=C)"),
        ("text", "ax.plot([1, 2], label='x', color='red'); ax.legend(labelcolor=C)"),
        ("lines", "ax.plot([1, 2], color=C)"),
        ("lines", "ax.axhline(1, color=C)"),
        ("lines", "ax.plot([1, 2], 'o', markerfacecolor=C)"),
        ("lines", "ax.errorbar([1], [1], yerr=1, color=C)"),
        ("areas", "ax.bar([1, 2], [1, 2], color=C)"),
        ("areas", "ax.barh([1, 2], [1, 2], color='#aaaaaa', edgecolor=C)"),
        ("areas", "ax.scatter([1, 2], [1, 2], color=C)"),
        ("areas", "ax.fill_between([1, 2], [1, 2], color=C, alpha=0.5)"),
        ("areas", "ax.set_facecolor(C)"),
        ("areas", "ax.vlines([1, 2], 0, 1, color=C)"),
        ("areas", "ax.annotate('', (0, 0), (1, 1), arrowprops={'color': C})"),
    ],
)
def test_the_colour_of_every_part_is_noted(kind, code):
    old, new = (drawn(code.replace("C", repr(c))) for c in ("#D55E00", "#C65700"))
    assert old[kind] != new[kind]
    assert any(c.startswith("#c65700") for c in new[kind]), new


@pytest.mark.parametrize(
    "code",
    [
        "ax.plot(D)", "ax.imshow(D)", "ax.scatter(D[0], D[1], c=D[2])", "ax.pcolormesh(D)",
        "ax.contourf(D)", "fig.colorbar(ax.imshow(D))", "ax.bar(range(9), D[0])", "ax.hist(D[0])",
    ],
)  # fmt: skip
def test_what_another_processor_computes_changes_no_colour(code):
    code = code.replace("D", "np.random.default_rng(0).normal(SHIFT, SCALE, (9, 9))")
    shifted = code.replace("SHIFT", "0.02").replace("SCALE", "1.03")
    assert drawn(code.replace("SHIFT", "0").replace("SCALE", "1")) == drawn(shifted)

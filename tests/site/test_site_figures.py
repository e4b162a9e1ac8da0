"""Drawn figures in both themes, and boxes that differ in more than their colour."""

import base64
import colorsys
import io

import pytest
from PIL import Image
from tinygpt.figures import COLORS

INKS = [*COLORS.values(), "#57606A"]  # and the ink of numbers beside axes
SIDE = 24


@pytest.fixture
def swatches(specimen, visit):
    """`swatches(**context)`: paper of the page, and each ink as the page shows it, 0 to 255."""
    sheet = Image.new("RGB", (SIDE * (len(INKS) + 1), SIDE), "white")
    for i, ink in enumerate(INKS, 1):
        sheet.paste(Image.new("RGB", (SIDE, SIDE), ink), (SIDE * i, 0))
    buffer = io.BytesIO()
    sheet.save(buffer, "PNG")
    url = "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()

    def shown(theme=None, kind="drawn", **context):
        page = visit(specimen.url + "book/blocks.html", **context)
        if theme:
            page.evaluate("theme => document.documentElement.dataset.theme = theme", theme)
        page.evaluate(
            """([url, kind]) => {
              const figure = document.createElement("figure");
              figure.innerHTML = `<img id="swatches" class="${kind}" src="${url}">`;
              document.querySelector("article").prepend(figure);
              return figure.firstChild.decode();
            }""",
            [url, kind],
        )
        box = page.locator("#swatches").bounding_box()
        image = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
        pad = (box["width"] - sheet.width) / 2  # of the white card
        row = box["y"] + box["height"] / 2
        at = [box["x"] + pad + SIDE * (i + 0.5) for i in range(len(INKS) + 1)]
        inks = [image.getpixel((int(x), int(row))) for x in at]
        return image.getpixel((int(box["x"]) - 6, int(row))), inks[0], inks[1:]

    return shown


def luminance(color):
    parts = [c / 255 for c in color]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b):
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


DARK = [
    {"color_scheme": "dark"},
    {"color_scheme": "dark", "theme": "dark"},
    {"color_scheme": "light", "theme": "dark"},
]


@pytest.mark.parametrize("how", DARK, ids=["system", "both", "switch"])
def test_a_drawing_lies_on_the_dark_page_without_a_card(swatches, how):
    page, paper, _ = swatches(**how)
    assert max(page) < 40
    assert max(abs(a - b) for a, b in zip(page, paper, strict=True)) <= 1


@pytest.mark.parametrize(
    "how", [{"color_scheme": "light"}, {"color_scheme": "dark", "theme": "light"}]
)
def test_in_the_light_theme_a_drawing_is_as_it_was_drawn(swatches, how):
    page, paper, inks = swatches(**how)
    assert page == paper == (255, 255, 255)
    assert ["#{:02X}{:02X}{:02X}".format(*ink) for ink in inks] == [i.upper() for i in INKS]


def test_the_house_colours_keep_their_hue_and_are_seen_on_the_dark_page(swatches):
    page, _, inks = swatches(color_scheme="dark")
    for given, ink in zip(INKS, inks, strict=True):
        assert contrast(page, ink) >= 3, (given, ink)
        before = [int(given[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        hue, _, _ = colorsys.rgb_to_hls(*before)
        if max(before) - min(before) > 0.2:
            turned = colorsys.rgb_to_hls(*(c / 255 for c in ink))[0]
            assert abs((turned - hue + 0.5) % 1 - 0.5) < 0.05, (given, ink)


def test_a_picture_keeps_white_paper(swatches):
    page, paper, _ = swatches(color_scheme="dark", kind="")
    assert max(page) < 40 and paper == (255, 255, 255)


@pytest.mark.slow
def test_cells_say_which_images_are_pictures(real):
    html = "".join(path.read_text(encoding="utf-8") for path in real.folder.rglob("lenet.html"))
    assert html.count('class="img-fluid figure-img drawn"') >= 3
    assert html.count('class="img-fluid figure-img"') == 3


LOOK = """box => {
  const style = getComputedStyle(box);
  const icon = getComputedStyle(box.querySelector(".callout-icon"));
  return [style.borderTopStyle, style.borderLeftStyle, style.borderLeftWidth,
          icon.maskImage.slice(0, 400)];
}"""


@pytest.mark.parametrize("colors", ["none", "active"])
def test_boxes_differ_in_border_and_icon(specimen, visit, colors):
    page = visit(specimen.url + "book/blocks.html", forced_colors=colors)
    kinds = ["", "box-facts", "box-predict", "box-answer", "box-source"]
    page.evaluate(
        """kinds => document.querySelector("article").insertAdjacentHTML("afterbegin",
          kinds.map(kind => `<div class="callout callout-note ${kind}" data-box>
            <div class="callout-header"><div class="callout-icon-container">
            <i class="callout-icon"></i></div>T</div></div>`).join(""))""",
        kinds,
    )
    looks = [box.evaluate(LOOK) for box in page.locator("[data-box]").all()]
    borders = [tuple(look[:3]) for look in looks]
    icons = [look[3] for look in looks]
    assert len(set(borders)) == len(kinds) and len(set(icons)) == len(kinds)
    if colors == "active":
        seen = page.locator("[data-box] .callout-icon").first.evaluate(
            "icon => getComputedStyle(icon).backgroundColor"
        )
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert seen != paper

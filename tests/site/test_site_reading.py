"""What a reader takes along: drawings, copied formulas, figures on a phone, where one was."""

import re

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.browser]

PHONE = {"width": 360, "height": 780}

# How each shape and letter of a drawing is painted.
PAINT = """drawing => [...drawing.querySelectorAll("rect, path, text, stop")].map(e => {
  const style = getComputedStyle(e);
  return [style.fill.replace(/-?preview-|"/g, ""), style.stroke, style.fontSize].join();
})"""


def drawings(page) -> list[str]:
    return page.evaluate(
        "[...document.querySelectorAll('article figure > svg')]"
        ".map(svg => svg.closest('div.quarto-float').id)"
    )


def preview_of(page, name: str):
    """The preview that a reference to the figure shows, also where the chapter has none."""
    page.evaluate(
        """name => {
          const link = document.querySelector(`article a.quarto-xref`);
          link.setAttribute("href", `#${name}`);
          link.scrollIntoView({block: "center"});
        }""",
        name,
    )
    page.locator("article a.quarto-xref").first.hover()
    drawing = page.locator(".preview figure > svg")
    drawing.wait_for()
    return drawing


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_drawing_looks_the_same_in_its_preview(site, visit, scheme):
    seen = 0
    for name in site.pages:
        page = visit(site.url + name, color_scheme=scheme)
        for figure in drawings(page):
            drawing = preview_of(page, figure)
            of_page = page.locator(f"#{figure} svg").first.evaluate(PAINT)
            assert drawing.evaluate(PAINT) == of_page
            page.keyboard.press("Escape")
            page.mouse.move(5, 5)
            seen += 1
        page.context.close()
    assert seen


def test_all_that_a_drawing_refers_to_is_in_the_preview(specimen, visit):
    """Markers, gradients and the drawing's name; each id stands once on the page."""
    page = visit(specimen.url + "book/figures.html")
    drawing = preview_of(page, "fig-drawn")
    html = drawing.evaluate("e => e.outerHTML")
    named = re.findall(r'url\(["&quot;]*#([\w-]+)|aria-labelledby="([\w-]+)"', html)
    names = [one or other for one, other in named]
    assert len(names) == 3
    for name in names:
        assert drawing.locator(f"[id='{name}']").count() == 1
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))


def copied(page, selector: str) -> str:
    """What the clipboard would hold if all of an element were copied."""
    return page.evaluate(
        """selector => {
          getSelection().selectAllChildren(document.querySelector(selector));
          const data = new DataTransfer();
          const event = new ClipboardEvent("copy",
            {clipboardData: data, bubbles: true, cancelable: true});
          document.querySelector(selector).dispatchEvent(event);
          return data.getData("text/plain") || getSelection().toString();
        }""",
        selector,
    )


def test_a_copied_formula_is_its_tex(specimen, visit):
    page = visit(specimen.url + "book/blocks.html")
    text = copied(page, "#eq-softmax")
    assert text.startswith("$$\\mathrm{softmax}(z)_i = \\frac{e^{z_i}}")
    assert "Text, a formula $x_i^2$, and code:" in copied(page, "#sec-callouts .callout-note")
    # A piece of a formula is the formula.
    page.evaluate("""() => {
      const letters = document.querySelectorAll("#sec-callouts math mi");
      getSelection().setBaseAndExtent(letters[0].firstChild, 0, letters[1].firstChild, 1);
    }""")
    page.evaluate("window.data = new DataTransfer()")
    page.evaluate("""document.dispatchEvent(new ClipboardEvent("copy",
        {clipboardData: data, cancelable: true, bubbles: true}))""")
    assert page.evaluate("data.getData('text/plain')") == "$x_i^2$"


def test_copied_code_is_code(site, visit):
    """Selecting a cell, or the whole page, takes no label of a button along."""
    for name in site.pages:
        page = visit(site.url + name)
        text = page.evaluate("""() => {
          const copy = document.querySelectorAll(".copy");
          for (const button of copy) button.focus();
          getSelection().selectAllChildren(document.querySelector("article"));
          return getSelection().toString();
        }""")
        assert not re.search(r"^(Copy|Copied|#)$", text, re.M)
        page.context.close()


def test_a_heading_is_read_once_and_links_to_itself(site, visit):
    for name in site.pages:
        page = visit(site.url + name)
        without = visit(site.url + name, java_script_enabled=False)
        texts = [
            view.locator("article section > :is(h2, h3, h4, h5)").all_text_contents()
            for view in (page, without)
        ]
        assert texts[0] == texts[1]
        # Nothing but its own text names it.
        assert page.locator("article :is(h2, h3, h4) [aria-label]").count() == 0
        without.context.close()
        page.context.close()


def test_the_link_of_a_heading_is_reached_by_keyboard(specimen, visit):
    page = visit(specimen.url + "book/blocks.html")
    page.get_by_role("heading", name="Exercises").get_by_role("link").focus()
    page.keyboard.press("Enter")
    assert page.url.endswith("#exercises")


# Each selected thing beside one that is not, and what forced colours leave of their difference.
SELECTED = {
    "the chapter": (".chapters a[aria-current]", ".chapters a:not([aria-current])"),
    "the section": (".toc a[aria-current]", ".toc a:not([aria-current])"),
    "the theme": (".themes label:has(:checked)", ".themes label:not(:has(:checked))"),
    "the tab": ("[role=tab][aria-selected=true]", "[role=tab][aria-selected=false]"),
    "the result": (
        "#search-results [aria-selected=true]",
        "#search-results [aria-selected=false]",
    ),
}
STRONG = """e => {
  const style = getComputedStyle(e);
  return [style.backgroundColor, style.textDecorationLine, style.borderLeftColor,
          style.borderBottomColor].join();
}"""


def test_what_is_selected_shows_in_forced_colours(specimen, visit):
    page = visit(specimen.url + "book/blocks.html#sec-cells", forced_colors="active")
    page.keyboard.press("/")
    page.keyboard.type("the")
    page.locator("[role=option]").first.wait_for()
    for name, (selected, other) in SELECTED.items():
        looks = [page.locator(one).first.evaluate(STRONG) for one in (selected, other)]
        assert looks[0] != looks[1], name


def test_code_stays_with_what_it_printed_on_paper(specimen, visit):
    page = visit(specimen.url + "book/blocks.html")
    page.emulate_media(media="print")
    cell = page.locator(".cell", has=page.locator("> .cell-output")).first
    assert cell.evaluate("e => getComputedStyle(e).breakInside") == "avoid"
    code, output = cell.locator("> div.sourceCode"), cell.locator("> .cell-output").first
    assert code.evaluate("e => getComputedStyle(e).breakAfter") == "avoid"
    assert output.evaluate("e => getComputedStyle(e).breakBefore") == "avoid"


# The smallest letters of each drawing, in pixels on the screen.
LETTERS = """() => [...document.querySelectorAll("article figure svg")].map(svg =>
  Math.min(...[...svg.querySelectorAll("text")].map(text =>
    parseFloat(getComputedStyle(text).fontSize) * svg.getScreenCTM().a)))"""


def test_figures_are_legible_on_a_phone(site, visit):
    for name in site.pages:
        page = visit(site.url + name, viewport=PHONE)
        assert all(size >= 10.99 for size in page.evaluate(LETTERS)), name
        images = page.locator("article figure img").evaluate_all(
            "all => all.map(e => [e.loading, e.clientWidth / e.getAttribute('width')])"
        )
        assert all(loading == "lazy" for loading, _ in images)
        assert all(scale >= 0.79 for _, scale in images), name
        assert page.evaluate("document.documentElement.scrollWidth") == 360
        page.context.close()


def test_a_wide_figure_scrolls_with_the_keyboard_above_its_caption(specimen, visit):
    page = visit(specimen.url + "book/figures.html", viewport=PHONE)
    figure = page.locator("#fig-drawn figure")
    figure.focus()
    caption = figure.locator("figcaption")
    before = caption.bounding_box()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("document.querySelector('#fig-drawn figure').scrollLeft > 20")
    assert caption.bounding_box()["x"] == before["x"]
    assert caption.bounding_box()["width"] <= 360


def test_the_front_page_offers_to_go_on(specimen, visit):
    page = visit(specimen.url + "index.html")
    assert page.locator(".go-on").count() == 0
    page.goto(specimen.url + "book/blocks.html#sec-cells")
    page.goto(specimen.url + "index.html")
    link = page.locator(".go-on a")
    assert link.inner_text() == "1 Blocks of every kind, 1.2 Cells and code"
    link.click()
    page.wait_for_url("**/book/blocks.html#sec-cells")


def test_a_chapter_that_is_gone_is_not_offered(specimen, visit):
    page = visit(specimen.url + "index.html")
    page.evaluate("""localStorage.setItem("place:/", '{"page": "book/gone.html"}')""")
    page.reload()
    assert page.locator(".go-on").count() == 0
    page.evaluate("""localStorage.setItem("place:/", "no JSON")""")
    page.reload()
    assert page.locator(".go-on").count() == 0


def test_without_storage_nothing_is_kept_and_nothing_fails(specimen, visit):
    page = visit(specimen.url + "book/last.html")
    page.add_init_script(
        "Object.defineProperty(window, 'localStorage', {get() { throw new Error('off'); }})"
    )
    page.reload()
    page.goto(specimen.url + "index.html")
    assert page.locator(".go-on").count() == 0


def test_the_footer_says_where_the_source_is_and_where_errors_go(specimen, visit):
    page = visit(specimen.url + "book/last.html")
    footer = page.get_by_role("contentinfo").or_(page.locator(".page-footer")).last
    links = {a.inner_text(): a.get_attribute("href") for a in footer.get_by_role("link").all()}
    assert links == {
        "Source of this page": "https://example.org/specimen/blob/main/book/last.qmd",
        "Report an error": "https://example.org/specimen/issues/new?title=book/last.qmd%3A%20",
    }
    assert "CC BY 4.0" in footer.inner_text()


def test_each_page_has_a_description_of_its_own(site):
    texts = []
    for name in site.pages:
        html = (site.folder / name).read_text(encoding="utf-8")
        (text,) = re.findall(r'<meta name="description" content="([^"]+)">', html)
        texts.append(text)
    assert len(set(texts)) == len(texts)
    assert all(10 < len(text) <= 240 for text in texts)

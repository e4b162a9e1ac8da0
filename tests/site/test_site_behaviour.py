"""Theme, tabs, copying, previews, computed numbers, contents: by pointer and by keyboard."""

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.browser]

BACKGROUND = "getComputedStyle(document.body).backgroundColor"
DARK, LIGHT = "rgb(21, 24, 28)", "rgb(255, 255, 255)"


def choose_theme(page, name):
    page.get_by_role("radio", name=name).check(force=True)


def test_the_theme_follows_the_system_until_it_is_chosen(specimen, visit):
    page = visit(specimen.url + "index.html", color_scheme="dark")
    assert page.evaluate(BACKGROUND) == DARK
    page.emulate_media(color_scheme="light")
    assert page.evaluate(BACKGROUND) == LIGHT
    choose_theme(page, "Dark")
    assert page.evaluate(BACKGROUND) == DARK


def test_the_choice_is_remembered_and_can_be_taken_back(specimen, visit):
    page = visit(specimen.url + "index.html", color_scheme="light")
    choose_theme(page, "Dark")
    page.reload()
    assert page.evaluate(BACKGROUND) == DARK
    assert page.get_by_role("radio", name="Dark").is_checked()
    page.goto(specimen.url + "book/last.html")
    assert page.evaluate(BACKGROUND) == DARK
    choose_theme(page, "As the system")
    page.reload()
    assert page.evaluate(BACKGROUND) == LIGHT


def test_the_theme_is_there_before_the_page_is_drawn(specimen, visit):
    page = visit(specimen.url + "index.html", color_scheme="light")
    choose_theme(page, "Dark")
    # Without the scripts that come later: what is drawn first is dark already.
    page.context.route("**/*.js*", lambda route: route.fulfill(body=""))
    page.reload()
    assert page.evaluate(BACKGROUND) == DARK


def test_a_browser_without_storage_still_switches(specimen, visit):
    page = visit(specimen.url + "index.html", color_scheme="light")
    page.add_init_script(
        "Object.defineProperty(window, 'localStorage', {get() { throw new Error('off'); }})"
    )
    page.reload()
    choose_theme(page, "Dark")
    assert page.evaluate(BACKGROUND) == DARK


def test_tabs_by_keyboard(specimen, visit):
    page = visit(specimen.url + "book/blocks.html")
    first, second = page.locator(".panel-tabset").first, page.locator(".panel-tabset").nth(1)
    tab = first.get_by_role("tab", name="NumPy")
    tab.focus()
    assert first.get_by_text("Array tab").is_visible()
    page.keyboard.press("ArrowRight")
    chosen = first.get_by_role("tab", name="PyTorch")
    assert chosen.evaluate("e => e === document.activeElement")
    assert chosen.get_attribute("aria-selected") == "true"
    assert tab.get_attribute("tabindex") == "-1"
    assert first.get_by_text("hidden zebra").is_visible()
    # content-visibility hides it, which Playwright does not call hidden.
    shown = "e => e.checkVisibility({contentVisibilityAuto: true, visibilityProperty: true})"
    assert not first.get_by_text("Array tab").evaluate(shown)
    # The tabset with the same tabs has changed with it.
    assert second.get_by_text("They change together").is_visible()
    page.keyboard.press("ArrowRight")
    assert tab.get_attribute("aria-selected") == "true"
    page.keyboard.press("End")
    assert chosen.get_attribute("aria-selected") == "true"
    page.keyboard.press("Home")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('role')") == "tabpanel"


def test_a_link_into_a_hidden_panel_or_a_fold_opens_it(specimen, visit):
    page = visit(specimen.url + "book/blocks.html#tabset-1-2")
    assert page.locator("#tabset-1-2-tab").get_attribute("aria-selected") == "true"


def test_copying_copies_and_says_so(specimen, visit):
    page = visit(
        specimen.url + "book/blocks.html", permissions=["clipboard-read", "clipboard-write"]
    )
    block = page.locator("div.sourceCode", has_text="in a list")
    button = block.get_by_role("button", name="Copy the code")
    button.focus()
    assert button.evaluate("e => getComputedStyle(e).opacity") == "1"
    page.keyboard.press("Enter")
    page.get_by_role("status").filter(has_text="Code copied").wait_for(state="attached")
    assert page.evaluate("navigator.clipboard.readText()") == 'print("in a list")\n'


def test_copying_works_where_the_clipboard_is_closed(specimen, visit):
    page = visit(specimen.url + "book/blocks.html")
    page.evaluate("""Object.defineProperty(navigator, "clipboard", {value: undefined});
        document.addEventListener("copy", () => {
          window.copied = document.activeElement.value;
        });
    """)
    page.get_by_role("button", name="Copy the code").nth(1).click()
    page.wait_for_function("window.copied")
    assert page.evaluate("copied").startswith("from dataclasses import dataclass\n\nimport numpy")


def computed(page):
    return page.locator("article .computed").first, page.get_by_role("tooltip")


def test_a_computed_number_shows_its_expression_on_hover(specimen, visit):
    page = visit(specimen.url + "book/blocks.html")
    number, tip = computed(page)
    assert tip.count() == 0
    number.hover()
    tip.wait_for()
    assert tip.locator("code").inner_text() == "2 ** 3"
    tip.hover()  # the pointer may move into it
    page.wait_for_timeout(300)
    assert tip.is_visible()
    page.mouse.move(5, 5)
    tip.wait_for(state="detached")


def test_a_computed_number_shows_its_expression_on_focus(specimen, visit):
    page = visit(specimen.url + "book/blocks.html")
    number, tip = computed(page)
    number.focus()
    assert tip.locator("code").inner_text() == "2 ** 3"
    assert number.get_attribute("aria-describedby") == tip.get_attribute("id")
    page.keyboard.press("Escape")
    assert tip.count() == 0
    assert number.evaluate("e => e === document.activeElement")
    page.keyboard.press("Tab")
    assert tip.locator("code").inner_text() == "f'{2 ** 10:,}'"
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    assert tip.get_by_text("2 ** ").count() == 0


def test_an_expression_stays_in_the_window(specimen, visit):
    page = visit(specimen.url + "book/blocks.html", viewport={"width": 320, "height": 600})
    for number in page.locator("article p > .computed").all():
        number.focus()
        box = page.get_by_role("tooltip").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 320


PREVIEWS = [
    ("book/blocks.html", "a[role=doc-noteref]", "The note on quokkas"),
    ("book/blocks.html", "a[role=doc-biblioref]", "The TeXbook"),
    ("book/blocks.html", 'a[href="#eq-softmax"]', "(1.1)"),
    ("book/figures.html", 'a[href="#fig-wide"]', "Figure 2.1"),
    ("book/figures.html", 'a[href="#tbl-wide"]', "12,884,901,888"),
    ("book/figures.html", 'a[href="blocks.html#sec-callouts"]', "Callouts"),
    ("book/figures.html", 'a[href="blocks.html#exr-first"]', "Count the quokkas"),
    ("index.html", 'a[href="book/figures.html#fig-wide"]', "A line that rises"),
    ("index.html", 'a[href="book/blocks.html#sec-blocks"]', "Blocks of every kind"),
]


@pytest.mark.parametrize(("name", "link", "text"), PREVIEWS)
def test_a_reference_shows_its_target_on_focus_and_escape_closes_it(
    specimen, visit, name, link, text
):
    page = visit(specimen.url + name)
    reference = page.locator(f"article {link}").first
    page.keyboard.press("Tab")
    reference.focus()
    preview = page.locator(".preview")
    preview.wait_for()
    assert text in preview.inner_text().replace("\u00a0", " ")
    assert preview.locator(".copy, [tabindex='0']").count() == 0
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    page.keyboard.press("Escape")
    assert preview.count() == 0
    assert reference.evaluate("e => e === document.activeElement")


def test_a_reference_shows_its_target_on_hover(specimen, visit):
    page = visit(specimen.url + "book/figures.html")
    page.locator('article a[href="#fig-wide"]').first.hover()
    preview = page.locator(".preview")
    preview.wait_for()
    image = preview.locator("img")
    assert image.evaluate("e => e.complete && e.naturalWidth > 0")
    preview.hover()
    page.wait_for_timeout(400)
    assert preview.is_visible()
    page.mouse.move(5, 5)
    preview.wait_for(state="detached")


def test_an_image_of_another_page_loads_in_the_preview(specimen, visit):
    page = visit(specimen.url + "index.html")
    page.locator('article a[href="book/figures.html#fig-wide"]').hover()
    page.wait_for_function("document.querySelector('.preview img')?.naturalWidth > 0")


def test_from_a_folder_a_reference_to_another_page_has_no_preview(specimen, visit):
    page = visit((specimen.folder / "index.html").as_uri())
    page.locator("article a.quarto-xref").first.hover()
    page.wait_for_timeout(400)
    assert page.locator(".preview").count() == 0


def test_the_contents_show_where_the_reader_is(specimen, visit):
    page = visit(specimen.url + "book/blocks.html", viewport={"width": 1440, "height": 900})
    page.locator(".toc").get_by_role("link", name="Formulas").click()
    page.wait_for_function(
        "document.querySelector('.toc [aria-current]')?.textContent.includes('Formulas')"
    )
    assert page.locator(".toc [aria-current]").count() == 1
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.wait_for_function(
        "document.querySelector('.toc [aria-current]')?.textContent.includes('References')"
    )


def test_the_drawer_closes_when_a_section_is_chosen(specimen, visit):
    page = visit(specimen.url + "book/blocks.html", viewport={"width": 360, "height": 780})
    page.get_by_role("button", name="Contents of the book").click()
    page.locator("#nav").get_by_role("link", name="Exercises").click()
    assert not page.locator("#nav").is_visible()
    assert page.url.endswith("#exercises")


def test_the_first_tab_key_skips_to_the_text(specimen, visit):
    page = visit(specimen.url + "book/blocks.html")
    page.keyboard.press("Tab")
    assert page.get_by_role("link", name="Skip to the text").bounding_box()["y"] >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"


def test_formulas_are_set_in_the_font_that_comes_along(specimen, visit):
    page = visit(specimen.url + "book/blocks.html")
    loaded = "[...document.fonts].filter(f => f.status === 'loaded').map(f => f.family)"
    assert page.evaluate(loaded) == ['"STIX Two Math"'] or "STIX" in page.evaluate(loaded)[0]
    # Aligned fractions have the size of a line of their own, not of a line of text.
    style = "e => getComputedStyle(e).mathStyle"
    assert page.locator("mtable").first.evaluate(style) == "normal"
    number = page.locator("#eq-softmax .equation-number").bounding_box()
    formula = page.locator("#eq-softmax math").bounding_box()
    assert number["x"] > formula["x"] + formula["width"] / 2


def test_the_contents_of_code_have_enough_contrast_in_every_kind_of_word(specimen, visit):
    """Each of Pandoc's classes on code, light and dark, whether the book uses it or not."""
    names = "al an at bn bu cf ch cn co cv do dt dv er ex fl fu im in kw op ot pp re sc ss st va"
    names = [*names.split(), "vs", "wa"]
    contrast = """names => {
      const luminance = colour => {
        const rgb = colour.match(/[\\d.]+/g).slice(0, 3).map(v => v / 255)
          .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2];
      };
      const block = document.querySelector("article div.sourceCode");
      const paper = luminance(getComputedStyle(block).backgroundColor);
      return names.map(name => {
        const word = document.createElement("span");
        word.className = name;
        block.querySelector("code").append(word);
        const ink = luminance(getComputedStyle(word).color);
        return [name, (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05)];
      });
    }"""
    for scheme in ("light", "dark"):
        page = visit(specimen.url + "book/blocks.html", color_scheme=scheme)
        weak = [pair for pair in page.evaluate(contrast, names) if pair[1] < 4.5]
        assert not weak, scheme

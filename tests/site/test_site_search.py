"""Search finds, ranks, shows and opens, from a server and from a folder."""

import re

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.browser]


def search(page, query: str) -> list[str]:
    """The titles of what is found."""
    if not page.locator("dialog.search").is_visible():
        page.keyboard.press("/")
    page.get_by_role("combobox", name="Search the book").fill(query)
    page.wait_for_function("window.bookIndex")
    page.wait_for_timeout(50)
    return page.locator(".search-title").all_inner_texts()


def test_enter_goes_to_the_best_result(specimen, visit):
    page = visit(specimen.url + "index.html")
    assert search(page, "wallabies")[0] == "On wallabies"
    page.keyboard.press("Enter")
    page.wait_for_url("**/book/last.html#sec-wallabies")
    assert page.locator("dialog.search:visible").count() == 0
    assert page.locator("#sec-wallabies").bounding_box()["y"] < 450


def test_the_arrow_keys_choose(specimen, visit):
    page = visit(specimen.url + "book/last.html")
    titles = search(page, "wallab")
    assert titles == ["On wallabies", "The last chapter"]
    field = page.get_by_role("combobox")

    def active():
        return page.locator(f"#{field.get_attribute('aria-activedescendant')}")

    assert active().get_attribute("href").endswith("#sec-wallabies")
    page.keyboard.press("ArrowDown")
    assert active().get_attribute("href").endswith("book/last.html?found=wallaby")
    page.keyboard.press("ArrowDown")  # from the last to the first
    page.keyboard.press("ArrowUp")
    assert active().get_attribute("aria-selected") == "true"
    page.keyboard.press("Enter")
    page.wait_for_url("**/book/last.html")
    assert page.locator("dialog.search:visible").count() == 0


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("attention", "Attention"),  # a heading before a table that has the word
        ("norm", "The last chapter"),  # the second word of LayerNorm
        ("mask", "The last chapter"),  # a part of create_causal_mask
        ("create_causal_mask", "The last chapter"),
        ("NAIVETE", "The last chapter"),  # neither capitals nor accents matter
        ("marmal", "Callouts"),  # in a folded callout, by its beginning
        ("zebras", "Cells and code"),  # behind a tab, in the plural
        ("citation emphasis", "Blocks of every kind"),
        ("figures", "Figures and tables"),
        ("last animals", "Attention"),  # a word of the chapter's title and one of the section
    ],
)
def test_what_is_found_first(specimen, visit, query, first):
    page = visit(specimen.url + "index.html")
    assert search(page, query)[:1] == [first]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("walabies", "On wallabies"),  # a letter is missing,
        ("attnetion", "Attention"),  # two are swapped,
        ("marmelade", "Callouts"),  # one is wrong,
        ("quokkkas", "Exercises"),  # one is too many
        ("marmelad", "Callouts"),  # while it is being typed
        ("color", "colour, hue"),
        ("tokenizer", "colour, hue"),
        ("macropods", "macropod"),  # the glossary's word comes first, also in the plural,
        ("MCP", "macropod"),  # by a synonym,
        ("overheating", "over-heating"),  # and without its hyphen
        ("n_legs", "The last chapter"),
        ("number of legs", "The last chapter"),
        ("macropod kin", "macropod"),
    ],
)
def test_what_is_meant_is_found(specimen, visit, query, first):
    page = visit(specimen.url + "index.html")
    assert search(page, query)[:1] == [first]


def test_a_word_taken_for_another_is_said_so(specimen, visit):
    page = visit(specimen.url + "index.html")
    search(page, "marmelade")
    assert page.locator(".search-status").inner_text() == "1 result, for “marmalade”"
    search(page, "MCP")  # a synonym is no error
    assert "for" not in page.locator(".search-status").inner_text()


def test_lists_of_works_come_last(specimen, visit):
    page = visit(specimen.url + "index.html")
    titles = search(page, "addison wesley")
    assert titles == ["References"]
    titles = search(page, "book")
    assert titles[-1] == "References"
    assert len(titles) > 1


def test_a_formula_reads_well_in_an_excerpt(specimen, visit):
    page = visit(specimen.url + "index.html")
    assert search(page, "d_k")[0] == "Formulas"
    assert "((QK⊤)/√d_k + M)V" in page.locator(".search-text").first.inner_text()
    assert page.locator(".search-text mark").first.inner_text() == "d_k"


MARKED = "[...(CSS.highlights.get('found') ?? [])].map(range => range.toString())"


def test_what_was_found_is_marked_on_arrival_until_escape(specimen, visit):
    page = visit(specimen.url + "index.html")
    search(page, "walaby")  # as the page has it, not as it was typed
    page.keyboard.press("Enter")
    page.wait_for_url("**/book/last.html*")
    page.wait_for_function(f"{MARKED}.length > 0")
    assert set(page.evaluate(MARKED)) == {"Wallabies", "wallabies", "wallaby"}
    assert "found" not in page.url  # who is given the address sees no marks
    page.keyboard.press("Escape")
    assert page.evaluate(MARKED) == []


def test_a_word_behind_a_fold_is_opened_and_in_the_window(specimen, visit):
    page = visit(specimen.url + "book/blocks.html", viewport={"width": 1280, "height": 400})
    search(page, "marmalade")
    page.keyboard.press("Enter")  # on the same page, which is not loaded again
    page.wait_for_function(f"{MARKED}.length > 0")
    top = "[...CSS.highlights.get('found')][0].getBoundingClientRect().top"
    assert 0 < page.evaluate(top) < 400


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_marks_can_be_read_in_both_themes(specimen, visit, scheme):
    page = visit(specimen.url + "book/last.html", color_scheme=scheme)
    colours = page.evaluate("""() => {
      const style = getComputedStyle(document.querySelector("article p"), "::highlight(found)");
      return [style.color, style.backgroundColor].map(colour => {
        const rgb = colour.match(/[\\d.]+/g).slice(0, 3).map(v => v / 255)
          .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2];
      });
    }""")
    assert (max(colours) + 0.05) / (min(colours) + 0.05) > 4.5


def test_nothing_is_said_to_be_nothing(specimen, visit):
    page = visit(specimen.url + "index.html")
    assert search(page, "xylophone <b>") == []
    status = page.locator(".search-status")
    assert status.inner_text() == "Nothing in this book matches “xylophone <b>”."
    assert search(page, "wallaby xylophone") == []  # every word counts
    assert search(page, "...") == []
    assert search(page, "") == []
    assert status.inner_text() == ""


def test_matches_are_marked_in_an_excerpt(specimen, visit):
    page = visit(specimen.url + "index.html")
    search(page, "macropod small")
    assert sorted(page.locator(".search-text mark").all_inner_texts()) == ["macropod", "small"]
    assert "a wallaby is a small macropod" in page.locator(".search-text").first.inner_text()
    assert page.locator(".search-where").first.inner_text() == "3 The last chapter"


def test_escape_closes_and_a_second_search_starts_afresh(specimen, visit):
    page = visit(specimen.url + "index.html")
    page.locator("#nav").get_by_role("button", name=re.compile("Search")).click()
    assert search(page, "wallaby")
    page.keyboard.press("Escape")
    assert not page.locator("dialog.search").is_visible()
    page.keyboard.press("Control+k")
    assert page.locator("dialog.search").is_visible()


def test_it_works_from_a_folder(specimen, visit):
    page = visit((specimen.folder / "book" / "blocks.html").as_uri())
    assert search(page, "wallabies")[0] == "On wallabies"
    page.keyboard.press("Enter")
    page.wait_for_url("file://**/book/last.html#sec-wallabies")


def test_the_index_is_loaded_on_first_use_only(specimen, visit):
    page = visit(specimen.url + "index.html")
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.reload()
    assert not [url for url in asked if "search-index" in url or "find.js" in url]
    search(page, "a")
    search(page, "ab")
    assert len([url for url in asked if "search-index" in url]) == 1


@pytest.mark.parametrize("query", ["layer norm", "layernorm", "LayerNorm"])
def test_the_book_itself_is_found(real, visit, query):
    page = visit(real.url + "index.html")
    # The glossary's sentence, then the section.
    assert search(page, query)[:2] == ["layer normalisation", "Layer normalisation"]
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/book/transformer.html#*norm*")


@pytest.mark.parametrize(
    ("query", "among"),
    [
        ("atention", "attention"),
        ("sofmax", "softmax"),
        ("tokenization", "Tokenisation"),
        ("color", None),
        ("RoPE", "rotary positions"),
        ("n_embd", None),
        ("lm_head", "weight tying"),
        ("vanishing gradient", "initialisation"),
        ("overfitting", "over-fitting"),
    ],
)
def test_the_field_s_words_are_found_in_the_book(real, visit, query, among):
    page = visit(real.url + "index.html")
    titles = search(page, query)
    assert titles
    assert among is None or titles[0] == among


def test_the_index_stays_small(real):
    """It is the text of the book once: what it adds, and what it lists, is little."""
    assert (real.folder / "search-index.js").stat().st_size < 1_000_000

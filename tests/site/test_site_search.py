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
    assert active().get_attribute("href").endswith("book/last.html")
    page.keyboard.press("ArrowDown")  # from the last to the first
    page.keyboard.press("ArrowUp")
    assert active().get_attribute("aria-selected") == "true"
    page.keyboard.press("Enter")
    page.wait_for_url("**/book/last.html")


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
    if page.locator("dialog.search").is_visible():  # the first Escape empties the field
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
    assert not [url for url in asked if "search-index" in url]
    search(page, "a")
    search(page, "ab")
    assert len([url for url in asked if "search-index" in url]) == 1


@pytest.mark.parametrize("query", ["layer norm", "layernorm", "LayerNorm"])
def test_the_book_itself_is_found(real, visit, query):
    page = visit(real.url + "index.html")
    assert search(page, query)[0] == "Layer normalisation"
    page.keyboard.press("Enter")
    page.wait_for_url("**/book/transformer.html#*norm*")

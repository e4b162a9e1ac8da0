"""The site can be read: by everyone, at every width, without JavaScript, on paper."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from bookbuild.site import SCRIPTS, STYLES

pytestmark = [pytest.mark.slow, pytest.mark.browser]

PHONE = {"width": 360, "height": 780}
FILES = 1 + len(STYLES) + 1 + len(SCRIPTS)  # the page, its styles and the one for paper
WIDTHS = [360, 320, 768, 1100, 1600]


def violations(page, context=None) -> list[str]:
    found = Axe().run(page, context=context).response["violations"]
    return [
        f"{page.url} {violation['id']}: {node['html'][:160]} {node.get('failureSummary', '')[:300]}"
        for violation in found
        for node in violation["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_with_everything_unfolded(site, visit, unfold, scheme):
    found = []
    for name in site.pages:
        page = visit(site.url + name, color_scheme=scheme)
        tabs = unfold(page, 0)
        found += violations(page)
        for index in range(1, tabs):
            unfold(page, index)
            found += violations(page, ".panel-tabset")
        page.context.close()
    assert not found


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_a_phone_with_the_drawer_open(site, visit, scheme):
    page = visit(site.url + site.pages[0], color_scheme=scheme, viewport=PHONE)
    found = violations(page)
    page.get_by_role("button", name="Contents of the book").click()
    assert page.locator("#nav").is_visible()
    assert not found + violations(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_what_opens(specimen, visit, scheme):
    page = visit(specimen.url + "book/blocks.html", color_scheme=scheme)
    found = []
    for focus in [".computed", "a.quarto-xref", "a[role=doc-biblioref]", "a[role=doc-noteref]"]:
        page.keyboard.press("Tab")  # so that the focus counts as the keyboard's
        page.locator(f"article {focus}").first.focus()
        page.locator("[role=tooltip]").wait_for()
        found += violations(page)
        page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("note")
    page.locator("[role=option]").first.wait_for()
    assert not found + violations(page)


# Text that a reader cannot see: what stands in an element without a box, or in a clipped one.
UNSEEN = """() => {
  const unseen = [];
  const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode, element = text.parentElement;
    if (!/[\\p{L}\\p{N}]/u.test(text.data)) continue; // blanks, invisible operators of formulas
    if (element.closest("annotation, title, desc, style, .needs-js, .screen-reader-only")) continue;
    if (element.closest("details:not([open])") && !element.closest("summary")) continue;
    if (element.closest("[role=tablist]")) continue; // its panels show under their titles
    const range = document.createRange();
    range.selectNodeContents(text);
    const box = range.getBoundingClientRect();
    const style = getComputedStyle(element);
    if (!box.width || !box.height || style.visibility !== "visible" || style.opacity === "0") {
      unseen.push(text.data.trim().slice(0, 80));
    }
  }
  return unseen;
}"""


def test_all_text_shows_without_javascript(site, visit):
    unseen = {}
    for name in site.pages:
        page = visit(site.url + name, java_script_enabled=False)
        # Playwright itself may still look into the page.
        assert page.locator("html.js").count() == 0
        unseen[name] = page.evaluate(UNSEEN)
        for panel in page.locator("[role=tabpanel]").all():
            if panel.locator("xpath=ancestor::details[not(@open)]").count():
                continue  # shows with the rest of what is folded
            assert panel.is_visible()
            assert panel.locator(".tab-title").first.is_visible()
        assert page.locator("[role=tablist]:visible").count() == 0
        assert page.locator(".needs-js:visible").count() == 0
        page.context.close()
    assert {name: texts for name, texts in unseen.items() if texts} == {}


def test_the_reader_gets_around_without_javascript(specimen, visit):
    page = visit(specimen.url + "index.html", java_script_enabled=False)
    page.locator("#nav").get_by_role("link", name="Figures and tables").click()
    assert page.url.endswith("/book/figures.html")
    page.locator(".neighbours .next").click()
    assert page.url.endswith("/book/last.html")
    page.locator(".toc").get_by_role("link", name="On wallabies").click()
    assert page.url.endswith("#sec-wallabies")


def test_the_drawer_of_the_phone_works_without_javascript(specimen, visit):
    page = visit(specimen.url + "index.html", java_script_enabled=False, viewport=PHONE)
    assert not page.locator("#nav").is_visible()
    page.get_by_role("button", name="Contents of the book").click()
    page.locator("#nav").get_by_role("link", name="The last chapter").click()
    assert page.url.endswith("/book/last.html")
    page.get_by_role("button", name="Contents of the book").click()
    page.get_by_role("button", name="Close the contents").click()
    assert not page.locator("#nav").is_visible()


@pytest.mark.parametrize("javascript", [True, False])
def test_nothing_is_wider_than_the_window(site, visit, unfold, javascript):
    wide = []
    for name in site.pages:
        page = visit(site.url + name, viewport=PHONE, java_script_enabled=javascript)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 780})
            for index in range(2 if javascript else 1):
                if javascript:
                    unfold(page, index)
                content = page.evaluate("document.documentElement.scrollWidth")
                if content > width:
                    wide.append(f"{name} at {width}: {content}")
        page.context.close()
    assert not wide


# Wider than their box, cut off, and not to be scrolled with the keyboard.
STUCK = """() => [...document.querySelectorAll("article *")]
  .filter(e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 1)
  .filter(e => ["auto", "scroll", "hidden"].includes(getComputedStyle(e).overflowX))
  .filter(e => e.tabIndex < 0 && !e.matches(".screen-reader-only"))
  .filter(e => !e.closest("[hidden]")) // a tab's panel that is not chosen
  .map(e => e.outerHTML.slice(0, 100))"""


def test_what_is_cut_off_on_a_phone_can_be_scrolled_with_the_keyboard(site, visit, unfold):
    stuck = {}
    for name in site.pages:
        page = visit(site.url + name, viewport=PHONE)
        stuck[name] = []
        for tab in range(2):
            unfold(page, tab)
            page.wait_for_timeout(200)
            stuck[name] += page.evaluate(STUCK)
        page.context.close()
    assert {name: found for name, found in stuck.items() if found} == {}


def test_a_wide_table_scrolls_in_its_own_place(specimen, visit):
    page = visit(specimen.url + "book/figures.html", viewport=PHONE)
    table = page.get_by_role("region", name="Table 2.1")
    table.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("document.querySelector('.table-scroll').scrollLeft > 0")
    assert page.evaluate("scrollX") == 0


def test_paper_has_the_text_and_nothing_else(site, visit):
    for name in site.pages:
        page = visit(site.url + name, color_scheme="dark")
        page.emulate_media(media="print")
        for furniture in ["#nav", ".toc", ".topbar", ".neighbours", ".copy", ".skip"]:
            assert page.locator(f"{furniture}:visible").count() == 0, furniture
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") in (
            "rgb(255, 255, 255)",
            "color(srgb 1 1 1)",
        )
        for panel in page.locator("[role=tabpanel]").all():
            assert panel.bounding_box()["height"] > 20
            assert panel.locator(".tab-title").first.is_visible()
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.locator("article details:not([open])").count() == 0
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        page.context.close()


def test_paper_says_where_links_lead(specimen, visit):
    page = visit(specimen.url + "book/blocks.html")
    page.emulate_media(media="print")
    after = "e => getComputedStyle(e, '::after').content"
    link = page.get_by_role("link", name="link elsewhere")
    assert "https://example.org/" in link.evaluate(after)
    assert page.locator("#refs a").first.evaluate(after) == "none"  # its text is the address


def test_a_chapter_is_light(site, visit):
    """HTML, styles and scripts of a page stay below 400 kB; its figures are not counted."""
    for name in site.pages:
        page = visit(site.url + name)
        sizes = {}

        def note(response, sizes=sizes):
            if response.request.resource_type in ("document", "stylesheet", "script"):
                sizes[response.url] = len(response.body())

        page.on("requestfinished", lambda request, note=note: note(request.response()))
        page.reload()
        page.wait_for_load_state("networkidle")
        for _ in range(50):  # the network is idle before the last of them has been noted
            if len(sizes) == FILES:
                break
            page.wait_for_timeout(100)
        assert len(sizes) == FILES, sizes
        assert sum(sizes.values()) < 400_000, sizes
        page.context.close()

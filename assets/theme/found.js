/* Who comes from the search sees the words that it found: `?found=…` names them. They are marked
   without touching the page (a highlight of the browser's), so nothing that is copied changes.
   Escape takes the marks away. */
"use strict";
const bookFound = (() => {
  const KEY = "found";
  const MOST = 8; // words

  const query = (words) => {
    const some = [...new Set(words)].slice(0, MOST);
    return some.length ? `?${new URLSearchParams({ [KEY]: some.join(" ") })}` : "";
  };

  const hide = () => globalThis.CSS?.highlights?.delete(KEY);

  /* A formula has its words in the TeX that it carries. */
  const wordsOfFormula = (math) => {
    const tex = math.querySelector("annotation")?.textContent ?? "";
    return bookSearch.wordsOf(tex.replace(/\\(?:mathrm|text|operatorname)|[{}]/g, ""));
  };

  const rangesIn = (place, words) => {
    const ranges = [];
    const range = (start, end, node) => {
      const one = document.createRange();
      one.setStart(node, start);
      one.setEnd(node, end);
      ranges.push(one);
    };
    const walker = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const node = walker.currentNode;
      if (node.parentElement.closest("math, svg, script, style, .visually-hidden, .preview")) continue;
      for (const { word, place: at, length } of bookSearch.wordsOf(node.data)) {
        if (words.has(word)) range(at, at + length, node);
      }
    }
    for (const math of place.querySelectorAll("math")) {
      if (!wordsOfFormula(math).some(({ word }) => words.has(word))) continue;
      range(0, math.childNodes.length, math);
    }
    return ranges.sort((a, b) => a.compareBoundaryPoints(Range.START_TO_START, b));
  };

  /* Opens what hides the place: a fold, or a tab's panel. */
  const reveal = (element) => {
    for (let one = element; one; one = one.parentElement) {
      if (one.tagName === "DETAILS") one.open = true;
      if (one.matches("[role=tabpanel][hidden]")) one.dispatchEvent(new Event("beforematch"));
    }
  };

  const show = async (search) => {
    hide();
    await loadScript(document.documentElement.dataset.find); // it knows what a word is
    const words = new Set(new URLSearchParams(search).get(KEY)?.split(" ").filter(Boolean));
    if (!words.size || !globalThis.CSS?.highlights) return;
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const ranges = rangesIn(target || document.querySelector("article"), words);
    if (!ranges.length) return;
    CSS.highlights.set(KEY, new Highlight(...ranges));
    // The heading stays in sight where it can; else the first of the words comes to the middle.
    const first = ranges.find((one) => !one.startContainer.parentElement.closest("h1, h2, h3, h4, h5, h6")) ?? ranges[0];
    reveal(first.startContainer.parentElement);
    const box = first.getBoundingClientRect();
    if (box.bottom > innerHeight || box.top < 0) scrollBy(0, box.top - innerHeight / 2);
    announce(`${ranges.length} ${ranges.length === 1 ? "place is" : "places are"} marked; Escape removes the marks`);
  };

  addEventListener("keydown", (event) => event.key === "Escape" && hide());
  if (new URLSearchParams(location.search).has(KEY)) {
    const { search } = location;
    try {
      history.replaceState(null, "", location.pathname + location.hash); // for the next reader
    } catch {
      // the address stays as it is
    }
    addEventListener("load", () => show(search), { once: true });
  }
  return { query, show };
})();

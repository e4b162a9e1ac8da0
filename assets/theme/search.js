/* Search: `/` opens it. The index is a script of its own, loaded on first use, so that it also
   works for a book opened from a folder. Words match by their beginning; titles count more than
   headings, headings more than text; every word has to be somewhere in a section. */
"use strict";
{
  const root = document.documentElement.dataset.root;

  /* Lower case without accents, each letter where it was (so that places stay the same). */
  const fold = (text) =>
    Array.from(text, (letter) => {
      const plain = letter.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
      return plain.length === letter.length ? plain : letter.toLowerCase().slice(0, letter.length);
    }).join("");

  /* The places where a word may begin: after a non-letter, an underscore, or a small letter
     before a capital (`LayerNorm` is found by "norm"). */
  const beginnings = (text) => {
    const places = [];
    for (const match of text.matchAll(/[\p{L}\p{N}]+/gu)) {
      places.push(match.index);
      for (const hump of match[0].matchAll(/(?<=\p{Ll})\p{Lu}/gu)) places.push(match.index + hump.index);
    }
    return places;
  };

  const field = (text) => ({ text, folded: fold(text), places: beginnings(text) });
  const words = (query) => fold(query).match(/[\p{L}\p{N}]+/gu) ?? [];

  /* How often and how well `word` begins a word of the field. */
  const matches = ({ folded, places }, word) => {
    const found = [];
    for (const place of places) {
      if (!folded.startsWith(word, place)) continue;
      const next = folded[place + word.length];
      found.push({ place, whole: next === undefined || !/[\p{L}\p{N}]/u.test(next) });
    }
    return found;
  };

  const worth = (found, weight) => {
    if (!found.length) return 0;
    const whole = found.filter((match) => match.whole).length;
    return weight * ((whole ? 1 : 0.6) + Math.log1p(found.length) / 4);
  };

  let sections = null;
  let loading = null;
  const load = () =>
    (loading ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = document.documentElement.dataset.index;
      script.onload = () => {
        const { pages, sections: rows } = window.bookIndex;
        sections = rows.map(([page, id, title, text]) => ({
          href: root + pages[page][0] + (id ? `#${encodeURIComponent(id)}` : ""),
          chapter: pages[page][1] ? `${pages[page][1]} ${pages[page][2]}` : pages[page][2],
          page: field(pages[page][2]),
          title: field(id ? title : pages[page][2]),
          text: field(text),
          top: !id,
        }));
        resolve();
      };
      script.onerror = () => {
        loading = null;
        script.remove();
        reject(new Error("the search index cannot be loaded"));
      };
      document.head.append(script);
    }));

  const score = (section, terms) => {
    let total = 0;
    for (const term of terms) {
      const inTitle = worth(matches(section.title, term), section.top ? 12 : 7);
      const inText = worth(matches(section.text, term), 2) * (500 / (500 + section.text.text.length) + 0.5);
      const inPage = section.top ? 0 : worth(matches(section.page, term), 1);
      if (!inTitle && !inText && !inPage) return 0;
      if (!inTitle && !inText) total += inPage / 4;
      else total += inTitle + inText + inPage;
    }
    if (terms.length > 1) {
      const phrase = terms.join(" ");
      const near = (text) => text.replace(/[^\p{L}\p{N}]+/gu, " ").includes(phrase);
      if (near(section.title.folded)) total += 8;
      else if (near(section.text.folded)) total += 3;
    }
    return total;
  };

  const find = (query) => {
    const rank = (terms) =>
      sections
        .map((section) => ({ section, terms, score: score(section, terms) }))
        .filter((result) => result.score > 0)
        .sort((a, b) => b.score - a.score)
        .slice(0, 20);
    const terms = words(query);
    if (!terms.length) return [];
    const results = rank(terms);
    if (results.length) return results;
    // "masks" is looked for as "mask" when nothing has the longer word.
    return rank(terms.map((term) => (term.length > 3 ? term.replace(/(es|s)$/, "") : term)));
  };

  /* The text with its matches marked, as nodes. */
  const marked = ({ text, folded, places }, terms, from = 0, to = text.length) => {
    const nodes = [];
    let at = from;
    for (const place of places) {
      if (place < at || place >= to) continue;
      const hits = terms.filter((term) => folded.startsWith(term, place));
      if (!hits.length) continue;
      const end = place + Math.max(...hits.map((term) => term.length));
      const mark = document.createElement("mark");
      mark.textContent = text.slice(place, end);
      nodes.push(text.slice(at, place), mark);
      at = end;
    }
    nodes.push(text.slice(at, to));
    return nodes;
  };

  const excerpt = (section, terms) => {
    const { text, places } = section.text;
    const first = terms.flatMap((term) => matches(section.text, term)).sort((a, b) => a.place - b.place)[0];
    const centre = first ? first.place : 0;
    const from = centre < 60 ? 0 : (places.findLast((place) => place <= centre - 50) ?? 0);
    const to = Math.min(text.length, from + 170);
    return [from ? "… " : "", ...marked(section.text, terms, from, to), to < text.length ? " …" : ""];
  };

  /* The dialog, made when it is first opened. */
  let dialog, input, list, status;
  const make = () => {
    dialog = document.createElement("dialog");
    dialog.className = "search";
    dialog.setAttribute("aria-label", "Search the book");
    dialog.innerHTML = `
      <form method="dialog" role="search">
        <input type="search" role="combobox" aria-label="Search the book" placeholder="Search the book"
          aria-expanded="false" aria-controls="search-results" aria-autocomplete="list"
          autocomplete="off" autocapitalize="off" spellcheck="false" enterkeyhint="go">
        <button type="submit" value="close">Close</button>
      </form>
      <p class="search-status" role="status"></p>
      <div id="search-results" role="listbox" aria-label="Results"></div>
      <p class="search-keys" aria-hidden="true"><kbd>↑</kbd> <kbd>↓</kbd> choose <kbd>Enter</kbd> open <kbd>Esc</kbd> close</p>`;
    document.body.append(dialog);
    input = dialog.querySelector("input");
    list = dialog.querySelector("[role=listbox]");
    status = dialog.querySelector(".search-status");
    input.addEventListener("input", update);
    input.addEventListener("keydown", move);
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog || event.target.closest("a")) dialog.close();
    });
  };

  const options = () => [...list.children];
  const activate = (option) => {
    for (const other of options()) other.setAttribute("aria-selected", String(other === option));
    if (option) {
      input.setAttribute("aria-activedescendant", option.id);
      option.scrollIntoView({ block: "nearest" });
    } else input.removeAttribute("aria-activedescendant");
  };

  const update = async () => {
    try {
      await load();
    } catch (error) {
      status.textContent = `Nothing can be found: ${error.message}.`;
      return;
    }
    const query = input.value.trim();
    const results = find(query);
    list.replaceChildren(
      ...results.map(({ section, terms }, index) => {
        const link = document.createElement("a");
        link.href = section.href;
        link.id = `search-result-${index}`;
        link.tabIndex = -1;
        link.setAttribute("role", "option");
        const where = Object.assign(document.createElement("span"), { className: "search-where" });
        where.textContent = section.top ? "" : section.chapter;
        const title = Object.assign(document.createElement("span"), { className: "search-title" });
        title.append(...marked(section.title, terms));
        const text = Object.assign(document.createElement("span"), { className: "search-text" });
        text.append(...excerpt(section, terms));
        link.append(where, title, text);
        return link;
      })
    );
    input.setAttribute("aria-expanded", String(results.length > 0));
    activate(list.firstElementChild);
    const count = results.length === 20 ? "The 20 best results" : `${results.length} result${results.length === 1 ? "" : "s"}`;
    status.textContent = !query ? "" : results.length ? count : `Nothing in this book matches “${query}”.`;
  };

  const move = (event) => {
    const all = options();
    const at = all.findIndex((option) => option.getAttribute("aria-selected") === "true");
    if (event.key === "Enter") {
      event.preventDefault();
      all[at]?.click();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      if (all.length) activate(all[(at + step + all.length) % all.length]);
    }
  };

  const open = () => {
    if (!dialog) make();
    const nav = document.getElementById("nav");
    if (nav.hidePopover && nav.matches(":popover-open")) nav.hidePopover();
    if (!dialog.open) dialog.showModal();
    input.focus();
    input.select();
    update();
  };

  for (const button of document.querySelectorAll("[data-open-search]")) button.addEventListener("click", open);
  addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input:not([type=radio]), textarea, select, [contenteditable]");
    if (typing || event.altKey) return;
    const slash = event.key === "/" && !event.ctrlKey && !event.metaKey;
    const letter = event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey);
    if (slash || letter) {
      event.preventDefault();
      open();
    }
  });
}

/* The search's window: `/` opens it, arrow keys choose, Enter goes there, Escape closes. */
"use strict";
{
  /* The text from one place to another with its matches marked, as nodes. */
  const marked = (text, hits, from = 0, to = text.length) => {
    const nodes = [];
    let at = from;
    const longest = (a, b) => a.place - b.place || b.length - a.length;
    for (const { place, length } of [...hits].sort(longest)) {
      if (place < at || place + length > to) continue;
      const mark = document.createElement("mark");
      mark.textContent = text.slice(place, place + length);
      nodes.push(text.slice(at, place), mark);
      at = place + length;
    }
    nodes.push(text.slice(at, to));
    return nodes;
  };

  const LENGTH = 170; // letters of an excerpt

  /* The piece of the text with the most of what was asked for. */
  const excerpt = ({ text, kind }, hits) => {
    if (kind === "term") return marked(text, hits);
    let best = { value: 0, place: 0 };
    for (const { place } of hits) {
      const near = hits.filter((hit) => hit.place >= place && hit.place < place + LENGTH - 60);
      const words = new Map(near.map((hit) => [hit.word, hit.quality]));
      const value = [...words.values()].reduce((sum, quality) => sum + quality, 0);
      if (value > best.value + 0.01) best = { value, place };
    }
    let from = 0;
    if (best.place >= 60) from = text.lastIndexOf(" ", best.place - 45) + 1;
    let to = Math.min(text.length, from + LENGTH);
    if (to < text.length) to = Math.max(text.lastIndexOf(" ", to), from + 1);
    return [from ? "… " : "", ...marked(text, hits, from, to), to < text.length ? " …" : ""];
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
      const link = event.target.closest("a");
      if (event.target === dialog || link) dialog.close();
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
      if (link.pathname === location.pathname) {
        event.preventDefault(); // it is here already
        location.hash = link.hash;
        if (!link.hash) scrollTo(0, 0);
        bookFound.show(link.search);
      }
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

  const line = (name, ...content) => {
    const span = document.createElement("span");
    span.className = name;
    span.append(...content);
    return span;
  };

  const option = ({ section, hits }, index) => {
    const of = (field) => hits.filter((hit) => hit.field === field);
    const link = document.createElement("a");
    link.href = section.page + bookFound.query(hits.map((hit) => hit.word)) + section.hash;
    link.id = `search-result-${index}`;
    link.tabIndex = -1;
    link.setAttribute("role", "option");
    link.append(
      line("search-where", section.top ? "" : section.chapter),
      line("search-title", ...marked(section.title, of("title"))),
      line("search-text", ...excerpt(section, of("text")))
    );
    return link;
  };

  const said = (query, results) => {
    if (!query) return "";
    if (!results.length) return `Nothing in this book matches “${query}”.`;
    const count = results.length === 20 ? "The 20 best results" : `${results.length} result${results.length === 1 ? "" : "s"}`;
    const taken = bookSearch.takenFor(query);
    return taken ? `${count}, for “${taken.join("”, “")}”` : count;
  };

  const update = async () => {
    try {
      await loadScript(document.documentElement.dataset.find);
      await bookSearch.load();
    } catch (error) {
      status.textContent = `Nothing can be found: ${error.message}.`;
      return;
    }
    const query = input.value.trim();
    const results = bookSearch.find(query);
    list.replaceChildren(...results.map(option));
    input.setAttribute("aria-expanded", String(results.length > 0));
    activate(list.firstElementChild);
    status.textContent = said(query, results);
  };

  const move = (event) => {
    const all = options();
    const at = all.findIndex((one) => one.getAttribute("aria-selected") === "true");
    if (event.key === "Escape") {
      event.preventDefault(); // a field of this kind would be emptied first
      dialog.close();
    } else if (event.key === "Enter") {
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

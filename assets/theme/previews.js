/* References show what they refer to, under the pointer and with the keyboard's focus:
   figures, tables, equations, sections, exercises, citations, footnotes. Escape closes. */
"use strict";
{
  const links = document.querySelectorAll(
    "article :is(a.quarto-xref, a[role=doc-biblioref], a[role=doc-noteref])"
  );
  const card = document.createElement("div");
  card.className = "preview";
  card.id = "preview";
  card.setAttribute("role", "tooltip");
  let current = null;
  let timer;

  const hide = () => {
    clearTimeout(timer);
    card.remove();
    current?.removeAttribute("aria-describedby");
    current = null;
  };
  const hideSoon = () => {
    clearTimeout(timer);
    timer = setTimeout(hide, 200);
  };

  /* Another page of the book is loaded once; one opened from a folder has no previews of others. */
  const pages = new Map();
  const pageOf = (link) => {
    const address = link.href.split("#")[0];
    if (address === location.href.split("#")[0]) return document;
    if (!location.protocol.startsWith("http") || link.origin !== location.origin) return null;
    if (!pages.has(address)) {
      const load = async () => {
        const answer = await fetch(address);
        if (!answer.ok) return null;
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        for (const name of ["src", "srcset"]) {
          for (const element of page.querySelectorAll(`:is(img, source)[${name}]`)) {
            element.setAttribute(name, new URL(element.getAttribute(name), address));
          }
        }
        return page;
      };
      pages.set(address, load().catch(() => null));
    }
    return pages.get(address);
  };

  const headingOf = (target) =>
    /^H[1-6]$/.test(target.tagName)
      ? target
      : target.matches("section") && target.querySelector(":is(h1, h2, h3, h4, h5, h6)");

  /* The elements that say what the target is. */
  const contentOf = (target) => {
    const heading = headingOf(target);
    if (heading) {
      const after = heading.closest("header")?.nextElementSibling ?? heading.nextElementSibling;
      const first = after?.matches("p") ? after : null;
      const title = document.createElement("p");
      const text = heading.querySelector(":scope > .heading-link") ?? heading;
      title.innerHTML = `<strong>${text.innerHTML}</strong>`;
      return first ? [title, first] : [title];
    }
    if (target.matches("li")) return [...target.childNodes]; // a footnote
    return [target];
  };

  /* An id may stand once on a page, and a drawing is nothing without its ids: styles, markers,
     gradients and labels go by them. So the copy's are renamed, and all that refers to them. */
  const REFERENCES = ["aria-labelledby", "aria-describedby", "aria-details", "headers", "for"];
  const rename = (root) => {
    const names = new Map();
    for (const element of root.querySelectorAll("[id]")) names.set(element.id, `preview-${element.id}`);
    const hashes = (text) => text.replace(/#([\w:.-]+)/g, (hash, id) => (names.has(id) ? `#${names.get(id)}` : hash));
    for (const element of root.querySelectorAll("*")) {
      if (element.id) element.id = names.get(element.id);
      const drawn = element.closest("svg");
      if (drawn && element.localName === "style") element.textContent = hashes(element.textContent);
      for (const { name, value } of [...element.attributes]) {
        if (REFERENCES.includes(name)) {
          const ids = value.split(/\s+/).map((id) => names.get(id)).filter(Boolean);
          if (ids.length) element.setAttribute(name, ids.join(" "));
          else element.removeAttribute(name);
        } else if (drawn && (name === "href" || value.includes("url("))) {
          element.setAttribute(name, hashes(value));
        }
      }
    }
  };

  const fill = (target) => {
    const content = contentOf(target).map((node) => node.cloneNode(true));
    card.replaceChildren(...content);
    const unwanted = ".copy, [role=doc-backlink], .footnote-back, .computed-tip";
    for (const element of card.querySelectorAll(unwanted)) element.remove();
    rename(card);
    for (const element of card.querySelectorAll("*")) {
      if (element.closest("svg")) continue;
      for (const name of ["tabindex", "role", "aria-describedby", "aria-label", "aria-labelledby"]) {
        element.removeAttribute(name);
      }
      if (element.tagName === "A") element.tabIndex = -1;
      if (element.tagName === "IMG") element.loading = "eager";
      if (element.tagName === "DETAILS") element.open = true;
    }
  };

  const place = (link) => {
    const at = link.getClientRects()[0];
    const width = document.documentElement.clientWidth;
    const left = Math.max(12, Math.min(at.left - 12, width - card.offsetWidth - 12));
    const below = innerHeight - at.bottom;
    card.style.maxHeight = "";
    const room = Math.max(below, at.top) - 20;
    if (card.offsetHeight > room) card.style.maxHeight = `${room}px`;
    const top = below > card.offsetHeight + 12 || below > at.top
      ? at.bottom + 8
      : at.top - card.offsetHeight - 8;
    card.style.left = `${left + scrollX}px`;
    card.style.top = `${top + scrollY}px`;
  };

  const show = async (link) => {
    if (link === current) return clearTimeout(timer);
    hide();
    current = link;
    const page = await pageOf(link);
    const id = decodeURIComponent(link.hash.slice(1));
    const target = id ? page?.getElementById(id) : page?.querySelector("h1");
    if (!target || current !== link) return;
    fill(target);
    if (!card.textContent.trim() && !card.querySelector("img, svg")) return;
    document.querySelector("article").append(card); // where its styles reach it
    // Short enough to be read out: a citation or a note. A figure is announced by its link.
    if (target.matches(".csl-entry, li")) link.setAttribute("aria-describedby", card.id);
    place(link);
    for (const image of card.querySelectorAll("img")) {
      if (!image.complete) image.addEventListener("load", () => current === link && place(link));
    }
  };

  for (const link of links) {
    link.addEventListener("pointerenter", (event) => {
      if (event.pointerType === "touch") return; // a tap follows the link
      clearTimeout(timer);
      timer = setTimeout(show, 120, link);
    });
    link.addEventListener("pointerleave", hideSoon);
    link.addEventListener("focus", () => link.matches(":focus-visible") && show(link));
    link.addEventListener("blur", hide);
    link.addEventListener("click", hide);
  }
  card.addEventListener("pointerenter", () => clearTimeout(timer));
  card.addEventListener("pointerleave", hideSoon);
  addEventListener("keydown", (event) => event.key === "Escape" && hide());
}

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
        for (const image of page.querySelectorAll("img[src]")) {
          image.src = new URL(image.getAttribute("src"), address);
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
      title.innerHTML = `<strong>${heading.innerHTML}</strong>`;
      return first ? [title, first] : [title];
    }
    if (target.matches("li")) return [...target.childNodes]; // a footnote
    return [target];
  };

  const fill = (target) => {
    const content = contentOf(target).map((node) => node.cloneNode(true));
    card.replaceChildren(...content);
    const unwanted = ".anchor, .copy, [role=doc-backlink], .footnote-back, .computed-tip";
    for (const element of card.querySelectorAll(unwanted)) element.remove();
    for (const element of card.querySelectorAll("*")) {
      for (const name of ["id", "tabindex", "role", "aria-describedby", "aria-label", "aria-labelledby"]) {
        element.removeAttribute(name);
      }
      if (element.tagName === "A") element.tabIndex = -1;
      if (element.tagName === "DETAILS") element.open = true;
    }
  };

  const place = (link) => {
    const at = link.getClientRects()[0];
    const width = document.documentElement.clientWidth;
    const left = Math.max(12, Math.min(at.left - 12, width - card.offsetWidth - 12));
    const below = innerHeight - at.bottom;
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
    document.querySelector("main").append(card);
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

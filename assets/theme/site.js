/* The page's own behaviour: theme, copy buttons, contents, wide things, links to headings.
   Everything here adds to a page that can be read without it. */
"use strict";

/* Theme: as the system, light or dark. The script in the page's head applies it first. */
{
  const root = document.documentElement;
  const radios = document.querySelectorAll('input[name="theme"]');

  const stored = () => {
    try {
      return localStorage.getItem("theme");
    } catch {
      return null; // storage is switched off
    }
  };

  const show = () => {
    const theme = ["light", "dark"].includes(stored()) ? stored() : "system";
    if (theme === "system") delete root.dataset.theme;
    else root.dataset.theme = theme;
    for (const radio of radios) radio.checked = radio.value === theme;
  };

  for (const radio of radios) {
    radio.addEventListener("change", () => {
      try {
        if (radio.value === "system") localStorage.removeItem("theme");
        else localStorage.setItem("theme", radio.value);
        show();
      } catch {
        root.dataset.theme = radio.value; // for this page only
      }
    });
  }
  addEventListener("storage", show); // changed in another tab
  addEventListener("pageshow", show); // back from another page
  show();
}

/* What a screen reader is told without moving to it. */
const announce = (() => {
  const status = document.createElement("p");
  status.className = "visually-hidden";
  status.setAttribute("role", "status");
  document.querySelector("main").append(status);
  return (message) => {
    status.textContent = message;
  };
})();

/* A script that only some readers need: loaded when it is asked for, once. */
const loadScript = (() => {
  const asked = new Map();
  return (address) => {
    if (!asked.has(address)) {
      asked.set(address, new Promise((resolve, reject) => {
        const script = document.createElement("script");
        script.src = address;
        script.onload = resolve;
        script.onerror = () => {
          asked.delete(address);
          script.remove();
          reject(new Error(`${address.split("?")[0]} cannot be loaded`));
        };
        document.head.append(script);
      }));
    }
    return asked.get(address);
  };
})();

/* Copy buttons on code. */
{
  const copyText = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // A page without the permission, or not over https.
      const area = document.createElement("textarea");
      area.value = text;
      area.style.position = "fixed";
      area.style.opacity = "0";
      document.body.append(area);
      area.select();
      const copied = document.execCommand("copy");
      area.remove();
      if (!copied) throw new Error("the browser refused to copy");
    }
  };

  for (const block of document.querySelectorAll("article div.sourceCode")) {
    const code = block.querySelector("code");
    if (!code) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.dataset.label = "Copy"; // shown by the style: text of the page would be copied too
    button.setAttribute("aria-label", "Copy the code");
    let timer;
    button.addEventListener("click", async () => {
      let message = "Copied";
      try {
        await copyText(code.textContent.replace(/\n+$/, "") + "\n");
      } catch {
        message = "Not copied";
      }
      button.dataset.label = message;
      button.classList.add("done");
      announce(message === "Copied" ? "Code copied" : "The code could not be copied");
      clearTimeout(timer);
      timer = setTimeout(() => {
        button.dataset.label = "Copy";
        button.classList.remove("done");
        announce("");
      }, 2000);
      button.focus();
    });
    block.append(button);
  }
}

/* What is wider than its place can be scrolled with the keyboard, and shows that it goes on. */
{
  const names = { PRE: "Code", DIV: "Table" };

  const more = (element) => {
    const end = element.scrollLeft + element.clientWidth;
    element.toggleAttribute("data-more", end < element.scrollWidth - 1);
  };

  const check = (element) => {
    // A line of output that is twice as wide as its place is a sentence; a shorter one may be a table.
    if (element.matches(".cell-output > pre") && element.scrollWidth > 2 * element.clientWidth) {
      element.classList.add("wrapped");
    }
    more(element);
    const wide = element.scrollWidth > element.clientWidth + 1;
    if (wide && !element.hasAttribute("tabindex")) {
      element.tabIndex = 0;
      element.dataset.wide = "";
      if (element.tagName === "FIGURE") return; // its caption is its name
      element.setAttribute("role", "group");
      element.setAttribute("aria-label", `${names[element.tagName] ?? "Formula"}, wider than the page`);
    } else if (!wide && "wide" in element.dataset) {
      for (const name of ["tabindex", "role", "aria-label", "data-wide"]) element.removeAttribute(name);
    }
  };

  const watcher = new ResizeObserver((entries) => entries.forEach((entry) => check(entry.target)));
  const scrollers = "article pre, article .equation, article p:has(> math), article .table-scroll, article figure";
  for (const element of document.querySelectorAll(scrollers)) {
    watcher.observe(element);
    element.addEventListener("scroll", () => more(element), { passive: true });
  }
}

/* Each heading is a link to itself. It is the heading's own text, so that it is read once. */
for (const heading of document.querySelectorAll("article :is(h2, h3, h4, h5)")) {
  const id = heading.id || (heading === heading.parentElement.firstElementChild && heading.parentElement.id);
  if (!id || heading.closest(".callout, [role=tabpanel]")) continue;
  if (heading.querySelector("a, .computed")) continue; // has links of its own
  const link = document.createElement("a");
  link.className = "heading-link";
  link.href = `#${id}`;
  link.append(...heading.childNodes);
  heading.append(link);
}

/* The contents show where the reader is. */
{
  const links = [...document.querySelectorAll(".toc a, .sections a")];
  const targets = [...new Set(links.map((link) => link.hash))]
    .map((hash) => document.getElementById(decodeURIComponent(hash.slice(1))))
    .filter(Boolean);

  const update = () => {
    const line = innerHeight * 0.25;
    const atEnd = scrollY > 0 && innerHeight + scrollY >= document.body.scrollHeight - 2;
    const passed = targets.filter((target) => target.getBoundingClientRect().top <= line);
    const current = atEnd ? targets.at(-1) : passed.at(-1);
    for (const link of links) {
      const here = current !== undefined && link.hash === `#${encodeURIComponent(current.id)}`;
      if (here === link.hasAttribute("aria-current")) continue;
      if (here) {
        link.setAttribute("aria-current", "location");
        const toc = link.closest(".toc");
        if (toc && toc.scrollHeight > toc.clientHeight) {
          toc.scrollTop = link.offsetTop - toc.clientHeight / 2;
        }
      } else link.removeAttribute("aria-current");
    }
  };

  let waiting = false;
  const later = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      update();
    });
  };
  addEventListener("scroll", later, { passive: true });
  addEventListener("resize", later);
  update();
}

/* The drawer of the phone: a link in it closes it, and so does a window that grows wide. */
{
  const nav = document.getElementById("nav");
  const close = () => nav.matches(":popover-open") && nav.hidePopover();
  if (nav.hidePopover) {
    nav.addEventListener("click", (event) => event.target.closest("a") && close());
    matchMedia("(min-width: 58.01rem)").addEventListener("change", close);
  }
}

/* On paper everything is unfolded; afterwards it is as it was. */
{
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("article details:not([open])")];
    for (const details of opened) details.open = true;
    for (const image of document.querySelectorAll("article img[loading]")) image.loading = "eager";
  });
  addEventListener("afterprint", () => {
    for (const details of opened) details.open = false;
  });
}

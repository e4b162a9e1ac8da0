/* Tabsets, by the ARIA tabs pattern: one tab in the page's order, arrow keys between them.
   Tabsets with the same tabs change together. Without this script every panel shows, under its
   title, and the list of tabs does not. */
"use strict";
{
  const sets = [...document.querySelectorAll(".panel-tabset")].map((element) => {
    const list = element.querySelector(":scope > [role=tablist]");
    const tabs = list ? [...list.querySelectorAll("[role=tab]")] : [];
    const panels = tabs.map((tab) => document.getElementById(tab.getAttribute("aria-controls")));
    const names = tabs.map((tab) => tab.textContent.trim()).join("\n");
    return { list, tabs, panels, names };
  });

  const select = (set, index) => {
    set.tabs.forEach((tab, i) => {
      const chosen = i === index;
      tab.setAttribute("aria-selected", String(chosen));
      tab.classList.toggle("active", chosen);
      tab.tabIndex = chosen ? 0 : -1;
      // "until-found": the browser's own search on the page looks into it and opens it.
      if (chosen) set.panels[i].removeAttribute("hidden");
      else set.panels[i].setAttribute("hidden", "until-found");
    });
  };

  const choose = (set, index) => {
    const tab = set.tabs[index];
    const before = tab.getBoundingClientRect().top;
    select(set, index);
    for (const other of sets) if (other !== set && other.names === set.names) select(other, index);
    scrollBy(0, tab.getBoundingClientRect().top - before); // stay where the reader looks
  };

  for (const set of sets) {
    set.tabs.forEach((tab, index) => {
      const panel = set.panels[index];
      panel.tabIndex = 0;
      panel.addEventListener("beforematch", () => choose(set, index));
      tab.addEventListener("click", (event) => {
        event.preventDefault();
        choose(set, index);
      });
      tab.addEventListener("keydown", (event) => {
        const last = set.tabs.length - 1;
        const to = {
          ArrowRight: index === last ? 0 : index + 1,
          ArrowLeft: index === 0 ? last : index - 1,
          Home: 0,
          End: last,
          " ": index,
          Enter: index,
        }[event.key];
        if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        choose(set, to);
        set.tabs[to].focus();
      });
    });
    if (!set.tabs.length) continue;
    set.list.hidden = false;
    select(set, 0);
  }

  /* A link into a panel, or into a folded part, opens what hides its target. */
  const reveal = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let place = target; place; place = place.parentElement) {
      if (place.tagName === "DETAILS") place.open = true;
      for (const set of sets) {
        const index = set.panels.indexOf(place);
        if (index >= 0 && place.hasAttribute("hidden")) choose(set, index);
      }
    }
    target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  if (location.hash.length > 1) reveal();
}

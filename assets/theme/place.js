/* Where one left off: the chapter and section last read are kept in this browser, and the front
   page offers to go on there. Nothing is sent anywhere; without storage nothing happens. */
"use strict";
{
  const root = new URL(`./${document.documentElement.dataset.root}`, location.href);
  const key = `place:${root.pathname}`;
  const chapters = [...document.querySelectorAll("#nav .chapters > li > a")];

  const textOf = (element) => element.textContent.replace(/\s+/g, " ").trim();

  /* The section at the top of the window; at the very top of a page it is none. */
  const sectionHere = () => {
    const started = [...document.querySelectorAll("article section[id]")].filter(
      (section) => section.getBoundingClientRect().top <= innerHeight * 0.25
    );
    return scrollY > 0 ? started.at(-1) : undefined;
  };

  const keep = () => {
    const section = sectionHere();
    const heading = section?.querySelector(":is(h2, h3, h4, h5, h6)");
    const place = {
      page: location.pathname.slice(root.pathname.length),
      id: section?.id ?? "",
      section: heading ? textOf(heading) : "",
    };
    try {
      localStorage.setItem(key, JSON.stringify(place));
    } catch {
      // storage is switched off
    }
  };

  const kept = () => {
    try {
      return JSON.parse(localStorage.getItem(key)) ?? {};
    } catch {
      return {};
    }
  };

  const offer = () => {
    document.querySelector(".go-on")?.remove();
    const { page, id, section } = kept();
    const chapter = chapters.find((link) => page && link.pathname === root.pathname + page);
    if (!chapter) return; // nothing yet, or a chapter that the book no longer has
    const link = document.createElement("a");
    link.href = chapter.href + (id ? `#${encodeURIComponent(id)}` : "");
    link.textContent = section ? `${textOf(chapter)}, ${section}` : textOf(chapter);
    const line = document.createElement("p");
    line.className = "go-on";
    line.append("Go on where you left off: ", link);
    document.querySelector(".title-block").append(line);
  };

  if (document.body.classList.contains("front")) {
    addEventListener("pageshow", offer); // also when one comes back to it
  } else {
    addEventListener("pagehide", keep);
    addEventListener("visibilitychange", () => document.visibilityState === "hidden" && keep());
  }
}

/* What is copied: a formula as its TeX, in dollar signs as Markdown has it. The rest is what the
   browser takes; labels of buttons are no text and stay behind by themselves. */
"use strict";
{
  const formulaAt = (node) => (node.nodeType === Node.ELEMENT_NODE ? node : node.parentElement)?.closest("math");

  const tex = (math) => {
    const sign = math.getAttribute("display") === "block" ? "$$" : "$";
    return `${sign}${math.querySelector("annotation")?.textContent.trim() ?? math.textContent}${sign}`;
  };

  document.addEventListener("copy", (event) => {
    const selection = getSelection();
    if (selection.isCollapsed || event.target.closest?.("input, textarea")) return;
    const range = selection.getRangeAt(0).cloneRange();
    // A formula is copied as a whole.
    const [first, last] = [formulaAt(range.startContainer), formulaAt(range.endContainer)];
    if (first) range.setStartBefore(first);
    if (last) range.setEndAfter(last);
    const copy = document.createElement("div");
    copy.append(range.cloneContents());
    const formulas = copy.querySelectorAll("math");
    if (!formulas.length) return;
    for (const math of formulas) math.replaceWith(tex(math));
    for (const element of copy.querySelectorAll("button, .visually-hidden, .screen-reader-only")) element.remove();
    // On the page for a moment, where the browser knows which elements are lines of their own.
    copy.className = "copied";
    document.querySelector("article").append(copy);
    event.clipboardData.setData("text/plain", copy.innerText.trim());
    event.clipboardData.setData("text/html", copy.innerHTML);
    copy.remove();
    event.preventDefault();
  });
}

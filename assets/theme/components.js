/* Numbers in prose that the build has computed show the expression they come from: under the
   pointer, with the keyboard's focus, and on a tap. Escape closes. Used in Quarto's pages too. */
"use strict";
{
  const numbers = document.querySelectorAll(".computed[data-expr]");
  if (numbers.length) document.documentElement.classList.add("computed-js");

  const tip = document.createElement("div");
  tip.className = "computed-tip";
  tip.id = "computed-tip";
  tip.setAttribute("role", "tooltip");
  let current = null;
  let timer;

  const hide = () => {
    clearTimeout(timer);
    tip.remove();
    current?.removeAttribute("aria-describedby");
    current = null;
  };

  const show = (number) => {
    clearTimeout(timer);
    if (number === current) return;
    hide();
    current = number;
    const label = document.createElement("span");
    label.className = "computed-tip-label";
    label.textContent = "Computed in this chapter: ";
    const code = document.createElement("code");
    code.textContent = number.dataset.expr;
    tip.replaceChildren(label, code);
    (document.querySelector("main") ?? document.body).append(tip);
    number.setAttribute("aria-describedby", tip.id);

    const [place] = number.getClientRects();
    const width = document.documentElement.clientWidth;
    const left = Math.max(8, Math.min(place.left, width - tip.offsetWidth - 8));
    const above = place.top - tip.offsetHeight - 6;
    tip.style.left = `${left + scrollX}px`;
    tip.style.top = `${(above > 60 ? above : place.bottom + 6) + scrollY}px`;
  };

  // Time for the pointer to move from the number into what it shows.
  const hideSoon = () => {
    clearTimeout(timer);
    timer = setTimeout(hide, 150);
  };

  for (const number of numbers) {
    number.tabIndex = 0;
    number.addEventListener("pointerenter", () => show(number));
    number.addEventListener("pointerleave", () => number !== document.activeElement && hideSoon());
    number.addEventListener("focus", () => show(number));
    number.addEventListener("blur", hide);
    number.addEventListener("click", () => show(number));
  }
  tip.addEventListener("pointerenter", () => clearTimeout(timer));
  tip.addEventListener("pointerleave", () => current !== document.activeElement && hideSoon());
  addEventListener("keydown", (event) => event.key === "Escape" && hide());
}

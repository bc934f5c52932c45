"use strict";
// Functions for the scripts of all pages.
const report = (() => {
  const data = document.getElementById("data");
  const make = (name, text, className) => {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text; // texts are never read as HTML
    if (className) element.className = className;
    return element;
  };
  // Announces changes to screen readers; a later call replaces an earlier one.
  let waiting;
  const say = (text) => {
    clearTimeout(waiting);
    waiting = setTimeout(() => { document.getElementById("announcement").textContent = text; }, 250);
  };
  // Texts are hidden until the reader shows them.
  const gate = document.getElementById("show-texts"), listeners = [];
  let shown = false;
  if (gate) gate.addEventListener("click", () => {
    shown = !shown;
    gate.setAttribute("aria-pressed", String(shown));
    for (const listener of listeners) listener(shown);
    say(shown ? "Texts are shown." : "Texts are hidden.");
  });
  // On paper all parts are open, except texts behind a warning.
  const opened = [];
  addEventListener("beforeprint", () => {
    for (const part of document.querySelectorAll("details:not([open], .warned, .warned details)")) {
      part.open = true;
      opened.push(part);
    }
  });
  addEventListener("afterprint", () => { for (const part of opened.splice(0)) part.open = false; });
  return {
    data: data ? JSON.parse(data.textContent) : {},
    make, say,
    textsShown: () => shown,
    onTexts: (listener) => listeners.push(listener),
    collator: new Intl.Collator("en", { numeric: true }),
    MISSING: "–",
  };
})();

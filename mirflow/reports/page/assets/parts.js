/** Ways to what lies further down: the parts of the page, and a track by its name. */

import { choice, el } from "./dom.js";

/** Offer the parts that the page has now in the bar on top. */
export function offerParts(main) {
  const bar = document.getElementById("controls");
  const parts = [...main.querySelectorAll("section[id] h2")].map((heading) => [heading.closest("section").id, heading.textContent]);
  const asked = choice("Go to", [["", "part of the page"], ...parts], "", (id) => {
    const select = /** @type {HTMLSelectElement} */ (asked.querySelector("select"));
    select.value = "";
    const part = document.getElementById(id);
    if (!part) return;
    const covered = getComputedStyle(bar).position === "sticky" ? bar.offsetHeight : 0;
    scrollTo(0, part.getBoundingClientRect().top + scrollY - covered - 12);
    part.focus({ preventScroll: true });
  });
  asked.classList.add("parts");
  bar.querySelector(".parts")?.remove();
  bar.querySelector(".copy").before(asked);
}

/** A field for the name of a track, which opens it. */
export function offerTracks(state, open) {
  const names = new Map(state.shownTracks.map((track) => [state.now.tracks[track], track]));
  const field = el("input", { type: "search", list: "names-of-tracks", autocomplete: "off", placeholder: "its name",
    onchange: () => {
      if (!names.has(field.value)) return;
      open(names.get(field.value), "name");
      field.value = "";
    } });
  return el("label", { class: "choice" }, el("span", {}, "Open a track"), field,
    el("datalist", { id: "names-of-tracks" }, [...names.keys()].map((name) => el("option", { value: name }))));
}

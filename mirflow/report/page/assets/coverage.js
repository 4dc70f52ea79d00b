/** What became of every cell, and why some have no score. */

import { el, section } from "./dom.js";
import { count } from "./format.js";
import { readJson } from "./data.js";

const shown = { search: "", most: 25 };

export async function drawCoverage(state) {
  const { systems, tracks, statuses, problems } = state.now;
  const { rows, messages } = await readJson(problems);
  const cells = systems.length * tracks.length;
  const head = el("tr", {}, el("th", { scope: "col" }, "System"), statuses.map(([name]) =>
    el("th", { scope: "col", class: "number" }, name.replaceAll("_", " "))));
  const body = systems.map((name, system) => el("tr", {}, el("th", { scope: "row" }, name),
    statuses.map(([, many]) => el("td", { class: "number" }, many[system] || ""))));
  const table = el("div", { class: "scroll" }, el("table", {}, el("thead", {}, head), el("tbody", {}, body)));
  const several = state.now.stores.length > 1;
  const apart = several ? statuses.filter(([name]) => name === "not_computed").flatMap(([, many]) => many).reduce((a, b) => a + b, 0) : 0;
  const held = apart ? " that the stores hold" : "";
  const note = rows.length ? `${rows.length} of ${count(cells - apart, "cell")} (systems × tracks)${held} have no score.` :
    `Every one of ${count(cells - apart, "cell")} (systems × tracks)${held} has a score.`;
  return section("coverage", "Coverage", note, statuses.length > 1 ? table : null,
    rows.length ? listing(state, rows, messages) : null);
}

function listing(state, rows, messages) {
  const { systems, tracks } = state.now;
  const holder = el("div", {});
  const redraw = () => {
    const wanted = shown.search.toLowerCase();
    const matching = rows.filter(([system, track, status, message]) => !wanted ||
      [systems[system], tracks[track], status, messages[message]].some((text) => text.toLowerCase().includes(wanted)));
    const body = matching.slice(0, shown.most).map(([system, track, status, message]) => el("tr", {}, el("td", {}, systems[system]),
      el("td", {}, tracks[track]), el("td", {}, status.replaceAll("_", " ")), el("td", { class: "prose" }, messages[message])));
    const head = el("tr", {}, ["System", "Track", "What", "Why"].map((text) => el("th", { scope: "col" }, text)));
    const more = matching.length > shown.most ? el("button", { type: "button", class: "more",
      onclick: () => { shown.most += 200; redraw(); } }, `Show more (${shown.most} of ${matching.length})`) :
      el("p", { class: "note" }, `${count(matching.length, "cell")}`);
    holder.replaceChildren(el("div", { class: "scroll" }, el("table", { id: "problems" }, el("thead", {}, head), el("tbody", {}, body))), more);
  };
  const search = el("input", { type: "search", value: shown.search, oninput: () => { shown.search = search.value; redraw(); } });
  redraw();
  return el("div", {}, el("div", { class: "bar" }, el("label", { class: "choice" }, el("span", {}, "Find among the cells without a score"), search)), holder);
}

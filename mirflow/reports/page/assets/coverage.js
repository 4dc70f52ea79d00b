/** What became of every cell, why some have no score, and what is empty. */

import { el, section, table, th, tr, warningsOf } from "./dom.js";
import { count } from "./format.js";
import { readJson } from "./data.js";

const shown = { most: 25 };

export async function drawCoverage(state) {
  const { systems, trackCount, statuses, problems } = state.now;
  const { messages, ...all } = await readJson(problems);
  const { rows, counts } = state.shown ? ofShown(state, all) : all;
  const cells = state.shown ? state.shownSystems.length * state.shownTracks.length : systems.length * trackCount;
  const made = table([th("System", "who"), statuses.map(([name]) => th(name.replaceAll("_", " "), "number"))],
    systems.map((name, system) => tr(name, statuses.map(([, many]) => many[system] || ""), "number")));
  const several = state.now.stores.length > 1;
  const apart = several ? statuses.filter(([name]) => name === "not_computed").flatMap(([, many]) => many).reduce((a, b) => a + b, 0) : 0;
  const held = apart ? " that the stores hold" : "";
  const whole = `${count(cells - apart, "cell")} (systems × tracks)${held}`;
  const [without, empty] = [counts.no || 0, counts.yes || 0];
  const score = without ? `${without} of ${whole} ${without === 1 ? "has" : "have"} no score.` : `Every one of ${whole} has a score.`;
  const note = empty ? `${score} ${empty} of an empty estimate or reference, or with a warning, ${empty === 1 ? "has one and counts" : "have one and count"}.` : score;
  return section("coverage", "Coverage", note, ...warningsOf(state.now), statuses.length > 1 && !state.shown ? made : null,
    rows.length ? listing(state, rows, messages) : null);
}

/** The cells that the filter leaves, counted anew. */
function ofShown({ shownSystems, shownTracks }, { rows }) {
  const [systems, tracks] = [new Set(shownSystems), new Set(shownTracks)];
  const found = rows.filter(([system, track]) => systems.has(system) && tracks.has(track));
  const counts = {};
  for (const [, , , scored] of found) counts[scored] = (counts[scored] || 0) + 1;
  return { rows: found, counts };
}

const SCORES = { no: "", partly: " (some metrics)", yes: " (with a score)" };

function listing(state, rows, messages) {
  const { systems, tracks } = state.now;
  const holder = el("div", {});
  const redraw = () => {
    const wanted = state.cells.toLowerCase();
    const matching = rows.filter(([system, track, status, , message]) => !wanted ||
      [systems[system], tracks[track], status, messages[message]].some((text) => text.toLowerCase().includes(wanted)));
    const body = matching.slice(0, shown.most).map(([system, track, status, scored, message]) => el("tr", {}, el("td", {}, systems[system]),
      el("td", {}, tracks[track]), el("td", {}, status.replaceAll("_", " ") + SCORES[scored]), el("td", { class: "prose" }, messages[message])));
    const more = matching.length > shown.most ? el("button", { type: "button", class: "more",
      onclick: () => { shown.most += 200; redraw(); } }, `Show more (${shown.most} of ${matching.length})`) :
      el("p", { class: "note" }, `${count(matching.length, "cell")}`);
    holder.replaceChildren(table(["System", "Track", "What", "Why"].map((text) => th(text)), body, { id: "problems" }), more);
  };
  const search = el("input", { type: "search", value: state.cells, oninput: () => {
    state.cells = search.value;
    state.remember(false);
    redraw();
  } });
  redraw();
  return el("div", {}, el("div", { class: "bar" }, el("label", { class: "choice" }, el("span", {}, "Find among these cells"), search)), holder);
}

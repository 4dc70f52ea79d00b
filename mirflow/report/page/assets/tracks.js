/** The tracks as a table: the worst, those on which systems disagree, all; each opens its timeline. */

import { choice, el, section } from "./dom.js";
import { byName, byNumber, count, formatter, titleOf } from "./format.js";
import { acrossSystems } from "./reduce.js";
import { readScores } from "./data.js";

const shown = { by: "mean", sign: 1, search: "", most: 15 };

/**
 * @param {import("./state.js").State} state
 * @param {(track: number) => void} open
 */
export async function drawTracks(state, open) {
  const { systems, tracks } = state.now;
  const numbers = await readScores(state.now, state.metric);
  const across = acrossSystems(numbers, systems.length, tracks.length);
  const worst = state.about.orientation === "lower" ? -1 : 1;
  const rows = tracks.map((name, track) => ({ name, track, mean: across.mean[track], spread: across.spread[track],
    ...extremes(state, numbers, track, worst) }));
  const holder = el("div", {});
  const redraw = () => holder.replaceChildren(table(state, rows, worst, open, redraw));
  const search = el("input", { type: "search", value: shown.search, oninput: () => { shown.search = search.value; redraw(); } });
  const ways = [["mean", "the worst first"], ["spread", "most disagreement first"], ["name", "by name"]];
  const sorting = choice("Show", ways.filter(([way]) => systems.length > 1 || way !== "spread"),
    shown.by, (value) => { shown.by = value; redraw(); });
  redraw();
  return section("tracks", "Tracks", systems.length > 1 ?
    `Mean of ${titleOf(state.about)} over the systems, and how far best and worst lie apart.` : `${titleOf(state.about)} of every track.`,
    el("div", { class: "bar" }, sorting, el("label", { class: "choice" }, el("span", {}, "Find"), search)), holder);
}

function extremes(state, numbers, track, worst) {
  const { systems, tracks } = state.now;
  let [low, high, different] = [-1, -1, false];
  const value = (system) => worst * numbers.score[system * tracks.length + track];
  for (let system = 0; system < systems.length; system++) {
    if (Number.isNaN(value(system))) continue;
    different ||= low >= 0 && value(system) !== value(low);
    if (low < 0 || value(system) < value(low)) low = system;
    if (high < 0 || value(system) > value(high)) high = system;
  }
  return { low, high, different };
}

function table(state, rows, worst, open, redraw) {
  const { systems, tracks, trackCoords } = state.now;
  const write = formatter(state.about, state.percent);
  const wanted = shown.search.toLowerCase();
  const matching = rows.filter((row) => !wanted || row.name.toLowerCase().includes(wanted) ||
    trackCoords.some(([, values]) => String(values[row.track] ?? "").toLowerCase().includes(wanted)));
  matching.sort((a, b) => ({ name: () => byName(a.name, b.name), mean: () => byNumber(a.mean, b.mean, worst),
    spread: () => byNumber(a.spread, b.spread, -1) })[shown.by]() || byName(a.name, b.name));
  const drawn = matching.slice(0, shown.most);
  const coords = trackCoords.slice(0, 4);
  const side = (row, system) => (system < 0 ? "–" : row.different ? systems[system] : "all the same");
  const several = systems.length > 1;
  const head = el("tr", {}, el("th", { scope: "col" }, "Track"),
    (several ? ["Mean", "Spread"] : ["Score"]).map((text) => el("th", { scope: "col", class: "number" }, text)),
    (several ? ["Best", "Worst"] : []).map((text) => el("th", { scope: "col" }, text)), coords.map(([name]) => el("th", { scope: "col" }, name)));
  const body = drawn.map((row) => el("tr", { class: "open", onclick: () => open(row.track) },
    el("th", { scope: "row" }, el("button", { type: "button", class: "link", "data-track": row.track,
      onclick: (event) => { event.stopPropagation(); open(row.track); },
      onkeydown: (event) => walk(event) }, row.name)),
    el("td", { class: "number" }, write(row.mean)), several ? [el("td", { class: "number" }, write(row.spread)),
      el("td", {}, side(row, row.high)), el("td", {}, row.different ? side(row, row.low) : "–")] : null, coords.map(([, values]) => el("td", {}, values[row.track] ?? ""))));
  const more = matching.length > shown.most ? el("button", { type: "button", class: "more",
    onclick: () => { shown.most += 50; redraw(); } }, `Show more (${drawn.length} of ${matching.length})`) :
    el("p", { class: "note" }, `${count(matching.length, "track")} of ${tracks.length}`);
  return el("div", {}, el("div", { class: "scroll" }, el("table", {}, el("thead", {}, head), el("tbody", {}, body))), more);
}

/** Up and down go from track to track. */
function walk(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step) return;
  const buttons = [...document.querySelectorAll("#tracks button.link")];
  const next = buttons[buttons.indexOf(event.target) + step];
  event.preventDefault();
  if (next) next.focus();
}

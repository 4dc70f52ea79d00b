/** The tracks as a table: the worst, those whose scores spread most over the systems, all; each opens its timeline. */

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
  const ways = [["mean", "the worst first"], ["spread", "the largest spread over systems first"], ["name", "by name"]];
  const sorting = choice("Show", ways.filter(([way]) => systems.length > 1 || way !== "spread"),
    shown.by, (value) => { shown.by = value; redraw(); });
  redraw();
  return section("tracks", "Tracks", systems.length > 1 ?
    `Mean of ${titleOf(state.about)} over the systems, and how far best and worst lie apart.` : `${titleOf(state.about)} of every track.`,
    el("div", { class: "bar" }, sorting, el("label", { class: "choice" }, el("span", {}, "Find"), search)), holder);
}

function extremes(state, numbers, track, worst) {
  const { systems, tracks } = state.now;
  const value = (system) => worst * numbers.score[system * tracks.length + track];
  const known = systems.map((_, system) => system).filter((system) => !Number.isNaN(value(system)));
  const [least, most] = [Math.min(...known.map(value)), Math.max(...known.map(value))];
  const at = (score) => known.filter((system) => value(system) === score);
  return { low: at(least), high: at(most), different: least < most };
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
  const side = (row, tied) => (!tied.length ? "–" : row.different ? tell(tied.map((system) => systems[system])) : "all the same");
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
  const tied = shown.by === "name" || !drawn.length ? 0 :
    matching.filter((row) => row[shown.by] === drawn[drawn.length - 1][shown.by]).length;
  const ties = tied < 2 ? null : el("p", { class: "note" },
    `${count(tied, "track")} tie at ${write(drawn[drawn.length - 1][shown.by])}: they are in the order of their names.`);
  return el("div", {}, el("div", { class: "scroll" }, el("table", {}, el("thead", {}, head), el("tbody", {}, body))), ties, more);
}

/** Systems that are equally good: two by name, of more the number. */
function tell(names) {
  if (names.length < 2) return names.join("");
  return names.length === 2 ? `${names.join(", ")} (tie)` : `${names[0]} and ${names.length - 1} more (tie)`;
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

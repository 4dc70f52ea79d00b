/** Which systems find the same tracks hard. */

import { el, named, section, table, th } from "./dom.js";
import { readShown } from "./filter.js";
import { include } from "./reduce.js";
import { goTo } from "./tabs.js";
import { rankSystems } from "./leaderboard.js";

/** Systems up to which a table has room. */
const MOST = 24;
/** Spreads that are rounding errors. */
const EQUAL = 5e-11;

/** Pearson's correlation of the scores of two systems on the tracks that both have; NaN where one is constant. */
function correlate({ value, counts }, one, other, tracks) {
  const both = [];
  for (let track = 0; track < tracks; track++) {
    const [a, b] = [one * tracks + track, other * tracks + track];
    if (counts[a] && counts[b] && Number.isFinite(value[a]) && Number.isFinite(value[b])) both.push([value[a], value[b]]);
  }
  const [x, y] = [0, 1].map((side) => {
    const mean = both.reduce((sum, pair) => sum + pair[side], 0) / both.length;
    return both.map((pair) => pair[side] - mean);
  });
  if (both.length < 2 || [x, y].some((side) => Math.max(...side) - Math.min(...side) < EQUAL)) return NaN;
  const dot = (a, b) => a.reduce((sum, own, place) => sum + own * b[place], 0);
  return dot(x, y) / Math.sqrt(dot(x, x) * dot(y, y));
}

/**
 * @param {import("./state.js").State} state
 * @returns {Promise<Node|null>} nothing for fewer than three systems, or very many
 */
export async function drawAlike(state) {
  const { systems, tracks } = state.now;
  const { sign } = state.about;
  const { length } = state.shownSystems;
  if (length < 3 || length > MOST || !sign) return null;
  const included = include(await readShown(state), state.policy);
  const order = await rankSystems(state);
  const matrix = order.map((one) => order.map((other) => (one === other ? NaN : correlate(included, one, other, tracks.length))));
  const known = matrix.flat().filter((r) => !Number.isNaN(r));
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const choose = (of, against) => goTo(state, "gains", (now) => { now.pair = { of, against }; });
  const rows = order.map((one, row) => el("tr", {}, el("th", { scope: "row" }, named(state.now, "systems", one)), order.map((other, column) => {
    const r = matrix[row][column];
    const shown = one === other || Number.isNaN(r) ? "–" : r.toFixed(2);
    const cell = el("td", { class: "number", "data-value": r, title: one === other ? null : `Compare ${systems[one]} with ${systems[other]}`,
      onclick: one === other ? null : () => choose(one, other) }, shown);
    if (!Number.isNaN(r)) cell.style.setProperty("--share", `${high > low ? (100 * (r - low)) / (high - low) : 0}%`);
    return cell;
  })));
  return section("alike", "Systems that are alike", "Do two systems find the same tracks hard? (Pearson’s r over tracks)",
    table([th("System", "who"), order.map((one) => th(named(state.now, "systems", one), "number"))], rows, { label: "Correlations of systems" }));
}

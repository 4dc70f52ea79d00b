/** Which systems find the same tracks hard, and what the best system of each track would reach. */

import { el, named, section, table, th } from "./dom.js";
import { count, formatter, titleOf } from "./format.js";
import { CONTENTS } from "./data.js";
import { readShown } from "./filter.js";
import { include, reduce } from "./reduce.js";
import { goTo } from "./tabs.js";
import { rankSystems, valuesOf } from "./leaderboard.js";

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

/** Scores and weights of the best system of each track that all have, as those of a single system. */
function oracleOf({ value, counts }, { weight, duration }, systems, tracks, sign) {
  const best = { value: new Float64Array(tracks), counts: new Uint8Array(tracks) };
  const weights = new Float64Array(tracks);
  for (let track = 0; track < tracks; track++) {
    const cells = systems.map((system) => system * tracks + track);
    if (!cells.every((cell) => counts[cell])) continue;
    const cell = cells.reduce((chosen, own) => (sign * value[own] > sign * value[chosen] ? own : chosen));
    [best.value[track], best.counts[track], weights[track]] = [value[cell], 1, weight[cell]];
  }
  return [best, { weight: weights, duration }];
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
  const numbers = await readShown(state);
  const included = include(numbers, state.policy);
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
  return section("alike", "Systems that are alike", `Pearson’s correlation of ${titleOf(state.about)} over the tracks: whether two systems find the same ones hard. Click two to compare them.`,
    table([th("System", "who"), order.map((one) => th(named(state.now, "systems", one), "number"))], rows, { label: "Correlations of systems" }),
    el("p", { class: "note" }, await sentence(state, included, numbers, order[0])));
}

/** What the best system of each track would reach against the leader, where the aggregate is a ratio of sums. */
async function sentence(state, included, numbers, leader) {
  const { systems, tracks } = state.now;
  const about = CONTENTS.aggregates[state.aggregate];
  if (!about.below) return "";
  const [best, own] = oracleOf(included, numbers, state.shownSystems, tracks.length, state.about.sign);
  const members = tracks.map((_, track) => track);
  const value = reduce(about, best, own, 0, members, tracks.length);
  const write = formatter(state.about, state.percent);
  const single = (await valuesOf(state, state.metric, state.aggregate))[leader].value;
  return Number.isNaN(value) ? "" : `With the best system of each track (${count(best.counts.reduce((sum, one) => sum + one, 0), "track")} that all have), ` +
    `${about.title} would be ${write(value)}; ${systems[leader]} has ${write(single)}.`;
}

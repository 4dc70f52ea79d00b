/** What each system scores, and what it loses by each kind of errors: stacked bars with their numbers. */

import { el, section, svg, table, th } from "./dom.js";
import { byNumber, formatter, titleOf } from "./format.js";
import { labelColour } from "./colours.js";
import { valuesOf } from "./leaderboard.js";

const [WIDTH, HEIGHT] = [320, 16];

const parameterOf = (metric, name) => (metric.parameters.find(([own]) => own === name) ?? [null, ""])[1];

/** The metric whose losses the evaluation has, or undefined. */
export function lossOf({ now: { metrics } }) {
  const first = metrics.find((metric) => parameterOf(metric, "kind"));
  return first && parameterOf(first, "of");
}

/**
 * @param {import("./state.js").State} state
 * @returns {Promise<Node|null>} nothing where the evaluation has no losses
 */
export async function drawLosses(state) {
  const { systems, metrics } = state.now;
  const of = lossOf(state);
  const places = metrics.map((_, place) => place).filter((place) => of && parameterOf(metrics[place], "of") === of);
  const whole = metrics.findIndex(({ name }) => name === of);
  if (whole < 0) return null;
  const about = metrics[whole];
  const title = "Losses by kind of errors";
  if (!metrics[places[0]].policies.includes(state.missing)) {
    return section("losses", title, "A missing estimate has no errors to split its loss among: choose another treatment of missing scores.");
  }
  const columns = await Promise.all([whole, ...places].map((place) => valuesOf(state, place, about.standard_aggregate)));
  const rows = state.shownSystems.map((system) => ({ name: systems[system], values: columns.map((one) => one[system].value) }));
  rows.sort((a, b) => byNumber(a.values[0], b.values[0], -(about.sign || 1)));
  const note = `${titleOf(about)} of each system, and what it loses by each kind of errors: Shapley values of mending the kinds. ` +
    (about.sign < 0 ? "The shares sum to the score." : "Score and shares sum to the score of the references by themselves.");
  return section("losses", title, note, tableOf(state, about, places, rows));
}

function tableOf(state, about, places, rows) {
  const write = formatter(about, state.percent);
  const kinds = places.map((place) => parameterOf(state.now.metrics[place], "kind").replaceAll("_", " "));
  const stacks = rows.map(({ values }) => stack(values, about.sign));
  const low = Math.min(0, ...stacks.flat().map(([start]) => start));
  const high = Math.max(...stacks.flat().map(([, end]) => end), low + 1e-9);
  const heads = [th("System", "who"), th(titleOf(about), "number"), th(el("span", { class: "unseen" }, "chart"), "chart"),
    kinds.map((kind, number) => th([svg("svg", { viewBox: "0 0 10 10", width: 10, height: 10, "aria-hidden": "true" },
      svg("rect", { width: 10, height: 10, fill: labelColour(number).fill })), ` ${kind}`], "number"))];
  const body = rows.map(({ name, values }, row) => el("tr", {}, el("th", { scope: "row", title: name }, name),
    el("td", { class: "number strong", "data-value": values[0] }, write(values[0])),
    el("td", { class: "chart" }, bar(stacks[row], low, high)),
    values.slice(1).map((value) => el("td", { class: "number", "data-value": value }, write(value)))));
  return table(heads, body, { label: "Losses" });
}

/** Ends of the parts of a bar, with their numbers: the score, then the kinds; shares below 0 are left of 0. */
function stack([score, ...shares], sign) {
  const parts = sign < 0 ? [] : [[0, score || 0, -1]];
  let [left, right] = [0, sign < 0 ? 0 : score || 0];
  shares.forEach((share, number) => {
    if (!share) return;
    parts.push(share < 0 ? [left + share, left, number] : [right, right + share, number]);
    [left, right] = [left + Math.min(share, 0), right + Math.max(share, 0)];
  });
  return parts;
}

function bar(parts, low, high) {
  const place = (value) => (WIDTH * (value - low)) / (high - low);
  return svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true", class: "losses" }, parts.map(([start, end, number]) =>
    svg("rect", { x: place(start), y: 1, width: Math.max(0, place(end) - place(start)), height: HEIGHT - 2,
      ...(number < 0 ? { class: "score" } : { fill: labelColour(number).fill }) })));
}

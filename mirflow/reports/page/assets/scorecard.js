/** Systems by evaluations, as they were written with the page, and differences to a system that is chosen. */

import { readJson } from "./data.js";
import { build, choice, el, section } from "./dom.js";
import { byName } from "./numbers.js";

/** Steps of colour on each side, as in the written table. */
const SHADES = 4;

function drawScorecard(state, nodes) {
  const [card] = build(nodes);
  const cells = [...card.querySelectorAll("td[data-system]")];
  const names = [...new Set(cells.map((cell) => cell.dataset.system))].sort(byName);
  const baseline = names.includes(state.baseline) ? state.baseline : "";
  if (baseline || state.percent) compareWith(card, cells, baseline, state.percent);
  const chosen = `[data-evaluation="${CSS.escape(state.now.name)}"]`;
  card.querySelector(`th${chosen} a, ${chosen} th a`)?.setAttribute("aria-current", "true");
  const take = (name) => state.change((one) => { one.baseline = name; });
  return [el("div", { class: "bar" }, choice("Differences to", [["", "the best of each evaluation"], ...names.map((name) => [name, name])], baseline, take, "baseline")),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Systems by evaluations" }, card)];
}

/** Colour the cells of each evaluation by their differences to a system, or to the best one. */
function compareWith(card, cells, baseline, percent) {
  const explained = card.querySelector("caption");
  if (baseline) explained.textContent = explained.textContent.replace("the gap to it", `the gap to ${baseline}`);
  for (const about of new Set(cells.map((cell) => aboutOf(card, cell)))) {
    const own = cells.filter((cell) => aboutOf(card, cell) === about);
    const best = own.reduce((one, other) => (about.sign * scoreOf(other) > about.sign * scoreOf(one) ? other : one));
    shadeCells(own, baseline ? own.find((cell) => cell.dataset.system === baseline) : own.length > 1 && Number(about.sign) ? best : undefined, about, baseline, percent);
  }
}

/** The evaluation of a cell: its row, or the head of its column. */
const aboutOf = (card, cell) => (cell.parentElement.dataset.evaluation === undefined ?
  card.querySelector("thead tr").children[cell.cellIndex] : cell.parentElement).dataset;

const scoreOf = ({ dataset: { score } }) => ({ inf: Infinity, "-inf": -Infinity })[score] ?? Number(score);

function shadeCells(cells, other, about, baseline, percent) {
  const gaps = cells.map((cell) => (other ? scoreOf(cell) - scoreOf(other) : NaN));
  const widest = Math.max(0, ...gaps.map(Math.abs).filter(Number.isFinite));
  const factor = percent && !about.unit ? 100 : 1;
  cells.forEach((cell, place) => {
    const gap = gaps[place];
    const step = widest && !Number.isNaN(gap) ? Math.min(SHADES, Math.ceil((SHADES * Math.abs(gap)) / widest - 1e-9)) : 0;
    const [letters, others] = [cell, other].map((one) => [...(one?.dataset.letters || "")]);
    const apart = letters.length && others.length && !letters.some((letter) => others.includes(letter));
    const side = step && Number(about.sign) ? `${about.sign * gap > 0 ? "better" : "worse"}${step}` : "";
    const unsure = !apart && Boolean(gap);
    cell.className = ["number", side, unsure ? "unsure" : ""].filter(Boolean).join(" ");
    const same = baseline ? cell === other : gap === 0;
    cell.querySelector("small").textContent = !other ? "" : same ? (baseline ? "–" : "best") : differenceOf(gap, about, factor, unsure);
    const number = cell.querySelector("[data-value]");
    if (number && factor > 1) number.textContent = (factor * Number(number.dataset.value)).toFixed(1);
  });
}

function differenceOf(gap, { unit, decimals }, factor, unsure) {
  const size = Math.abs(gap * factor);
  const text = !Number.isFinite(size) ? "∞" : !unit ? size.toFixed(factor > 1 ? 1 : decimals) : size >= 1000 ? size.toFixed(0) : String(Number(size.toPrecision(4)));
  const signed = `${gap > 0 ? "+" : gap < 0 ? "−" : ""}${text}`;
  return unsure ? `(${signed})` : signed;
}

export function drawOverview(state) {
  const { scorecard } = state.contents;
  const fetched = typeof scorecard === "string";
  if (!fetched && !scorecard.length) return null;
  // It is about all tracks.
  if (state.shown) return section("overview", "All evaluations", "Results of all evaluations are shown without a filter only.");
  const card = el("div", { id: "scorecard" }, fetched ? null : drawScorecard(state, scorecard));
  // What is fetched is drawn when it comes.
  if (fetched) readJson(scorecard).then((nodes) => { if (nodes.length) card.replaceChildren(...drawScorecard(state, nodes)); });
  return section("overview", "All evaluations", null, card);
}

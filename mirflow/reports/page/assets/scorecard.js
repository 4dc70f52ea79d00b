/** Systems by evaluations, as they were written with the page, and differences to a system that is chosen. */

import { build, choice, el } from "./dom.js";
import { byName } from "./format.js";

/** Steps of colour on each side, as in the written table. */
const SHADES = 4;

/** @param {import("./state.js").State} state */
export function drawScorecard(state, nodes) {
  const [card] = build(nodes);
  const cells = [...card.querySelectorAll("td[data-system]")];
  const names = [...new Set(cells.map((cell) => cell.dataset.system))].sort(byName);
  const baseline = names.includes(state.baseline) ? state.baseline : "";
  if (baseline || state.percent) compare(card, cells, baseline, state.percent);
  const chosen = `[data-evaluation="${CSS.escape(state.now.name)}"]`;
  card.querySelector(`th${chosen} a, ${chosen} th a`)?.setAttribute("aria-current", "true");
  const take = (name) => state.change((one) => { one.baseline = name; }).then(() => document.querySelector("#overview select").focus());
  return [el("div", { class: "bar" }, choice("Differences to", [["", "the best of each evaluation"], ...names.map((name) => [name, name])], baseline, take)),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Systems by evaluations" }, card)];
}

/** Colour the cells of each evaluation by their differences to a system, or to the best one. */
function compare(card, cells, baseline, percent) {
  const explained = card.querySelector("caption");
  if (baseline) explained.textContent = explained.textContent.replace("the gap to it", `the gap to ${baseline}`);
  for (const about of new Set(cells.map((cell) => aboutOf(card, cell)))) {
    const own = cells.filter((cell) => aboutOf(card, cell) === about);
    const best = own.reduce((one, other) => (about.sign * scoreOf(other) > about.sign * scoreOf(one) ? other : one));
    shade(own, baseline ? own.find((cell) => cell.dataset.system === baseline) : own.length > 1 && Number(about.sign) ? best : undefined, about, baseline, percent);
  }
}

/** The evaluation of a cell: its row, or the head of its column. */
const aboutOf = (card, cell) => (cell.parentElement.dataset.evaluation === undefined ?
  card.querySelector("thead tr").children[cell.cellIndex] : cell.parentElement).dataset;

const scoreOf = ({ dataset: { score } }) => ({ inf: Infinity, "-inf": -Infinity })[score] ?? Number(score);

function shade(cells, other, about, baseline, percent) {
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

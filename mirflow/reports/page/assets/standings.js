/** Who has the best value of the tracks that are shown, as a sentence; nodes as those of standings.py. */

import { count, tickFormatter, unitOf } from "./format.js";
import { shownOf } from "./filter.js";

const NAMED = 4;

const listed = (names) => (names.length > NAMED ? `${names.length} systems` : [names.slice(0, -1).join(", "), names.at(-1)].filter(Boolean).join(" and "));

/** Three digits: intervals seldom settle more. */
function writer({ unit }, percent) {
  return (value) => {
    if (!Number.isFinite(value)) return Number.isNaN(value) ? "–" : value > 0 ? "∞" : "−∞";
    if (unit) return Math.abs(value) >= 1000 ? value.toFixed(0) : String(Number(value.toPrecision(4)));
    return percent ? (100 * value).toFixed(1) : value.toFixed(3);
  };
}

/** Write the ratios of standings that came with the page as percentages. */
export function writePercent(made) {
  const about = { unit: "" };
  const [marks, write] = [[...made.querySelectorAll("[data-tick]")], writer(about, true)];
  const tick = tickFormatter(about, true, marks.map((mark) => Number(mark.dataset.tick)));
  for (const mark of marks) mark.textContent = tick(Number(mark.dataset.tick));
  for (const number of made.querySelectorAll("[data-value]")) number.textContent = `${write(Number(number.dataset.value))}${number.closest("td.number") ? "" : " %"}`;
  for (const cell of made.querySelectorAll("td[data-low]")) cell.textContent = `[${[cell.dataset.low, cell.dataset.high].map((end) => write(Number(end))).join(", ")}]`;
}

/** What is known without a test. */
function sentenceOf(state, entries, write) {
  const { about, shown } = state;
  const [known, without] = [entries.filter(({ value }) => !Number.isNaN(value)), entries.filter(({ value }) => Number.isNaN(value))];
  const value = (one) => `${write(one)}${about.unit ? ` ${about.unit}` : unitOf(about, state.percent) && " %"}`;
  const tracks = `these ${count(shown.tracks.length, "track")}`.replace("these 1 ", "this ");
  if (!known.length) return [`No system has a score of ${tracks}.`, ""];
  const best = known.filter((one) => one.value === known[0].value).map(({ name }) => name);
  const [low, high] = [Math.min(...known.map((one) => one.value)), Math.max(...known.map((one) => one.value))];
  const lead = known.length === 1 ? `${known[0].name} reaches ${value(known[0].value)} on ${tracks}.` : about.sign ?
    `${listed(best)} ${best.length === 1 ? "has" : "have"} the best value of ${tracks}, ${value(known[0].value)}.` :
    `The systems have ${value(low)} to ${value(high)} on ${tracks}; neither high nor low is better.`;
  const numbers = new Set(known.map(({ n }) => n));
  const [n] = numbers;
  const rest = [`Shown: ${shownOf(state)}.`,
    state.missing === "common" && numbers.size === 1 && n < shown.tracks.length ? `${n} of ${count(shown.tracks.length, "track")} count: those that every one of these systems has.` : "",
    without.length ? `${listed(without.map(({ name }) => name))} ${without.length === 1 ? "has" : "have"} no score.` : ""];
  return [lead, rest.filter(Boolean).join(" ")];
}

/**
 * @param {import("./state.js").State} state with a filter
 * @param {{name: string, value: number, n: number, rank: number|null}[]} entries
 */
export function standingsOfShown(state, entries) {
  const { about } = state;
  const ordered = [...entries].sort((a, b) => (Number.isNaN(a.value) ? 1 : 0) - (Number.isNaN(b.value) ? 1 : 0) || about.sign * (b.value - a.value) || 0);
  const [lead, rest] = sentenceOf(state, ordered, writer(about, state.percent));
  return [["p", { class: "lead" }, [["strong", {}, [lead]], ` ${rest}`]]];
}

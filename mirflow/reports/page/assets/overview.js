/** All evaluations of the page: each system in each of them, what each is about, who leads, and a way to it. */

import { build, el, section, table, th } from "./dom.js";
import { count, titleOf } from "./format.js";
import { readJson } from "./data.js";
import { drawScorecard } from "./scorecard.js";
import { LISTED } from "./state.js";
import { writePercent } from "./standings.js";

/** The sentence about who leads by the usual metric, where it came with the page. */
function sentenceOf(one, percent) {
  const found = one.inference.find(([metric]) => metric === one.main[0]);
  const made = el("span", {}, ...(found && found[1].standings ? build(found[1].standings[0][2]) : []));
  if (percent && found && one.metrics[one.main[0]].unit === "") writePercent(made);
  return [...made.childNodes];
}

/** @param {import("./state.js").State} state */
export function drawOverview(state) {
  const { evaluations, scorecard: ofAll } = state.contents;
  // It is about all tracks.
  const scorecard = state.shown ? [] : ofAll;
  const fetched = typeof scorecard === "string";
  const listed = evaluations.length >= LISTED;
  const left = state.shown && (listed || ofAll.length) ? el("p", { class: "note" }, "Results of all evaluations are shown without a filter only.") : null;
  if (!listed && !left && !fetched && !scorecard.length) return null;
  const card = el("div", { id: "scorecard" }, !fetched && scorecard.length ? drawScorecard(state, scorecard) : null);
  // What is fetched is drawn when it comes.
  if (fetched) readJson(scorecard).then((nodes) => { if (nodes.length) card.replaceChildren(...drawScorecard(state, nodes)); });
  return section("overview", "All evaluations", null, left, card, listed ? listOf(state, !fetched && scorecard.length > 0) : null);
}

function listOf(state, folded) {
  const { evaluations } = state.contents;
  // With a filter the results of all tracks would be beside those of some.
  const told = !state.shown && evaluations.some((one) => sentenceOf(one).length);
  const heads = [th("Evaluation", "who"), th("Metric"), told ? th("Result") : null, ["Systems", "Tracks"].map((text) => th(text, "number"))];
  const rows = evaluations.map((one, place) => el("tr", { class: place === state.evaluation ? "chosen" : null },
    el("th", { scope: "row" }, el("button", { type: "button", class: "link", "aria-current": place === state.evaluation ? "true" : null,
      onclick: () => state.change((now) => now.take(place)) }, one.name), one.title === one.name ? null : el("small", {}, one.title)),
    el("td", {}, one.main.length ? titleOf(one.metrics[one.main[0]]) : ""), told ? el("td", { class: "prose" }, sentenceOf(one, state.percent)) : null,
    [one.systems.length, one.trackCount].map((number) => el("td", { class: "number quiet" }, number))));
  const box = el("details", { open: !(state.folded ?? folded), ontoggle: () => { state.folded = !box.open; } },
    el("summary", {}, `${count(evaluations.length, "evaluation")}; the one below is ${state.now.name}`),
    table(heads, rows, { label: "Evaluations", class: "board" }));
  return box;
}

/** All evaluations of the page: each system in each of them, and a way to it. */

import { el, section } from "./dom.js";
import { readJson } from "./data.js";
import { drawScorecard } from "./scorecard.js";

/** @param {import("./state.js").State} state */
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

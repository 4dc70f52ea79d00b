/** Systems by evaluations, as they were written with the page. */

import { readJson } from "./data.js";
import { build, el, section } from "./dom.js";

function drawScorecard(state, nodes) {
  const [card] = build(nodes);
  const chosen = `[data-evaluation="${CSS.escape(state.now.name)}"]`;
  card.querySelector(`th${chosen} a, ${chosen} th a`)?.setAttribute("aria-current", "true");
  // Percentages have two decimals fewer than ratios.
  for (const cell of state.percent ? card.querySelectorAll("td:has([data-value])") : []) {
    for (const number of cell.querySelectorAll("data, small")) number.textContent = number.textContent.replace(/\d+\.(\d+)/, (text, decimals) => (100 * Number(text)).toFixed(Math.max(0, decimals.length - 2)));
  }
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Systems by evaluations" }, card);
}

export function drawOverview(state) {
  const { scorecard } = state.contents;
  const fetched = typeof scorecard === "string";
  if (!fetched && !scorecard.length) return null;
  // It is about all tracks.
  if (state.shown) return section("overview", "All evaluations", "Results of all evaluations are shown without a filter only.");
  const card = el("div", { id: "scorecard" }, fetched ? null : drawScorecard(state, scorecard));
  // What is fetched is drawn when it comes.
  if (fetched) readJson(scorecard).then((nodes) => { if (nodes.length) card.replaceChildren(drawScorecard(state, nodes)); });
  return section("overview", "All evaluations", null, card);
}

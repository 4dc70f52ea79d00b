/** The line below the headline: evaluation, metric, aggregate, groups, what is done about missing scores. */

import { choice, el } from "./dom.js";
import { CONTENTS } from "./data.js";
import { titleOf } from "./format.js";
import { drawFilter } from "./filterbar.js";

/** @param {import("./state.js").State} state */
export function drawControls(state) {
  const bar = document.getElementById("controls");
  const active = document.activeElement && document.activeElement.getAttribute("name");
  const { evaluations } = state.contents;
  const parts = [];
  const add = (name, made) => {
    made.querySelector("select, input").setAttribute("name", name);
    parts.push(made);
  };
  if (evaluations.length > 1) {
    add("evaluation", choice("Evaluation", evaluations.map((one, place) => [place, one.name]), state.evaluation,
      (value) => state.change((now) => now.take(Number(value)))));
  }
  if (state.metric >= 0) {
    add("metric", choice("Metric", state.now.metrics.map((metric, place) => [place, titleOf(metric)]), state.metric,
      (value) => state.change((now) => now.takeMetric(Number(value)))));
    add("aggregate", choice("Aggregate", state.about.aggregates.map((name) => [name, nameOf(state, name)]),
      state.aggregate, (value) => state.change((now) => { now.aggregate = value; })));
    const groupable = state.groupable;
    if (groupable.length) {
      add("by", choice("Group by", [["", "nothing"], ...groupable.map((name) => [name, name])], state.by,
        (value) => state.change((now) => { now.by = value; })));
    }
    add("missing", choice("Missing scores", state.policies.map((name) => [name, name]), state.missing,
      (value) => state.change((now) => { now.asked = value; })));
    const box = el("input", { type: "checkbox", checked: state.percent,
      onchange: () => state.change((now) => { now.percent = box.checked; }) });
    add("percent", el("label", { class: "choice tick" }, box, el("span", {}, "Percent")));
  }
  const filter = state.now.tracks.length && state.metric >= 0 ? drawFilter(state) : null;
  bar.replaceChildren(...[...parts, filter].filter(Boolean));
  // The bar is made anew after each choice: whoever uses the keyboard stays where they were.
  if (active) bar.querySelector(`[name="${active}"]`)?.focus();
}

function nameOf(state, aggregate) {
  const { title } = CONTENTS.aggregates[aggregate];
  return aggregate === state.about.standard_aggregate ? `${title} (usual)` : title;
}

/** What the values are, in a sentence. */
export function explainValues(state) {
  const { title, words } = CONTENTS.aggregates[state.aggregate];
  return `${title}: ${words}. ` +
    `Missing scores (${state.missing}): ${CONTENTS.missing[state.missing]}.`;
}

/** The sentence below the headline: what is shown, of what, and how it is counted; each part of it is a choice. */

import { choice, el } from "./dom.js";
import { CONTENTS } from "./data.js";
import { count, titleOf } from "./format.js";
import { drawFilter } from "./filterbar.js";

/** Whether the choices of how it is counted are shown. */
const counted = { open: false };

/** @param {import("./state.js").State} state */
export function drawControls(state) {
  const bar = document.getElementById("controls");
  const active = document.activeElement && document.activeElement.getAttribute("name");
  const { evaluations } = state.contents;
  const [parts, ways] = [[], []];
  const add = (name, made, list = ways) => {
    made.querySelector("select, input").setAttribute("name", name);
    list.push(made);
  };
  if (evaluations.length > 1) {
    add("evaluation", choice("Evaluation", evaluations.map((one, place) => [place, one.name]), state.evaluation,
      (value) => state.change((now) => now.take(Number(value)))), parts);
  }
  if (state.metric >= 0) {
    add("metric", choice("Metric", state.now.metrics.map((metric, place) => [place, titleOf(metric)]), state.metric,
      (value) => state.change((now) => now.takeMetric(Number(value)))), parts);
    add("aggregate", choice("Aggregate", state.about.aggregates.map((name) => [name, nameOf(state, name)]),
      state.aggregate, (value) => state.change((now) => { now.aggregate = value; })));
    const groupable = state.groupable;
    if (groupable.length) {
      add("by", choice("Group by", [["", "nothing"], ...groupable.map((name) => [name, name])], state.by,
        (value) => state.change((now) => { now.by = value; now.unfolded = now.unfolded || Boolean(value); })));
    }
    add("missing", choice("Missing scores", state.policies.map((name) => [name, name]), state.missing,
      (value) => state.change((now) => { now.asked = value; })));
    const box = el("input", { type: "checkbox", checked: state.percent,
      onchange: () => state.change((now) => { now.percent = box.checked; }) });
    add("percent", el("label", { class: "choice tick" }, box, el("span", {}, "Percent")));
  }
  const filter = state.now.tracks.length && state.metric >= 0 ? drawFilter(state) : null;
  const { systems, trackCount, lacking } = state.now;
  const size = el("span", { class: "size" }, `${count(systems.length, "system")}, ${count(trackCount, "track")}`);
  const words = lacking ? `${count(lacking, "score")} missing: ${{ common: "only tracks that all have", skip: "left out", zero: "counted as 0" }[state.missing]}` : "nothing is missing";
  const box = ways.length ? el("details", { class: "counted", open: counted.open, ontoggle: () => { counted.open = box.open; } },
    el("summary", { title: "How it is counted" }, words), el("div", {}, ways)) : null;
  bar.replaceChildren(...[...parts, size, box, filter].filter(Boolean));
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
  return `${title}: ${words}.${state.now.lacking ? ` Missing scores (${state.missing}): ${CONTENTS.missing[state.missing]}.` : ""}`;
}

/** Where the numbers come from. */

import { el, section } from "./dom.js";
import { parametersOf } from "./format.js";

export function drawProvenance(state) {
  const { now, contents } = state;
  const facts = [["Evaluation", now.name], ["Task", now.task], ["Convention", now.convention], ["Grid", now.grid],
    ["Several references", now.combine], ["Scored", now.created.replace("T", " ").replace("+00:00", " UTC")],
    ["Versions", Object.entries(now.versions).map((pair) => pair.join(" ")).join(", ")], ["Page", `mirflow ${contents.mirflow}`]];
  const list = el("dl", {}, facts.filter(([, value]) => value).map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
  const swept = now.metrics.filter((metric) => metric.parameters.length);
  const head = el("tr", {}, ["Metric", "Parameters", "Usual aggregate", "Weight", "Version"].map((text) => el("th", { scope: "col" }, text)));
  const body = now.metrics.map((metric) => el("tr", {}, el("th", { scope: "row" }, metric.name), el("td", {}, parametersOf(metric)),
    el("td", {}, metric.standard_aggregate), el("td", {}, metric.weight_unit), el("td", {}, metric.version)));
  const metrics = el("details", {}, el("summary", {}, `Metrics and parameters (${now.metrics.length}, ${swept.length} with parameters)`),
    el("div", { class: "scroll" }, el("table", {}, el("thead", {}, head), el("tbody", {}, body))));
  const pipeline = contents.pipeline ? el("details", {}, el("summary", {}, "The pipeline file"),
    el("pre", { tabindex: "0" }, contents.pipeline)) : null;
  return section("provenance", "Provenance", null, list, metrics, pipeline);
}

/** Where the numbers come from: what holds for all stores, and a block for each of them. */

import { el, section, table, th, tr } from "./dom.js";
import { count } from "./format.js";
import { NEEDS } from "./state.js";

const listOf = (facts) => el("dl", {}, facts.filter(([, value]) => value).map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));

/** When and with what a store was scored, and which patches corrected the references. */
function scoringOf({ created, versions, patches }) {
  return [["Scored", created.replace("T", " ").replace("+00:00", " UTC")],
    ["Versions", Object.entries(versions).map((pair) => pair.join(" ")).join(", ")], ["Patches of references", patches.join("; ")]];
}

function pipelineOf(text) {
  return text ? el("details", {}, el("summary", {}, "The pipeline file"), el("pre", { tabindex: "0" }, text)) : null;
}

function storeOf({ stores }, one) {
  const { name, pipeline } = stores[one.store];
  const facts = [["Holds", `${count(one.systems, "system")}, ${count(one.tracks, "track")}`], ...scoringOf(one)];
  return el("div", { class: "store" }, el("h3", {}, name), listOf(facts), pipelineOf(pipeline));
}

export function drawProvenance(state) {
  const { now, contents } = state;
  const several = contents.stores.length > 1;
  const facts = [["Evaluation", now.name], ["Task", now.task], ["Convention", now.convention], ["Grid", now.grid],
    ["Several references", now.combine],
    ["Tracks", contents.where ? `where ${contents.where}` : ""], ...(several ? [] : now.stores.flatMap(scoringOf)), ["Page", `mirflow ${contents.mirflow}`], ["Title", contents.title]];
  const swept = now.metrics.filter((metric) => metric.parameters.length);
  const heads = ["Metric", "Parameters", "Usual aggregate", "Weight", "Version"].map((text) => th(text));
  const body = now.metrics.map((metric) => tr(metric.name, [metric.parameters.map((pair) => pair.join(" ")).join(", "),
    metric.standard_aggregate, metric.weight_unit, metric.version]));
  const metrics = el("details", {}, el("summary", {}, `Metrics and parameters (${now.metrics.length}, ${swept.length} with parameters)`),
    table(heads, body));
  const stores = several ? now.stores.map((one) => storeOf(contents, one)) : [pipelineOf(contents.stores[0].pipeline)];
  const left = [...NEEDS].filter(([id]) => contents.byTrack && !state.has(id)).map(([, [title, systems, tracks]]) => `${title} (${count(systems, "system")}, ${count(tracks, "track")})`);
  return section("provenance", "About", left.length ? `Left out for want of systems or tracks: ${left.join(", ")}.` : null, listOf(facts), metrics, ...stores);
}

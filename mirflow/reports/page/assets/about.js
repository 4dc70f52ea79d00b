/** What became of every cell, and where the numbers come from. */

import { FETCHED, readJson } from "./data.js";
import { el, named, section, table, th, tr, warningsOf } from "./dom.js";
import { count } from "./numbers.js";
import { NEEDS } from "./state.js";

/** Cells of a reason that are listed, and those up to which there is nothing to search. */
const [LISTED, FEW] = [200, 5];

export async function drawCoverage(state) {
  const { systems, trackCount, statuses, problems } = state.now;
  const { messages, rows: all, counts: totals } = await readJson(problems);
  const [kept, left] = [new Set(state.shownSystems), new Set(state.shownTracks)];
  const rows = state.shown ? all.filter(([system, track]) => kept.has(system) && left.has(track)) : all;
  // The cells that the filter leaves are counted anew.
  const many = (kind) => (state.shown ? rows.filter(([, , , scored]) => scored === kind).length : totals[kind] || 0);
  const cells = state.shown ? state.shownSystems.length * state.shownTracks.length : systems.length * trackCount;
  const made = table([th("System", "who"), statuses.map(([name]) => th(name.replaceAll("_", " "), "number"))],
    state.shownSystems.filter((system) => statuses.some(([name, own]) => name !== "ok" && own[system])).map((system) => tr(named(state.now, "systems", system), statuses.map(([, own]) => own[system] || ""), "number")));
  const apart = state.now.stores.length > 1 ? statuses.filter(([name]) => name === "not_computed").flatMap(([, own]) => own).reduce((a, b) => a + b, 0) : 0;
  const whole = `${count(cells - apart, "cell")} (systems × tracks)${apart ? " that the stores hold" : ""}`;
  const [without, empty] = [many("no"), many("yes")];
  const score = without ? `${without} of ${whole} ${without === 1 ? "has" : "have"} no score.` : `Every one of ${whole} has a score.`;
  const note = empty ? `${score} ${empty} of an empty estimate or reference, or with a warning, ${empty === 1 ? "has one and counts" : "have one and count"}.` : score;
  if (!rows.length && !state.now.warnings.length && !state.shown && state.contents.byTrack && state.now.stores.length < 2) return null;
  return section("coverage", "Coverage", note, ...warningsOf(state.now), statuses.length > 1 && !state.shown ? made : null,
    rows.length ? listing(state, rows, messages) : null);
}

const SCORES = { no: "", partly: " (some metrics)", yes: " (with a score)" };

/** The cells by what became of them and why, the most frequent reason first. */
function listing(state, rows, messages) {
  const { systems, tracks } = state.now;
  const holder = el("div", {});
  const redraw = () => {
    const wanted = state.cells.toLowerCase();
    const groups = new Map();
    for (const [system, track, status, scored, message] of rows) {
      if (wanted && ![systems[system], tracks[track], status, messages[message]].some((text) => text.toLowerCase().includes(wanted))) continue;
      // What a message says, whichever file, system and track it is about.
      const reason = [systems[system], tracks[track]].reduce((text, name) => text.replaceAll(`'${name}'`, "…"), messages[message].replace(/^\S*[/\\.]\S*?(:\d+)?: /, ""));
      const key = `${status.replaceAll("_", " ")}${SCORES[scored]}\n${reason}`;
      groups.set(key, [...groups.get(key) ?? [], [`${systems[system]}: ${tracks[track]}`, messages[message]]]);
    }
    const body = [...groups].sort(([, a], [, b]) => b.length - a.length).map(([key, cells]) => {
      const [what, why] = key.split("\n");
      const list = cells.slice(0, LISTED).map(([cell, message]) => el("li", { title: message }, cell));
      return el("tr", {}, el("td", {}, what), el("td", { class: "prose" }, why), el("td", { class: "number" }, cells.length), el("td", { class: "prose" },
        cells.length === 1 ? el("span", { title: cells[0][1] }, cells[0][0]) : el("details", {}, el("summary", {}, `${cells[0][0]} and ${cells.length - 1} more`), el("ul", {}, list), cells.length > LISTED ? `… and ${cells.length - LISTED} more` : null)));
    });
    holder.replaceChildren(table([th("What"), th("Why"), th("Cells", "number"), th("Where")], body, { id: "problems" }));
  };
  const search = el("input", { type: "search", value: state.cells, oninput: () => {
    state.cells = search.value;
    state.remember(false);
    redraw();
  } });
  redraw();
  return el("div", {}, rows.length > FEW ? el("div", { class: "bar" }, el("label", { class: "choice" }, el("span", {}, "Find among these cells"), search)) : null, holder);
}

const listOf = (facts) => el("dl", {}, facts.filter(([, value]) => value).map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));

/** When and with what a store was scored, and which patches corrected the references. */
function scoringOf({ created, versions, patches }) {
  return [["Scored", created.replace("T", " ").replace("+00:00", " UTC")],
    ["Versions", Object.entries(versions).map((pair) => pair.join(" ")).join(", ")], ["Patches of references", patches.join("; ")]];
}

const pipelineOf = (text) => text ? el("details", {}, el("summary", {}, "The pipeline file"), el("pre", { tabindex: "0" }, text)) : null;

export function drawProvenance(state) {
  const { now, contents } = state;
  const several = contents.stores.length > 1;
  const facts = [["Evaluation", now.name], ["Task", now.task], ["Convention", now.convention], ["Grid", now.grid],
    ["Several references", now.combine],
    ["Tracks", contents.where ? `where ${contents.where}` : ""], ...(several ? [] : now.stores.flatMap(scoringOf)), ["Page", `mirflow ${contents.mirflow}${FETCHED ? "" : ". The file holds everything that it shows; it loads nothing."}`], ["Title", contents.title]];
  const swept = now.metrics.filter((metric) => metric.parameters.length);
  const body = now.metrics.map((metric) => tr(metric.name, [metric.parameters.map((pair) => pair.join(" ")).join(", "),
    metric.standard_aggregate, metric.weight_unit, metric.version]));
  const metrics = el("details", {}, el("summary", {}, `Metrics and parameters (${now.metrics.length}, ${swept.length} with parameters)`),
    table(["Metric", "Parameters", "Usual aggregate", "Weight", "Version"].map((text) => th(text)), body));
  const stores = several ? now.stores.map((one) => el("div", { class: "store" }, el("h3", {}, contents.stores[one.store].name),
    listOf([["Holds", `${count(one.systems, "system")}, ${count(one.tracks, "track")}`], ...scoringOf(one)]), pipelineOf(contents.stores[one.store].pipeline))) : [pipelineOf(contents.stores[0].pipeline)];
  const left = [...NEEDS].filter(([id]) => contents.byTrack && !state.has(id)).map(([, [title, systems, tracks]]) => `${title} (${count(systems, "system")}, ${count(tracks, "track")})`);
  return section("provenance", "About", left.length ? `Left out for want of systems or tracks: ${left.join(", ")}.` : null, listOf(facts), metrics, ...stores);
}

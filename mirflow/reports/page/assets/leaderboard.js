/** Systems by the chosen aggregate, with intervals, significance groups, and the other main metrics. */

import { build, detailsOf, el, named, section, table, th, warningsOf } from "./dom.js";
import { byName, byNumber, count, formatter, titleOf, unitOf } from "./format.js";
import { explainValues } from "./controls.js";
import { include, quantile, reduce } from "./reduce.js";
import { CONTENTS, inferenceOf, readStatistic, readValues } from "./data.js";
import { addChips, groupChip, readShown, shownOf } from "./filter.js";
import { standingsOfShown, writePercent } from "./standings.js";

/** Values of one metric over all tracks or those of a group, with n and the number of missing scores, for each system. */
export async function valuesOf(state, metric, aggregate, members = null) {
  const { systems, tracks, metrics } = state.now;
  if (!members && !state.shown && metrics[metric].values !== undefined && state.missing === metrics[metric].policies[0]) {
    const ready = await readValues(state.now, metric, aggregate);
    return systems.map((_, system) => Object.fromEntries(Object.entries(ready).map(([name, values]) => [name, values[system]])));
  }
  const numbers = await readShown(state, metric, aggregate);
  const included = include(numbers, state.policy);
  const chosen = members || state.shownTracks;
  const about = CONTENTS.aggregates[aggregate];
  const values = about.below ? null : state.shown ? systems.map((_, system) => statisticOf(aggregate, included, system, chosen, tracks.length)) :
    await readStatistic(state.now, metric, aggregate, state.missing, members ? state.by : "", chosen);
  return systems.map((_, system) => {
    const cells = chosen.map((track) => system * tracks.length + track);
    return {
      value: values ? values[system] : reduce(about, included, numbers, system, chosen, tracks.length),
      n: cells.reduce((sum, cell) => sum + included.counts[cell], 0),
      missing: cells.reduce((sum, cell) => sum + included.missing[cell], 0),
      nothing: cells.reduce((sum, cell) => sum + included.undefined[cell], 0),
    };
  });
}

/** An aggregate of scores in their order, of tracks for which the page does not have it ready; NaN where it does not know how. */
function statisticOf(aggregate, { counts, value }, system, chosen, tracks) {
  const cells = chosen.map((track) => system * tracks + track).filter((cell) => counts[cell]);
  return aggregate === "median" ? quantile(Float64Array.from(cells, (cell) => value[cell]).sort(), 0.5) : NaN;
}

/** Intervals and groups, where they are those of just the values that are shown; undefined where they are still fetched. */
export function fittingInference(state, arrived) {
  if (state.shown || state.missing !== state.policies[0]) return null;
  const found = inferenceOf(state.now, state.metric, arrived);
  return found && found.aggregate !== state.aggregate ? null : found;
}

/** @param {() => void} again called when there is more to be drawn */
export async function drawLeaderboard(state, again) {
  const { now, about } = state;
  const rows = await valuesOf(state, state.metric, state.aggregate);
  const inference = fittingInference(state, again);
  const others = now.main.filter((metric) => metric !== state.metric);
  const columns = await Promise.all(others.map((metric) => valuesOf(state, metric, now.metrics[metric].standard_aggregate)));
  const entries = state.shownSystems.map((system) => ({ name: now.systems[system], system, ...rows[system],
    low: inference ? endOf(inference.low[system]) : null, high: inference ? endOf(inference.high[system]) : null,
    letters: inference && inference.letters.length ? inference.letters[system] : "",
    ranks: inference && inference.letters.length ? inference.ranks[system] : "", first: inference?.first?.length ? inference.first[system] : null, percent: inference?.percent?.[system], others: columns.map((one) => one[system].value) }));
  rank(entries, about.sign);
  const { column, turned } = state.ranking;
  const turn = turned ? -1 : 1;
  entries.sort((a, b) => (column === "system" ? turn * byName(a.name, b.name) :
    byNumber(a.value, b.value, -(about.sign || 1) * turn) || byName(a.name, b.name)));
  const parts = [tableOf(state, entries, others, inference)];
  if (state.by) parts.push(await groupTable(state, entries));
  parts.push(el("p", { class: "note" }, explainValues(state)), state.shown ? null : noteOf(state, inference));
  // A table that is read already is not folded when the chart arrives.
  if (inference === undefined) state.unfolded = true;
  const nodes = state.shown ? standingsOfShown(state, entries) : inference?.standings;
  const standings = nodes ? standingsOf(state, nodes) : null;
  const more = !state.shown && inference ? [["second", inference.beside], ["listens", inference.listen]] : [];
  const title = `Systems by ${titleOf(about)}${unitOf(about, state.percent)}`;
  const board = section("leaderboard", title,
    state.shown ? `Shown: ${shownOf(state)}.` : null, now.references ? el("p", { class: "warning", role: "note" }, `References: ${now.references}.`) : null,
    ...warningsOf(now), standings && !state.shown ? fold(state, parts) : parts, state.shown ? noteOf(state, inference) : null);
  return el("div", { id: "ranking" }, standings, more.filter(([, own]) => own?.length).map(([id, own]) => el("div", { id }, ...build(own))), board);
}

/** Positions of the systems by the chosen values, the best first, as all parts of the page list them. */
export async function rankSystems(state) {
  const rows = await valuesOf(state, state.metric, state.aggregate);
  const { systems } = state.now;
  return [...state.shownSystems].sort((a, b) =>
    byNumber(rows[a].value, rows[b].value, -(state.about.sign || 1)) || byName(systems[a], systems[b]));
}

/** Who leads, who is not told apart, and a chart, as they were written with the page. */
function standingsOf(state, nodes) {
  const made = el("div", { id: "standings" }, ...build(nodes));
  if (state.percent && state.about.unit === "" && !state.shown) writePercent(made);
  return made;
}

/** The table, folded until it is asked for. */
function fold(state, parts) {
  const box = el("details", { open: state.unfolded, ontoggle: () => { state.unfolded = box.open; } },
    el("summary", {}, "All systems and metrics, in a table"), parts);
  return box;
}

/** The end of an interval: null where there is none, a word where it is infinite. */
const endOf = (end) => (end === null ? null : Number(end));

/** Whether any system has an interval: with very few tracks none has. */
const bounded = (inference) => Boolean(inference) && inference.low.some((end) => end !== null);

/** What a page says that has numbers of some tracks. */
export const WHOLE = "Intervals and tests are of all tracks and systems; the command beside this computes those of what is shown.";

function noteOf(state, inference) {
  if (inference) return el("p", { class: "note" }, inference.how);
  if (inference === undefined) return el("p", { class: "note", role: "status" }, "Intervals and groups are being computed …");
  if (state.shown) return el("p", { class: "note" }, WHOLE);
  const any = state.now.inference.length > 0;
  const over = state.policies[0] === "common" ? "over the tracks that every system has" : "of each system over the tracks that it has";
  return any ? el("p", { class: "note" }, `Intervals are given for the usual aggregate of the first metrics, ${over}.`) : null;
}

/** Places of the systems, the same for those with the same value. */
function rank(entries, sign) {
  for (const entry of entries) {
    const better = entries.filter((other) => sign * other.value > sign * entry.value).length;
    entry.rank = !Number.isNaN(entry.value) && sign ? better + 1 : null;
  }
}

function sorter(state, column, text, kind) {
  const current = state.ranking.column === column;
  const { turned } = state.ranking;
  const turn = () => state.change((one) => { one.ranking = { column, turned: current && !turned }; })
    .then(() => document.querySelector(`#leaderboard [data-sort="${column}"]`)?.focus());
  const direction = current ? (turned ? "↑" : "↓") : "";
  return el("th", { scope: "col", class: kind, "aria-sort": current ? (turned ? "ascending" : "descending") : "none" },
    el("button", { type: "button", "data-sort": column, onclick: turn }, `${text} ${direction}`));
}

function tableOf(state, entries, others, inference) {
  const { now, about } = state;
  const write = formatter(about, state.percent);
  const metrics = others.map((metric) => th(el("button", { type: "button", title: `Show ${now.metrics[metric].name}`,
    onclick: () => state.change((one) => one.takeMetric(metric)) }, titleOf(now.metrics[metric])), "number"));
  const heads = [th("#", "number rank"), sorter(state, "system", "System", "who"),
    sorter(state, "value", CONTENTS.aggregates[state.aggregate].title, "number"), bounded(inference) ? th("95 % interval") : null,
    inference && inference.letters.length ? el("th", { scope: "col", title: inference.how }, "Not told apart") : null,
    inference && inference.letters.length ? el("th", { scope: "col", title: inference.how }, "Ranks") : null,
    inference?.first?.length ? el("th", { scope: "col", class: "number", title: inference.how }, "First") : null,
    el("th", { scope: "col", class: "number", title: "Scores that count" }, "n"),
    el("th", { scope: "col", class: "number", title: "Cells without a score" }, "missing"), ...metrics];
  const leaders = entries.filter((entry) => entry.rank === 1);
  const alike = (entry) => entry.rank === 1 || [...entry.letters].some((letter) => leaders.every(({ letters }) => letters.includes(letter)));
  const body = entries.map((entry) => el("tr", { class: alike(entry) ? null : "plain" }, el("td", { class: "number quiet rank" }, entry.rank ?? ""),
    el("th", { scope: "row", title: entry.name }, named(now, "systems", entry.system), el("small", {}, detailsOf(now.systemCoords, entry.system).join(" · "))),
    el("td", { class: "number strong", "data-value": entry.value }, write(entry.value)),
    bounded(inference) ? el("td", { class: "number interval", "data-low": entry.low, "data-high": entry.high, title: entry.low === null ? null : `${entry.low} to ${entry.high}` }, entry.low === null ? "" : `[${write(entry.low)}, ${write(entry.high)}]`) : null,
    inference && inference.letters.length ? el("td", { class: "letters" }, entry.letters) : null,
    inference && inference.letters.length ? el("td", {}, entry.ranks) : null,
    inference?.first?.length ? el("td", { class: "number", title: entry.first }, entry.first === null ? "–" : `${entry.percent} %`) : null,
    el("td", { class: "number quiet count" }, entry.n), el("td", { class: "number quiet" }, entry.missing || ""),
    ...others.map((metric, place) => el("td", { class: "number", title: entry.others[place] },
      formatter(now.metrics[metric], state.percent)(entry.others[place])))));
  return table(heads, body, { label: "Systems", class: "board" });
}

async function groupTable(state, entries) {
  const { groups, about } = state;
  const write = formatter(about, state.percent);
  const columns = await Promise.all(groups.map(([, members]) => valuesOf(state, state.metric, state.aggregate, members)));
  const heads = [th(`By ${state.by}`, "who"), groups.map(([value, members]) =>
    th(el("button", { type: "button", title: `Show only the tracks of ${String(value)}`, onclick: () => state.change((one) => addChips(one, groupChip(one.by, value))) },
      String(value), el("small", {}, count(members.length, "track"))), "number"))];
  const sign = about.sign || 1;
  const best = columns.map((column) => Math.max(...column.map((one) => (Number.isNaN(one.value) ? -Infinity : sign * one.value))));
  const body = entries.map(({ name, system }) => el("tr", {}, el("th", { scope: "row", title: name }, named(state.now, "systems", system)), columns.map((column, place) =>
    el("td", { class: sign * column[system].value === best[place] && about.sign ? "number strong" : "number",
      title: `${column[system].value}, n ${column[system].n}`, "data-value": column[system].value }, write(column[system].value)))));
  return table(heads, body, { label: `Systems by ${state.by}`, id: "groups", class: "board" });
}

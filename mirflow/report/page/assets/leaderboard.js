/** Systems by the chosen figure, with intervals, who is not told apart, and the other main metrics. */

import { el, section, svg } from "./dom.js";
import { byName, byNumber, count, formatter, titleOf, unitOf } from "./format.js";
import { explainFigures } from "./controls.js";
import { include, reduce } from "./reduce.js";
import { CONTENTS, readScores, readStatistic } from "./data.js";
import { warningsOf } from "./warnings.js";

/** The figures of one metric over all tracks or those of a group: value, n and number of missing scores for each system. */
export async function figures(state, metric, aggregate, members = null) {
  const { systems, tracks } = state.now;
  const numbers = await readScores(state.now, metric);
  const included = include(numbers, systems.length, tracks.length, state.missing);
  const chosen = members || tracks.map((_, track) => track);
  const about = CONTENTS.aggregates[aggregate];
  const values = about.below ? null : await readStatistic(state.now, metric, aggregate, state.missing, members ? state.by : "", chosen);
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

/** What inference says, where it says it of just this figure. */
function standingOf(state) {
  const found = state.now.standing.find(([metric]) => metric === state.metric);
  const fits = found && found[1].aggregate === state.aggregate && state.missing === state.policies[0];
  return fits ? found[1] : null;
}

export async function drawLeaderboard(state) {
  const { now, about } = state;
  const rows = await figures(state, state.metric, state.aggregate);
  const standing = standingOf(state);
  const others = now.main.filter((metric) => metric !== state.metric);
  const columns = await Promise.all(others.map((metric) => figures(state, metric, now.metrics[metric].standard_aggregate)));
  const entries = now.systems.map((name, system) => ({ name, system, ...rows[system],
    low: standing ? endOf(standing.low[system]) : null, high: standing ? endOf(standing.high[system]) : null,
    letters: standing && standing.letters.length ? standing.letters[system] : "", others: columns.map((one) => one[system].value) }));
  rank(entries, about.orientation);
  sortEntries(entries, about.orientation, state.ranking);
  const parts = [tableOf(state, entries, others, standing)];
  if (state.by) parts.push(await groupTable(state, entries));
  return section("leaderboard", `Systems by ${titleOf(about)}${unitOf(about, state.percent)}`,
    explainFigures(state), now.references ? el("p", { class: "warning", role: "note" }, `References: ${now.references}.`) : null,
    ...warningsOf(now), ...parts, noteOf(state, standing));
}

/** The end of an interval: null where there is none, a word where it is infinite. */
const endOf = (end) => (end === null ? null : Number(end));

/** Whether any system has an interval: with very few tracks none has. */
const bounded = (standing) => standing !== null && standing.low.some((end) => end !== null);

function noteOf(state, standing) {
  if (standing) return el("p", { class: "note" }, standing.how);
  const any = state.now.standing.length > 0;
  const over = state.policies[0] === "common" ? "over the tracks that every system has" : "of each system over the tracks that it has";
  return any ? el("p", { class: "note" }, `Intervals are given for the usual aggregate of the first metrics, ${over}.`) : null;
}

/** Places of the systems, the same for those with the same figure. */
function rank(entries, orientation) {
  const sign = orientation === "lower" ? 1 : -1;
  for (const entry of entries) {
    const better = entries.filter((other) => sign * other.value < sign * entry.value).length;
    entry.rank = !Number.isNaN(entry.value) && orientation !== "none" ? better + 1 : null;
  }
}

function sortEntries(entries, orientation, { column, turned }) {
  const best = orientation === "lower" ? 1 : -1;
  const sign = turned ? -1 : 1;
  entries.sort((a, b) => (column === "system" ? sign * byName(a.name, b.name) :
    byNumber(a.value, b.value, best * sign) || byName(a.name, b.name)));
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

function tableOf(state, entries, others, standing) {
  const { now, about } = state;
  const write = formatter(about, state.percent);
  const scale = scaleOf(entries, about);
  const metrics = others.map((metric) => el("th", { scope: "col", class: "number" },
    el("button", { type: "button", title: `Show ${now.metrics[metric].name}`,
      onclick: () => state.change((one) => one.takeMetric(metric)) }, titleOf(now.metrics[metric]))));
  const head = el("tr", {}, el("th", { scope: "col", class: "number rank" }, "#"), sorter(state, "system", "System", "who"),
    sorter(state, "value", state.aggregate, "number"), bounded(standing) ? el("th", { scope: "col" }, "95% interval") : null,
    el("th", { scope: "col", class: "chart", "aria-label": "chart" }, axisOf(scale, write)),
    standing && standing.letters.length ? el("th", { scope: "col", title: standing.how }, "Groups") : null,
    el("th", { scope: "col", class: "number", title: "Scores that count" }, "n"),
    el("th", { scope: "col", class: "number", title: "Cells without a score" }, "missing"), ...metrics);
  const body = entries.map((entry) => el("tr", {}, el("td", { class: "number quiet rank" }, entry.rank ?? ""),
    el("th", { scope: "row", title: entry.name }, entry.name, el("small", {}, detailsOf(now, entry.system))),
    el("td", { class: "number strong", "data-value": entry.value }, write(entry.value)),
    bounded(standing) ? el("td", { class: "number interval" }, entry.low === null ? "" : `${write(entry.low)} – ${write(entry.high)}`) : null,
    el("td", { class: "chart" }, bar(entry, scale)),
    standing && standing.letters.length ? el("td", { class: "letters" }, entry.letters) : null,
    el("td", { class: "number quiet count" }, entry.n), el("td", { class: "number quiet" }, entry.missing || ""),
    ...others.map((metric, place) => el("td", { class: "number" },
      formatter(now.metrics[metric], state.percent)(entry.others[place])))));
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Systems" },
    el("table", { class: "board" }, el("thead", {}, head), el("tbody", {}, body)));
}

function detailsOf(now, system) {
  return now.systemCoords.map(([name, values]) => (values[system] === "" || values[system] === null ? "" :
    `${name} ${values[system]}`)).filter(Boolean).join(" · ");
}

/** Where the chart begins and ends: all of the range for ratios that fill it, else around the values. */
function scaleOf(entries, about) {
  const values = entries.flatMap((one) => [one.value, one.low, one.high]).filter((one) => Number.isFinite(one));
  if (!values.length) return [0, 1];
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const room = (high - low) * 0.08 || Math.abs(high) * 0.1 || 1;
  const ratio = about.unit === "" && low >= 0 && high <= 1;
  return [ratio ? Math.max(0, low - room) : low - room, ratio ? Math.min(1, high + room) : high + room];
}

function axisOf([low, high], write) {
  return el("span", { class: "axis" }, el("span", {}, write(low)), el("span", {}, write(high)));
}

function bar(entry, [low, high]) {
  // What is infinite goes to the edge.
  const place = (value) => Math.max(0, Math.min(200, 4 + (192 * (value - low)) / (high - low || 1)));
  if (!Number.isFinite(entry.value)) return null;
  const known = entry.low !== null && !Number.isNaN(entry.low) && !Number.isNaN(entry.high);
  const lines = known ? [svg("line", { x1: place(entry.low), x2: place(entry.high), y1: 8, y2: 8, class: "whisker" }),
    ...[entry.low, entry.high].map((end) => svg("line", { x1: place(end), x2: place(end), y1: 4, y2: 12, class: "whisker" }))] : [];
  return svg("svg", { viewBox: "0 0 200 16", "aria-hidden": "true", class: "dot" },
    svg("line", { x1: 0, x2: 200, y1: 8, y2: 8, class: "rail" }), ...lines, svg("circle", { cx: place(entry.value), cy: 8, r: 4 }));
}

async function groupTable(state, entries) {
  const { groups, about } = state;
  const write = formatter(about, state.percent);
  const columns = await Promise.all(groups.map(([, members]) => figures(state, state.metric, state.aggregate, members)));
  const head = el("tr", {}, el("th", { scope: "col", class: "who" }, `By ${state.by}`), groups.map(([value, members]) =>
    el("th", { scope: "col", class: "number" }, String(value), el("small", {}, count(members.length, "track")))));
  const sign = about.orientation === "lower" ? -1 : 1;
  const best = columns.map((column) => Math.max(...column.map((one) => (Number.isNaN(one.value) ? -Infinity : sign * one.value))));
  const body = entries.map(({ name, system }) => el("tr", {}, el("th", { scope: "row", title: name }, name), columns.map((column, place) =>
    el("td", { class: sign * column[system].value === best[place] && about.orientation !== "none" ? "number strong" : "number",
      title: `n ${column[system].n}`, "data-value": column[system].value }, write(column[system].value)))));
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Systems by ${state.by}` },
    el("table", { id: "groups", class: "board" }, el("thead", {}, head), el("tbody", {}, body)));
}

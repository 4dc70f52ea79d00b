/** Systems by the chosen aggregate, with intervals, significance groups, and the other main metrics; systems by evaluations. */

import { CONTENTS, inferenceOf, readFloats, readJson, readStatistic } from "./data.js";
import { build, detailsOf, el, nameFinder, named, section, sortHead, table, th, warningsOf } from "./dom.js";
import { addChips, groupChip, readShown, shownOf } from "./filter.js";
import { byName, byNumber, count, formatter, include, quantile, reduce, tickFormatter, titleOf, unitOf } from "./numbers.js";

/** Systems over which some can be pinned: those that the chart has. */
const PINNED = 12;
/** Systems that a sentence names; of more it gives the number. */
const SPOKEN = 4;

/** Values of one metric over all tracks or those of a group, with n and the number of missing scores, for each system. */
export async function valuesOf(state, metric, aggregate, members = null) {
  const { systems, tracks, metrics } = state.now;
  if (!members && !state.shown && metrics[metric].values !== undefined && state.missing === metrics[metric].policies[0]) {
    // The page has them ready, each number of all systems after the other.
    const ready = await readFloats(metrics[metric].values);
    const row = (place, system) => ready[place * systems.length + system];
    return systems.map((_, system) => ({ n: row(0, system), missing: row(1, system), value: row(2 + metrics[metric].aggregates.indexOf(aggregate), system) }));
  }
  const numbers = await readShown(state, metric, aggregate);
  const included = include(numbers, state.policy);
  const chosen = members || state.shownTracks;
  const about = CONTENTS.aggregates[aggregate];
  // Of some tracks the page has no aggregate of scores in their order ready; of the median it knows how.
  const median = (scores) => (aggregate === "median" ? quantile(Float64Array.from(scores).sort(), 0.5) : NaN);
  const values = about.below ? null : state.shown ? systems.map((_, system) => median(chosen.map((track) => system * tracks.length + track).filter((cell) => included.counts[cell]).map((cell) => included.value[cell]))) :
    await readStatistic(state.now, metric, aggregate, state.missing, members ? state.by : "", chosen);
  const total = (marks, system) => chosen.reduce((sum, track) => sum + marks[system * tracks.length + track], 0);
  return systems.map((_, system) => ({ n: total(included.counts, system), missing: total(included.missing, system),
    value: values ? values[system] : reduce(about, included, numbers, system, chosen, tracks.length) }));
}

/** Intervals and groups, where they are those of just the values that are shown; undefined where they are still fetched. */
export function fittingInference(state, arrived) {
  if (state.shown || state.missing !== state.policies[0]) return null;
  const found = inferenceOf(state.now, state.metric, arrived);
  return found && found.aggregate !== state.aggregate ? null : found;
}

export async function drawLeaderboard(state, again) {
  const { now, about } = state;
  const rows = await valuesOf(state, state.metric, state.aggregate);
  const inference = fittingInference(state, again);
  const others = now.main.filter((metric) => metric !== state.metric);
  const columns = await Promise.all(others.map((metric) => valuesOf(state, metric, now.metrics[metric].standard_aggregate)));
  // Ends of intervals are null where there are none, and words where they are infinite.
  const [low, high] = ["low", "high"].map((end) => inference?.[end].map((own) => (own === null ? null : Number(own))) ?? []);
  const entries = state.shownSystems.map((system) => ({ name: now.systems[system], system, ...rows[system], low: low[system] ?? null, high: high[system] ?? null,
    letters: inference?.letters[system] ?? "", ranks: inference?.letters.length ? inference.ranks[system] : "", first: inference?.first?.[system] ?? null,
    percent: inference?.percent?.[system], others: columns.map((one) => one[system].value) }));
  // Places, the same for those with the same value.
  for (const entry of entries) {
    entry.rank = Number.isNaN(entry.value) || !about.sign ? null : 1 + entries.filter(({ value }) => about.sign * value > about.sign * entry.value).length;
  }
  const { column, turned } = state.ranking;
  const turn = turned ? -1 : 1;
  entries.sort((a, b) => (column === "system" ? turn * byName(a.name, b.name) :
    byNumber(a.value, b.value, -(about.sign || 1) * turn) || byName(a.name, b.name)));
  const parts = [tableOf(state, entries, others, inference)];
  if (state.by) parts.push(await groupTable(state, entries));
  const { title, words } = CONTENTS.aggregates[state.aggregate];
  parts.push(el("p", { class: "note" }, `${title}: ${words}.${now.lacking ? ` Missing scores (${state.missing}): ${CONTENTS.missing[state.missing]}.` : ""}`));
  const over = state.policies[0] === "common" ? "over the tracks that every system has" : "of each system over the tracks that it has";
  const note = state.shown ? WHOLE : inference === undefined ? "Intervals and groups are being computed …" :
    inference?.how ?? (now.inference.length ? `Intervals are given for the usual aggregate of the first metrics, ${over}.` : "");
  if (note) parts.push(el("p", { class: "note", role: inference === undefined ? "status" : null }, note));
  // A table that is read already is not folded when the chart arrives.
  if (inference === undefined) state.unfolded = true;
  // Who has the best value is said before it is known who is told apart.
  const nodes = state.shown || inference === undefined ? standingsOfShown(state, entries) : inference?.standings;
  const standings = nodes ? el("div", { id: "standings" }, ...build(nodes)) : null;
  // The table is folded until it is asked for.
  const box = el("details", { open: state.unfolded, ontoggle: () => { state.unfolded = box.open; } }, el("summary", {}, "All metrics"));
  if (standings && !state.shown) {
    if (state.percent && about.unit === "") {
      const [marks, write] = [[...standings.querySelectorAll("[data-tick]")], formatter(about, true)];
      const tick = tickFormatter(about, true, marks.map((mark) => Number(mark.dataset.tick)));
      for (const mark of marks) mark.textContent = tick(Number(mark.dataset.tick));
      for (const number of standings.querySelectorAll("[data-value]")) number.textContent = `${write(Number(number.dataset.value))}${number.closest("td.number") ? "" : " %"}`;
      for (const cell of standings.querySelectorAll("td[data-low]")) cell.textContent = `[${[cell.dataset.low, cell.dataset.high].map((end) => write(Number(end))).join(", ")}]`;
    }
    pinIn(state, standings);
    box.append(...parts);
  }
  const more = !state.shown && inference ? [["second", inference.beside], ["listens", inference.listen]] : [];
  const board = section("leaderboard", `Systems by ${titleOf(about)}${unitOf(about, state.percent)}`,
    state.shown ? `Shown: ${shownOf(state)}.` : null, now.references ? el("p", { class: "warning", role: "note" }, `References: ${now.references}.`) : null,
    ...warningsOf(now), standings && !state.shown ? box : parts);
  return el("div", { id: "ranking" }, standings, more.filter(([, own]) => own?.length).map(([id, own]) => el("div", { id }, ...build(own))), board);
}

function pinButton(state, name) {
  const pinned = state.pinned.includes(name);
  const press = () => state.change((now) => { now.pinned = pinned ? now.pinned.filter((own) => own !== name) : [...now.pinned, name]; });
  return el("button", { type: "button", class: "pin", "aria-pressed": String(pinned), "aria-label": `Pin ${name}`, title: pinned ? "Let it go" : "Show it whatever its place", onclick: press }, pinned ? "★" : "☆");
}

/** In a chart that has some of the systems alone: the reader's own, whatever their place, and a field that finds one. */
function pinIn(state, standings) {
  const rest = standings.querySelector("tr.rest > th");
  if (!rest) return;
  const rows = new Map([...standings.querySelectorAll("tbody tr:not(.rest)")].map((row) => [row.querySelector("th").title, row]));
  for (const [name, row] of rows) {
    row.classList.toggle("pinned", state.pinned.includes(name));
    if (state.pinned.includes(name)) row.querySelector("th").append(" ", pinButton(state, name));
  }
  const pin = (name) => state.change((now) => { now.pinned = [...new Set([...now.pinned, name])]; }).then(() => document.querySelector("[name='find system']")?.focus());
  rest.append(" ", ...nameFinder("systems", [...rows.keys()], { name: "find system", placeholder: "Find a system", "aria-label": "Find a system and pin it" }, pin));
}

/** Positions of the systems by the chosen values, the best first, as all parts of the page list them. */
export async function rankSystems(state) {
  const rows = await valuesOf(state, state.metric, state.aggregate);
  const { systems } = state.now;
  return [...state.shownSystems].sort((a, b) =>
    byNumber(rows[a].value, rows[b].value, -(state.about.sign || 1)) || byName(systems[a], systems[b]));
}

/** What a page says that has numbers of some tracks. */
export const WHOLE = "Intervals and tests are of all tracks and systems; the command beside this computes those of what is shown.";

function tableOf(state, entries, others, inference) {
  const { now, about } = state;
  const write = formatter(about, state.percent);
  const metrics = others.map((metric) => th(el("button", { type: "button", title: `Show ${now.metrics[metric].name}`,
    onclick: () => state.change((one) => one.takeMetric(metric)) }, titleOf(now.metrics[metric])), "number"));
  const [bounded, tested, first] = [entries.some(({ low }) => low !== null), inference?.letters.length > 0, inference?.first?.length > 0];
  const told = (text, kind = null) => el("th", { scope: "col", class: kind, title: inference.how }, text);
  const sorter = (column, text, kind) => sortHead(column, text, kind, state.ranking, (turned) => state.change((one) => { one.ranking = { column, turned }; }));
  const heads = [th("#", "number rank"), sorter("system", "System", "who"),
    sorter("value", CONTENTS.aggregates[state.aggregate].title, "number"), bounded ? th(`${CONTENTS.level} interval`) : null,
    tested ? [told("Not told apart"), told("Ranks")] : null, first ? told("First", "number") : null,
    el("th", { scope: "col", class: "number", title: "Scores that count" }, "n"),
    el("th", { scope: "col", class: "number", title: "Cells without a score" }, "missing"), metrics];
  const leaders = entries.filter((entry) => entry.rank === 1);
  const alike = (entry) => entry.rank === 1 || [...entry.letters].some((letter) => leaders.every(({ letters }) => letters.includes(letter)));
  const body = entries.map((entry) => el("tr", { class: alike(entry) ? null : "plain" }, el("td", { class: "number quiet rank" }, entry.rank ?? ""),
    el("th", { scope: "row", title: entry.name }, named(now, "systems", entry.system), entries.length > PINNED ? [" ", pinButton(state, entry.name)] : null,
      el("small", {}, detailsOf(now.systemCoords, entry.system).join(" · "))),
    el("td", { class: "number strong", "data-value": entry.value }, write(entry.value)),
    bounded ? el("td", { class: "number interval", "data-low": entry.low, "data-high": entry.high, title: entry.low === null ? null : `${entry.low} to ${entry.high}` }, entry.low === null ? "" : `[${write(entry.low)}, ${write(entry.high)}]`) : null,
    tested ? [el("td", { class: "letters" }, entry.letters), el("td", {}, entry.ranks)] : null,
    first ? el("td", { class: "number", title: entry.first }, entry.first === null ? "–" : `${entry.percent} %`) : null,
    el("td", { class: "number quiet count" }, entry.n), el("td", { class: "number quiet" }, entry.missing || ""),
    others.map((metric, place) => el("td", { class: "number", title: entry.others[place] }, formatter(now.metrics[metric], state.percent)(entry.others[place])))));
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

/** What is known without a test, as a sentence in place of the chart. */
function standingsOfShown(state, entries) {
  const { about, shownTracks } = state;
  const write = formatter(about, state.percent);
  const value = (one) => `${write(one)}${about.unit ? ` ${about.unit}` : unitOf(about, state.percent) && " %"}`;
  const listed = (some) => (some.length > SPOKEN ? `${some.length} systems` : new Intl.ListFormat("en-GB").format(some.map(({ name }) => name)));
  const tracks = shownTracks.length === 1 ? "this track" : `${state.shown ? "these" : "all"} ${count(shownTracks.length, "track")}`;
  const known = entries.filter(({ value: own }) => !Number.isNaN(own)).sort((a, b) => about.sign * (b.value - a.value) || 0);
  const without = entries.filter((entry) => !known.includes(entry));
  const best = known.filter((one) => one.value === known[0].value);
  const [low, high] = [Math.min, Math.max].map((end) => end(...known.map((one) => one.value)));
  const [n, ...others] = new Set(known.map((one) => one.n));
  const lead = !known.length ? `No system has a score of ${tracks}.` : known.length === 1 ? `${known[0].name} reaches ${value(known[0].value)} on ${tracks}.` :
    about.sign ? `${listed(best)} ${best.length === 1 ? "has" : "have"} the best value of ${tracks}, ${value(known[0].value)}.` :
      `The systems have ${value(low)} to ${value(high)} on ${tracks}; neither high nor low is better.`;
  const rest = [state.shown ? ` Shown: ${shownOf(state)}.` : "", state.missing === "common" && !others.length && n < shownTracks.length ? ` ${n} of ${count(shownTracks.length, "track")} count: those that every one of these systems has.` : "",
    known.length && without.length ? ` ${listed(without)} ${without.length === 1 ? "has" : "have"} no score.` : ""];
  return [["p", { class: "lead" }, [["strong", {}, [lead]], ...rest]]];
}

/** Systems by evaluations, as they were written with the page. */
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

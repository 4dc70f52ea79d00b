/** What goes wrong: the errors of a system by kind, each of which leads to its places, and what each system loses by them. */

import { readJson } from "./data.js";
import { choice, el, hinted, moreButton, onRequest, opener, section, svg, table, th, tintedCell, walk } from "./dom.js";
import { rankSystems, valuesOf } from "./leaderboard.js";
import { byNumber, count, formatter, shortName, titleOf } from "./numbers.js";
import { isSuspect } from "./references.js";

const shown = { most: 12 };
/** Seconds that are seen before and after a place, and the length of the longest bar. */
const [AROUND, WIDTH] = [4, 200];

const nameOf = (state) => (state.metric < 0 ? "" : state.about.name);
/** The metric that judges, the chosen one if it does, and the part of the page with the errors by it. */
const entryOf = (state) => { const { errors = [] } = state.now; return errors.find(([rule]) => rule === nameOf(state)) || errors[0] || []; };
const rankedOf = (state) => (state.metric < 0 ? state.shownSystems : rankSystems(state));
/** The system whose errors are listed: by itself the best of those that are judged. */
const systemOf = ({ wrong }, { systems }, ranked) => (ranked.includes(wrong.of) ? wrong.of : ranked.find((place) => systems[place]?.judged) ?? ranked[0]);

/** The places of a kind, the largest first: the track, and when; those that another system has right, if one is chosen.
 * What a suspect reference makes wrong comes last. */
function placesOf(state, found, kind) {
  const { now, wrong, shown: left } = state;
  let track = 0;
  const kept = left && new Set(left.tracks);
  const places = kind.track.map((step, at) => {
    track += step;
    const length = kind.length ? kind.length[at] / 10 : 0;
    return { track: now.tracks.indexOf(found.tracks[track]), start: kind.start ? kind.start[at] / 10 : null, length,
      size: kind.count ? kind.count[at] : length, right: kind.right[at] };
  });
  return places.filter((one) => !kept || kept.has(one.track)).filter(({ right }) => wrong.right < 0 || Math.floor(right / 2 ** wrong.right) % 2 === 1)
    .map((one) => ({ ...one, doubted: isSuspect(state, now.tracks[one.track]) })).sort((a, b) => a.doubted - b.doubted || b.size - a.size);
}

/** A place as the state of a timeline. */
const momentOf = ({ track, start, length }, system) => (start === null ? { track, ear: system } :
  { track, time: start, seen: [Math.max(0, start - AROUND), start + length + AROUND], ear: system });

/** What a timeline that was opened from here goes through; null where the page has no such kind. */
export async function listPlaces(state) {
  const [, part] = entryOf(state);
  const found = part === undefined ? null : errorsOfShown(await readJson(part), state);
  const system = found ? systemOf(state, found, await rankedOf(state)) : -1;
  const kind = found?.systems[system]?.kinds.find(({ name }) => name === state.wrong.kind);
  const places = kind ? placesOf(state, found, kind) : [];
  if (!places[state.wrong.place]) return null;
  return { members: places.map((one) => momentOf(one, system)), words: `${state.now.systems[system]}: ${kind.name}, the largest first`, what: "place" };
}

/** An amount for people; what it counts is said beside it. */
const write = (value) => (value >= 100 || Number.isInteger(value) ? Math.round(value).toLocaleString("en") : value.toFixed(1));
const percent = (part, whole) => `${((100 * part) / whole).toFixed(1)} %`;
const wordOf = ({ unit }, amount) => (unit === "s" ? `${write(amount)} s` : `${write(amount)} ${unit}`);

/** Which tracks the errors of a system are those of: not all of them in a large evaluation, nor those without it. */
const extentOf = ({ now }, tracks) => (tracks === now.trackCount ? (tracks > 1 ? `all ${count(tracks, "track")}` : "the one track") :
  `${now.timeline.sampled ? `the ${tracks.toLocaleString("en")} hardest` : tracks.toLocaleString("en")} of ${count(now.trackCount, "track")}`);

/** A card of the errors of a system; null where nothing is judged. */
export async function drawErrors(state, open) {
  // Not every metric judges single items; a server does not know yet which does.
  const [rule, part] = entryOf(state);
  if (part === undefined) return null;
  const holder = await onRequest(part, "List what goes wrong", async () => {
    const found = errorsOfShown(await readJson(part), state);
    const ranked = await rankedOf(state);
    return found && found.systems.some((one) => one) ? listOf(state, found, systemOf(state, found, ranked), ranked, open) : [el("p", { role: "status" }, "Nothing here is judged item by item.")];
  });
  const judge = state.now.metrics.find(({ name }) => name === rule);
  return section("errors", `What goes wrong${!rule || rule === nameOf(state) ? "" : ` (by ${judge ? titleOf(judge) : rule})`}`, null, holder);
}

function listOf(state, found, system, ranked, open) {
  const { systems, metrics, trackCount, timeline } = state.now;
  const own = found.systems[system];
  const { right } = state.wrong;
  const choose = (name, label, options, value) => choice(label, options, value, (picked) => state.change((now) => { now.wrong = { ...now.wrong, [name]: Number(picked) }; }), name);
  const named = ranked.map((place) => [place, shortName(state.now, "systems", place)]);
  const others = named.filter(([place]) => place !== system && found.systems[place]);
  const compared = own && own.instead.length > 0 && others.length > 0 && found.comparable;
  const bar = el("div", { class: "bar" }, choose("of", "Errors of", named, system),
    compared ? choose("right", "Of these, what is right in", [[-1, "everything"], ...others], right) : null);
  if (!own || !own.judged) return [bar, el("p", { class: "note" }, `None of its estimates${found.narrowed ? " of these tracks" : ""} is judged.`)];
  const metric = metrics.find(({ name }) => name === found.rule);
  const chosen = compared && right >= 0 && right !== system ? right : -1;
  const both = found.unit === "s" || !["events", "notes", "hits", "boundaries"].includes(found.unit) ? "" : " of reference and estimate";
  const told = chosen < 0 ? `${percent(own.wrong, own.judged)} of ${wordOf(found, own.judged)}${both}` :
    `${wordOf(found, own.instead[chosen])} that ${systems[chosen]} has right: ${own.wrong ? percent(own.instead[chosen], own.wrong) : "0 %"} of its errors`;
  const suspect = found.narrowed ? 0 : state.now.causes?.suspect;
  const note = el("p", { class: "note" }, hinted(`${systems[system]}: ${told}${chosen < 0 ? (found.unit === "s" ? " is wrong" : " are wrong") : ""}, ` +
    `by ${metric ? titleOf(metric) : found.rule} on ${found.narrowed ? `${own.tracks.toLocaleString("en")} of ${count(trackCount, "track")}` : extentOf(state, own.tracks)}. Click a kind to hear its longest case${timeline.hardest ? " among the tracks that have a timeline" : ""}; N and P step through the others.${
      state.shown && state.shown.tracks.length < trackCount && !found.narrowed ? ` These totals are of ${timeline.sampled ? "those" : "all"} tracks; the filter limits the places.` : ""}${suspect ? ` The reference of ${count(suspect, "track")} is suspect; what is judged by it counts here, and comes last of each kind.` : ""}`));
  const kinds = own.kinds.map((kind) => ({ ...kind, size: chosen < 0 ? kind.amount : kind.instead[chosen] })).filter(({ size }) => size > 0)
    .sort((a, b) => b.size - a.size);
  return [bar, note, kinds.length ? tableOf(state, found, system, kinds, chosen, open) : el("p", { class: "note" }, "None.")];
}

function tableOf(state, found, system, kinds, chosen, open) {
  const own = found.systems[system];
  const total = chosen < 0 ? own.wrong : own.instead[chosen];
  const [left, rest] = own.left;
  const drawn = kinds.slice(0, shown.most);
  const unit = found.unit === "s" ? "Seconds" : found.unit[0].toUpperCase() + found.unit.slice(1);
  const heads = [th(drawn.some(({ name }) => name.includes(" → ")) ? "Error: reference → system" : "Error", "who"), th(el("span", { class: "unseen" }, "chart"), "chart"), th(unit, "number"), th("Of the errors", "number"),
    chosen < 0 ? th("Tracks", "number") : null, th(found.narrowed ? "Places listed" : "Places", "number")];
  const body = drawn.map((kind) => {
    const places = placesOf(state, found, kind);
    const look = () => {
      state.wrong = { ...state.wrong, kind: kind.name, place: 0 };
      const { track, ...at } = momentOf(places[0], system);
      open(track, "errors", at);
    };
    const wide = Math.max(1, (WIDTH * kind.size) / kinds[0].size);
    return el("tr", places.length ? { class: "open", onclick: look } : {}, el("th", { scope: "row" }, places.length ? opener(kind.name, kind.name, look, { onkeydown: walk }) : kind.name),
    el("td", { class: "chart" }, svg("svg", { viewBox: `0 0 ${WIDTH} 16`, preserveAspectRatio: "none", "aria-hidden": "true", class: "amount" },
      svg("rect", { x: 0, y: 3, width: wide, height: 10 }))),
    el("td", { class: "number", "data-value": kind.size }, write(kind.size)), el("td", { class: "number quiet" }, percent(kind.size, total)),
    chosen < 0 ? el("td", { class: "number" }, kind.tracks.toLocaleString("en")) : null,
    el("td", { class: "number quiet" }, (chosen < 0 && !found.narrowed ? kind.places : places.length).toLocaleString("en")));
  });
  const more = moreButton(drawn.length, kinds.length, () => { shown.most += 50; state.notify(); });
  const others = left && chosen < 0 ? el("p", { class: "note" }, `${found.narrowed ? "Other kinds" : count(left, "more kind")}: ${wordOf(found, rest)}, ${percent(rest, own.wrong)} of the errors. ` +
    "Of each kind, the largest places are here.") : null;
  return el("div", {}, table(heads, body, { label: "Kinds of errors" }), more, others);
}

const sumOf = (values) => values.reduce((sum, value) => sum + value, 0);

/** The amounts of a kind in some tracks. */
function amountsIn([steps, amounts], kept) {
  let track = 0;
  return amounts.filter((_, at) => kept.has(track += steps[at]));
}

/** A system's errors over some tracks. */
function narrow(own, totals, kept) {
  const judged = totals.judged.filter((amount, track) => amount !== null && kept.has(track));
  const kinds = own.kinds.map((kind, place) => {
    const amounts = amountsIn(totals.kinds[place], kept);
    return { ...kind, amount: sumOf(amounts), tracks: amounts.length };
  });
  const left = sumOf(amountsIn(totals.left, kept));
  return { ...own, tracks: judged.length, judged: sumOf(judged), wrong: left + sumOf(kinds.map(({ amount }) => amount)), kinds, left: [left ? own.left[0] : 0, left] };
}

/** What is wrong in the tracks that are shown; in all tracks where the page has no totals by track, and where only what another system has right is asked
 * for. */
function errorsOfShown(found, { now, shown, wrong }) {
  if (!found?.byTrack || wrong.right >= 0 || !shown || shown.tracks.length === now.tracks.length) return found;
  const names = new Set(shown.tracks.map((track) => now.tracks[track]));
  const kept = new Set(found.tracks.keys().filter((track) => names.has(found.tracks[track])));
  const systems = found.systems.map((own, place) => own && narrow(own, found.byTrack[place], kept));
  return { ...found, systems, narrowed: true };
}

const parameterOf = (metric, name) => (metric.parameters.find(([own]) => own === name) ?? [null, ""])[1];

/** The metric whose losses the evaluation has, or undefined. */
export function lossOf({ now: { metrics } }) {
  const first = metrics.find((metric) => parameterOf(metric, "kind"));
  return first && parameterOf(first, "of");
}

/** A card of what each system loses; null where the evaluation has no losses. */
export async function drawLosses(state) {
  const { systems, metrics } = state.now;
  const of = lossOf(state);
  const places = metrics.map((_, place) => place).filter((place) => of && parameterOf(metrics[place], "of") === of);
  const whole = metrics.findIndex(({ name }) => name === of);
  if (whole < 0) return null;
  const about = metrics[whole];
  const title = "Losses by kind of errors";
  if (!metrics[places[0]].policies.includes(state.missing)) {
    return section("losses", title, "A missing estimate has no errors to split its loss among: choose another treatment of missing scores.");
  }
  const columns = await Promise.all([whole, ...places].map((place) => valuesOf(state, place, about.standard_aggregate)));
  const rows = state.shownSystems.map((system) => ({ name: systems[system], values: columns.map((one) => one[system].value) }));
  rows.sort((a, b) => byNumber(a.values[0], b.values[0], -(about.sign || 1)));
  const note = `${titleOf(about)} of each system, and what it loses by each kind of errors: Shapley values of mending the kinds. ` +
    (about.sign < 0 ? "The shares sum to the score." : "Score and shares sum to the score of the references by themselves.");
  const write = formatter(about, state.percent);
  const most = Math.max(...rows.flatMap(({ values }) => values.slice(1)).map(Math.abs).filter(Number.isFinite)) || 1;
  const heads = [th("System", "who"), th(titleOf(about), "number"), places.map((place) => th(parameterOf(metrics[place], "kind").replaceAll("_", " "), "number"))];
  const body = rows.map(({ name, values: [score, ...shares] }) => el("tr", {}, el("th", { scope: "row", title: name }, name),
    el("td", { class: "number strong", "data-value": score }, write(score)), shares.map((value) => tintedCell(value, Math.abs(value) / most, write(value)))));
  return section("losses", title, note, table(heads, body, { label: "Losses", class: "tinted" }));
}

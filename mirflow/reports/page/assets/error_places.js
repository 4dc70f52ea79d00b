/** What goes wrong: the errors of a system over all tracks by kind, each of which leads to its places. */

import { choice, el, hinted, onRequest, section, svg, table, th } from "./dom.js";
import { count, shortName, titleOf } from "./format.js";
import { readJson } from "./data.js";
import { errorsOfShown } from "./error_totals.js";
import { rankSystems } from "./leaderboard.js";

const shown = { most: 12 };
/** Seconds that are seen before and after a place. */
const AROUND = 4;
const WIDTH = 200;

/** The part of the page with the errors by the chosen metric, or by the one that judges here. */
const entryOf = ({ errors = [] }, metric) => errors.find(([rule]) => rule === metric) || errors[0] || [];
const partOf = (now, metric) => entryOf(now, metric)[1];
const ruleOf = (now, metric) => entryOf(now, metric)[0];

const nameOf = (state) => (state.metric < 0 ? "" : state.about.name);

/** The system whose errors are listed: by itself the best of those that are judged. */
async function systemOf(state, { systems }) {
  const { wrong, shownSystems, metric } = state;
  if (shownSystems.includes(wrong.of)) return wrong.of;
  const ranked = metric < 0 ? shownSystems : await rankSystems(state);
  return ranked.find((place) => systems[place]?.judged) ?? ranked[0];
}

/** The places of a kind, the largest first: the track, and when; those that another system has right, if one is chosen. */
function placesOf({ now, wrong, shown: left }, found, kind) {
  let track = 0;
  const kept = left && new Set(left.tracks);
  const places = kind.track.map((step, at) => {
    track += step;
    const length = kind.length ? kind.length[at] / 10 : 0;
    return { track: now.tracks.indexOf(found.tracks[track]), start: kind.start ? kind.start[at] / 10 : null, length,
      size: kind.count ? kind.count[at] : length, right: kind.right[at] };
  });
  return places.filter((one) => !kept || kept.has(one.track)).filter(({ right }) => wrong.right < 0 || Math.floor(right / 2 ** wrong.right) % 2 === 1).sort((a, b) => b.size - a.size);
}

/** A place as the state of a timeline. */
const momentOf = ({ track, start, length }, system) => (start === null ? { track, ear: system } :
  { track, time: start, seen: [Math.max(0, start - AROUND), start + length + AROUND], ear: system });

/** What a timeline that was opened from here goes through; null where the page has no such kind. */
export async function listPlaces(state) {
  const part = partOf(state.now, nameOf(state));
  const found = part === undefined ? null : errorsOfShown(await readJson(part), state);
  const system = found ? await systemOf(state, found) : -1;
  const own = found && found.systems[system];
  const kind = own && own.kinds.find(({ name }) => name === state.wrong.kind);
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

/**
 * @param {import("./state.js").State} state
 * @param {(track: number, list: string, at: object) => void} open
 * @returns {Promise<Node|null>} nothing where nothing is judged
 */
export async function drawErrors(state, open) {
  const part = partOf(state.now, nameOf(state));
  if (part === undefined) return null;
  const holder = await onRequest(part, "List what goes wrong", async () => {
    const found = errorsOfShown(await readJson(part), state);
    return found && found.systems.some((one) => one) ? listOf(state, found, await systemOf(state, found), state.metric < 0 ? state.shownSystems : await rankSystems(state), open) : [el("p", { role: "status" }, "Nothing here is judged item by item.")];
  });
  // Not every metric judges single items; a server does not know yet which does.
  const rule = ruleOf(state.now, nameOf(state));
  const judge = state.now.metrics.find(({ name }) => name === rule);
  return section("errors", `What goes wrong${!rule || rule === nameOf(state) ? "" : ` (by ${judge ? titleOf(judge) : rule})`}`, null, holder);
}

function listOf(state, found, system, ranked, open) {
  const { systems, metrics, trackCount, timeline } = state.now;
  const own = found.systems[system];
  const { right } = state.wrong;
  const choose = (name, label, options, value) => {
    const made = choice(label, options, value, (picked) => state.change((now) => { now.wrong = { ...now.wrong, [name]: Number(picked) }; })
      .then(() => document.querySelector(`#errors select[name=${name}]`)?.focus()));
    made.querySelector("select").setAttribute("name", name);
    return made;
  };
  const others = ranked.map((place) => [place, shortName(state.now, "systems", place)]).filter(([place]) => place !== system && found.systems[place]);
  const compared = own && own.instead.length > 0 && others.length > 0 && found.comparable;
  const bar = el("div", { class: "bar" }, choose("of", "Errors of", ranked.map((place) => [place, shortName(state.now, "systems", place)]), system),
    compared ? choose("right", "Of these, what is right in", [[-1, "everything"], ...others], right) : null);
  if (!own || !own.judged) return [bar, el("p", { class: "note" }, `None of its estimates${found.narrowed ? " of these tracks" : ""} is judged.`)];
  const metric = metrics.find(({ name }) => name === found.rule);
  const chosen = compared && right >= 0 && right !== system ? right : -1;
  const both = found.unit === "s" || !["events", "notes", "hits", "boundaries"].includes(found.unit) ? "" : " of reference and estimate";
  const told = chosen < 0 ? `${percent(own.wrong, own.judged)} of ${wordOf(found, own.judged)}${both}` :
    `${wordOf(found, own.instead[chosen])} that ${systems[chosen]} has right: ${own.wrong ? percent(own.instead[chosen], own.wrong) : "0 %"} of its errors`;
  const note = el("p", { class: "note" }, hinted(`${systems[system]}: ${told}${chosen < 0 ? (found.unit === "s" ? " is wrong" : " are wrong") : ""}, ` +
    `by ${metric ? titleOf(metric) : found.rule} on ${found.narrowed ? `${own.tracks.toLocaleString("en")} of ${count(trackCount, "track")}` : extentOf(state, own.tracks)}. Click a kind to hear its longest case${timeline.hardest ? " among the tracks that have a timeline" : ""}; N and P step through the others.${
      state.shown && state.shown.tracks.length < trackCount && !found.narrowed ? ` These totals are of ${timeline.sampled ? "those" : "all"} tracks; the filter limits the places.` : ""}`));
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
    return el("tr", places.length ? { class: "open", onclick: look } : {}, el("th", { scope: "row" }, places.length ? el("button", { type: "button", class: "link",
      title: kind.name, onclick: (event) => { event.stopPropagation(); look(); }, onkeydown: walk }, kind.name) : kind.name),
    el("td", { class: "chart" }, svg("svg", { viewBox: `0 0 ${WIDTH} 16`, preserveAspectRatio: "none", "aria-hidden": "true", class: "amount" },
      svg("rect", { x: 0, y: 3, width: wide, height: 10 }))),
    el("td", { class: "number", "data-value": kind.size }, write(kind.size)), el("td", { class: "number quiet" }, percent(kind.size, total)),
    chosen < 0 ? el("td", { class: "number" }, kind.tracks.toLocaleString("en")) : null,
    el("td", { class: "number quiet" }, (chosen < 0 && !found.narrowed ? kind.places : places.length).toLocaleString("en")));
  });
  const more = kinds.length > drawn.length ? el("button", { type: "button", class: "more", onclick: () => {
    shown.most += 50;
    state.notify();
  } }, `Show more (${drawn.length} of ${kinds.length})`) : null;
  const others = left && chosen < 0 ? el("p", { class: "note" }, `${found.narrowed ? "Other kinds" : count(left, "more kind")}: ${wordOf(found, rest)}, ${percent(rest, own.wrong)} of the errors. ` +
    "Of each kind, the largest places are here.") : null;
  return el("div", {}, table(heads, body, { label: "Kinds of errors" }), more, others);
}

/** Up and down go from kind to kind. */
function walk(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step) return;
  const buttons = [...document.querySelectorAll("#errors tbody button.link")];
  event.preventDefault();
  buttons[buttons.indexOf(event.target) + step]?.focus();
}

/** What is shown, as the part of the address behind #: links, reload and the way back lead to it. */

import { FETCHED } from "./source.js";
import { BEGINNING, MIX, TABS } from "./state.js";
import { addChips, fits } from "./filter.js";

/** Words that a place of the state may have, besides names of systems. */
const ORDERS = ["mean", "spread", "name"];
const WAIT = 300;

const named = (list, name, of = (one) => one) => list.findIndex((one) => of(one) === name);
const second = (time) => String(Number(time.toFixed(3)));

/** A place in the state by a name: read and written as text, empty where it is as at first; `take` gives whether it fits. */
const FIELDS = [
  ["evaluation", (state) => (state.evaluation ? state.now.name : ""), (state, text) => {
    const found = named(state.contents.evaluations, text, (one) => one.name);
    if (found >= 0) state.take(found);
    return found >= 0;
  }],
  ["metric", (state) => (state.metric < 0 || state.metric === state.now.main[0] ? "" : state.about.name), (state, text) => {
    const found = named(state.now.metrics, text, (one) => one.name);
    if (found >= 0) state.takeMetric(found);
    return found >= 0;
  }],
  ["aggregate", (state) => (state.metric < 0 || state.aggregate === state.about.standard_aggregate ? "" : state.aggregate),
    (state, text) => state.metric >= 0 && oneOf(state.about.aggregates, text, () => { state.aggregate = text; })],
  ["group", (state) => state.by, (state, text) => oneOf(state.groupable, text, () => { state.by = text; })],
  ["missing", (state) => (state.asked && state.missing !== state.policies[0] ? state.missing : ""),
    (state, text) => oneOf(state.policies, text, () => { state.asked = text; })],
  ["filter", (state) => (state.filter.length ? JSON.stringify(state.filter) : ""), readFilter],
  ["percent", (state) => (state.percent ? "yes" : ""), (state, text) => oneOf(["yes"], text, () => { state.percent = true; })],
  ["systems", ({ ranking: { column, turned } }) => (column === "value" && !turned ? "" : `${column}${turned ? " turned" : ""}`),
    (state, text) => oneOf(["value turned", "system", "system turned"], text, () => {
      const [column, turned] = text.split(" ");
      state.ranking = { column, turned: turned !== undefined };
    })],
  ["across", (state) => (typeof state.across === "number" ? `system ${state.now.systems[state.across]}` : other(state.across, "mean")),
    (state, text) => oneOf([...ORDERS, "pattern"], text, () => { state.across = text; }) ||
      (text.startsWith("system ") && systemOf(state, text.slice(7), (system) => { state.across = system; }))],
  ["colours", (state) => other(state.tones, "value"), (state, text) => oneOf(["rank"], text, () => { state.tones = text; })],
  ["list", (state) => other(state.listing.by, "mean"), (state, text) => oneOf(ORDERS, text, () => { state.listing.by = text; })],
  ["baseline", (state) => state.baseline, (state, text) => oneOf(state.contents.evaluations.flatMap((one) => one.systems), text, () => { state.baseline = text; })],
  ["gains", (state) => (state.pair.of < 0 ? "" : state.now.systems[state.pair.of]),
    (state, text) => systemOf(state, text, (system) => { state.pair.of = system; })],
  ["against", (state) => (state.pair.against < 0 ? "" : state.now.systems[state.pair.against]),
    (state, text) => systemOf(state, text, (system) => { state.pair.against = system; })],
  ["wrong", (state) => (state.wrong.of < 0 ? "" : state.now.systems[state.wrong.of]),
    (state, text) => systemOf(state, text, (system) => { state.wrong.of = system; })],
  ["right", (state) => (state.wrong.right < 0 ? "" : state.now.systems[state.wrong.right]),
    (state, text) => systemOf(state, text, (system) => { state.wrong.right = system; })],
  ["tab", (state) => other(state.tab, "ranking"), (state, text) => oneOf(TABS.map(([name]) => name), text, () => { state.tab = text; })],
  ["spread", (state) => other(state.spread, "heatmap"), (state, text) => oneOf(["distributions"], text, () => { state.spread = text; })],
  ["part", (state) => state.part, (state, text) => { state.part = text; return true; }],
  ["cells", (state) => state.cells, (state, text) => { state.cells = text; return true; }],
  ["extra", (state) => (state.extra.metric ? state.now.extras[state.extra.metric].name : ""), (state, text) => {
    const found = named(state.now.extras, text, (one) => one.name);
    state.extra.metric = Math.max(0, found);
    return found >= 0;
  }],
  ["of", (state) => (state.extra.system ? state.now.systems[state.extra.system] : ""),
    (state, text) => systemOf(state, text, (system) => { state.extra.system = system; })],
  ["rate", ({ extra, now }) => (extra.rate ? now.extras[extra.metric].classes[extra.rate][0] : ""), (state, text) => {
    const found = named(state.now.extras[state.extra.metric]?.classes ?? [], text, ([kind]) => kind);
    state.extra.rate = Math.max(0, found);
    return found >= 0;
  }],
  ["classes", ({ extra }) => extra.sorted, (state, text) => { state.extra.sorted = text; return true; }],
  ["track", ({ now, timeline }) => (timeline.track < 0 ? "" : now.tracks[timeline.track]), (state, text) => {
    state.timeline.track = named(state.now.tracks, text);
    return state.timeline.track >= 0;
  }],
  ["from", whileOpen((timeline) => other(timeline.list, "tracks")),
    (state, text) => oneOf(["heatmap", "errors"], text, () => { state.timeline.list = text; })],
  ["error", whileOpen(({ list }, { wrong }) => (list === "errors" ? wrong.kind : "")), (state, text) => { state.wrong.kind = text; return true; }],
  ["place", whileOpen(({ list }, { wrong }) => (list === "errors" ? String(wrong.place + 1) : "")),
    (state, text) => numbersOf(text, 1, ([number]) => { state.wrong.place = Math.max(0, Math.round(number) - 1); })],
  ["time", whileOpen((timeline) => (timeline.time > 0 ? second(timeline.time) : "")), (state, text) => numbersOf(text, 1, ([time]) => { state.timeline.time = time; })],
  ["seen", whileOpen((timeline) => (timeline.seen ? timeline.seen.map(second).join("-") : "")),
    (state, text) => numbersOf(text, 2, (seen) => { state.timeline.seen = seen; })],
  ["loop", whileOpen((timeline) => (timeline.loop ? timeline.loop.map(second).join("-") : "")),
    (state, text) => numbersOf(text, 2, (loop) => { state.timeline.loop = loop; })],
  ["mix", whileOpen((timeline) => other(timeline.mix.join("-"), MIX.join("-"))), (state, text) => {
    const mix = text.split("-").map(Number);
    const fit = mix.length === MIX.length && mix.every((one) => one >= 0 && one <= 100);
    if (fit) state.timeline.mix = mix;
    return fit;
  }],
  ["speed", whileOpen(({ slow }) => (slow ? "half" : "")), (state, text) => oneOf(["half"], text, () => { state.timeline.slow = true; })],
  ["ear", whileOpen(({ ear }, { now }) => (ear < 0 ? "" : now.systems[ear])),
    (state, text) => systemOf(state, text, (system) => { state.timeline.ear = system; })],
  ["beside", whileOpen(({ beside }, { now }) => (beside < 0 ? "" : now.systems[beside])),
    (state, text) => systemOf(state, text, (system) => { state.timeline.beside = system; })],
  ["judge", whileOpen(({ rule }, { now }) => (rule < 0 ? "" : now.timeline.rules[rule])), (state, text) => {
    state.timeline.rule = named(state.now.timeline.rules, text);
    // Where timelines are fetched, the chosen metric judges.
    return FETCHED || state.timeline.rule >= 0;
  }],
  ["without", whileOpen(({ corrected }) => (corrected ? "cause" : "")), (state, text) => oneOf(["cause"], text, () => { state.timeline.corrected = true; })],
  ["reference", whileOpen(({ reference }) => (reference ? String(reference + 1) : "")),
    (state, text) => numbersOf(text, 1, ([number]) => { state.timeline.reference = Math.max(0, Math.round(number) - 1); })],
];

/** The chips that fit; whether all do. */
function readFilter(state, text) {
  let chips = null;
  try {
    chips = JSON.parse(text);
  } catch {
    // A link that was cut off.
  }
  if (!Array.isArray(chips)) return false;
  addChips(state, ...chips.filter((chip) => fits(state.now, chip)));
  return chips.every((chip) => fits(state.now, chip));
}

function whileOpen(write) {
  return (state) => (state.timeline.track < 0 ? "" : write(state.timeline, state));
}

function other(word, usual) {
  return word === usual ? "" : word;
}

function oneOf(words, text, take) {
  if (words.includes(text)) take();
  return words.includes(text);
}

function systemOf(state, text, take) {
  const found = state.now.systems.indexOf(text);
  if (found >= 0) take(found);
  return found >= 0;
}

function numbersOf(text, many, take) {
  const numbers = text.split("-").map(Number);
  const fit = text !== "" && numbers.length === many && numbers.every((one) => Number.isFinite(one) && one >= 0) && (many < 2 || numbers[0] < numbers[1]);
  if (fit) take(numbers);
  return fit;
}

/** The part behind #, without it; empty where everything is as at first. */
export function writeAddress(state) {
  const found = new URLSearchParams();
  for (const [name, write] of FIELDS) {
    const text = write(state);
    if (text !== "") found.append(name, text);
  }
  return found.toString();
}

/** Take over what an address says; what this page does not have is left as at first, and reported. */
export function readAddress(state, text) {
  state.reset();
  const given = new URLSearchParams(text);
  const unknown = [];
  for (const [name, , take] of FIELDS) {
    const value = given.get(name);
    if (value !== null && !take(state, value)) unknown.push(`${name} ${value}`);
  }
  if (state.timeline.track < 0) state.timeline = { ...state.timeline, ...BEGINNING };
  state.unknown = unknown;
}

/** Take over what a link of the page says, and leave the rest as it is. */
export function follow(state, text) {
  const given = new URLSearchParams(text);
  return state.change((now) => {
    if (given.has("track")) now.timeline = { ...now.timeline, ...BEGINNING, beside: -1, list: "tracks" };
    for (const [name, , take] of FIELDS) if (given.has(name) && given.get(name) !== { evaluation: now.now.name, metric: now.about?.name }[name]) take(now, given.get(name));
  });
}

/** The whole address of what is shown. */
export function linkTo(state) {
  const text = writeAddress(state);
  return location.href.split("#")[0] + (text ? `#${text}` : "");
}

/** Keep the address in step with what is shown, and what is shown in step with the address. */
export function keepAddress(state) {
  let timer = 0;
  let pending = "";
  const put = (way, text) => {
    if (location.hash.slice(1) === text) return;
    try {
      // An address without # would load the page anew.
      history[way](null, "", `#${text}`);
    } catch {
      // Some browsers refuse more than a hundred changes in half a minute: the address follows with the next one.
    }
  };
  const flush = () => {
    if (timer) put("replaceState", pending);
    window.clearTimeout(timer);
    timer = 0;
  };
  state.remember = (push) => {
    state.unknown = [];
    if (push) {
      flush();
      put("pushState", writeAddress(state));
      return;
    }
    // What changes many times a second, such as a cursor, is written once it rests.
    pending = writeAddress(state);
    window.clearTimeout(timer);
    timer = window.setTimeout(flush, WAIT);
  };
  addEventListener("pagehide", flush);
  // Anchors of the page, which have no =, are no states of it.
  const wanted = () => (location.hash === "" || location.hash.includes("=") ? location.hash.slice(1) : null);
  const take = () => {
    const text = wanted();
    if (text === null || text === writeAddress(state)) return false;
    window.clearTimeout(timer);
    timer = 0;
    readAddress(state, text);
    return true;
  };
  addEventListener("hashchange", () => { if (take()) state.notify(); });
  take();
}

/** What is shown, as the part of the address behind #: links, reload and the way back lead to it. */

import { FETCHED } from "./data.js";
import { addChips, fits } from "./filter.js";
import { BEGINNING, MIX, TABS } from "./state.js";

/** Words that a place of the state may have, besides names of systems. */
const ORDERS = ["mean", "spread", "name"];
const REST = 300;
const toMilliseconds = (time) => String(Number(time.toFixed(3)));

/*
 * How a field of the address is taken over; each gives whether it fits. `put` gets the state, the text or the numbers, and
 * its place in a list.
 */
const among = (list, put) => (state, text) => {
  const place = list(state).indexOf(text);
  if (place >= 0) put(state, text, place);
  return place >= 0;
};
const anything = (put) => (state, text) => { put(state, text); return true; };
const spans = (many, put) => (state, text) => {
  const numbers = text.split("-").map(Number);
  const fit = text !== "" && numbers.length === many && numbers.every((one) => Number.isFinite(one) && one >= 0) && (many !== 2 || numbers[0] < numbers[1]);
  return fit && put(state, numbers) !== false;
};
/** The number of a system in a part of the state; -1 where none is chosen. */
const system = (name, part, key = "of", first = -1) => [name, (state) => (state[part][key] > first ? state.now.systems[state[part][key]] : ""),
  among(({ now }) => now.systems, (state, _, place) => { state[part][key] = place; })];
/** A word of the state, written unless it is the usual one; `own` gives the object that has it. */
const word = (name, key, usual, words, own = (state) => state) => [name, (state) => (own(state)[key] === usual ? "" : own(state)[key]),
  among(() => words, (state, text) => { own(state)[key] = text; })];
const text = (name, key, own = (state) => state) => [name, (state) => own(state)[key], anything((state, value) => { own(state)[key] = value; })];
const span = (name, key) => [name, ({ timeline }) => timeline[key]?.map(toMilliseconds).join("-") ?? "", spans(2, (state, numbers) => { state.timeline[key] = numbers; })];
const namesOf = (list) => list.map(({ name }) => name);

/** A place in the state by a name: read and written as text, empty where it is as at first; how it is taken over. */
const FIELDS = [
  ["evaluation", (state) => (state.evaluation ? state.now.name : ""), among(({ contents }) => namesOf(contents.evaluations), (state, _, place) => state.take(place))],
  ["metric", (state) => (state.metric < 0 || state.metric === state.now.main[0] ? "" : state.about.name), among(({ now }) => namesOf(now.metrics), (state, _, place) => state.takeMetric(place))],
  ["aggregate", (state) => (state.metric < 0 || state.aggregate === state.about.standard_aggregate ? "" : state.aggregate),
    among((state) => (state.metric < 0 ? [] : state.about.aggregates), (state, name) => { state.aggregate = name; })],
  ["group", (state) => state.by, among((state) => state.groupable, (state, name) => { state.by = name; })],
  ["missing", (state) => (state.asked && state.missing !== state.policies[0] ? state.missing : ""), among((state) => state.policies, (state, name) => { state.asked = name; })],
  ["filter", (state) => (state.filter.length ? JSON.stringify(state.filter) : ""), readFilter],
  ["percent", (state) => (state.percent ? "yes" : ""), among(() => ["yes"], (state) => { state.percent = true; })],
  ["pinned", (state) => state.pinned.join("\n"), (state, names) => {
    state.pinned = names.split("\n").filter((name) => state.contents.evaluations.some(({ systems }) => systems.includes(name)));
    return state.pinned.length > 0;
  }],
  ["systems", ({ ranking: { column, turned } }) => (column === "value" && !turned ? "" : `${column}${turned ? " turned" : ""}`),
    among(() => ["value turned", "system", "system turned"], (state, name) => { state.ranking = { column: name.split(" ")[0], turned: name.endsWith("turned") }; })],
  ["across", ({ across, now }) => (typeof across === "number" ? `system ${now.systems[across]}` : across === "mean" ? "" : across),
    among(({ now }) => [...ORDERS, ...now.systems.map((name) => `system ${name}`)],
      (state, name, place) => { state.across = place < ORDERS.length ? name : place - ORDERS.length; })],
  word("list", "by", "mean", ORDERS, ({ listing }) => listing),
  system("gains", "pair"),
  system("against", "pair", "against"),
  system("wrong", "wrong"),
  system("right", "wrong", "right"),
  word("tab", "tab", "ranking", TABS.map(([name]) => name)),
  word("spread", "spread", "heatmap", ["distributions"]),
  text("part", "part"),
  text("cells", "cells"),
  ["extra", ({ extra, now }) => (extra.metric ? now.extras[extra.metric].name : ""), among(({ now }) => namesOf(now.extras), (state, _, place) => { state.extra.metric = place; })],
  system("of", "extra", "system", 0),
  ["rate", ({ extra, now }) => (extra.rate ? now.extras[extra.metric].classes[extra.rate][0] : ""),
    among(({ extra, now }) => (now.extras[extra.metric]?.classes ?? []).map(([kind]) => kind), (state, _, place) => { state.extra.rate = place; })],
  text("classes", "sorted", ({ extra }) => extra),
  ["track", ({ now, timeline }) => now.tracks[timeline.track] ?? "", among(({ now }) => now.tracks, (state, _, place) => { state.timeline.track = place; })],
  // What follows is written while a timeline is open.
  ...[
    word("from", "list", "tracks", ["heatmap", "errors"], ({ timeline }) => timeline),
    ["error", ({ timeline, wrong }) => (timeline.list === "errors" ? wrong.kind : ""), anything((state, kind) => { state.wrong.kind = kind; })],
    ["place", ({ timeline, wrong }) => (timeline.list === "errors" ? String(wrong.place + 1) : ""), spans(1, (state, [number]) => { state.wrong.place = Math.max(0, Math.round(number) - 1); })],
    ["time", ({ timeline }) => (timeline.time > 0 ? toMilliseconds(timeline.time) : ""), spans(1, (state, [time]) => { state.timeline.time = time; })],
    span("seen", "seen"),
    span("loop", "loop"),
    ["mix", ({ timeline }) => (timeline.mix.join("-") === MIX.join("-") ? "" : timeline.mix.join("-")), spans(MIX.length, (state, mix) => {
      if (mix.some((one) => one > 100)) return false;
      state.timeline.mix = mix;
    })],
    ["speed", ({ timeline }) => (timeline.slow ? "half" : ""), among(() => ["half"], (state) => { state.timeline.slow = true; })],
    system("ear", "timeline", "ear"),
    system("beside", "timeline", "beside"),
    ["judge", ({ timeline, now }) => now.timeline.rules[timeline.rule] ?? "", (state, name) => {
      state.timeline.rule = state.now.timeline.rules.indexOf(name);
      // Where timelines are fetched, the chosen metric judges.
      return FETCHED || state.timeline.rule >= 0;
    }],
    ["without", ({ timeline }) => (timeline.corrected ? "cause" : ""), among(() => ["cause"], (state) => { state.timeline.corrected = true; })],
    ["reference", ({ timeline }) => (timeline.reference ? String(timeline.reference + 1) : ""),
      spans(1, (state, [number]) => { state.timeline.reference = Math.max(0, Math.round(number) - 1); })],
  ].map(([name, write, take]) => [name, (state) => (state.timeline.track < 0 ? "" : write(state)), take]),
];

/** The chips that fit; whether all do. */
function readFilter(state, written) {
  let chips = null;
  try {
    chips = JSON.parse(written);
  } catch {
    // A link that was cut off.
  }
  if (!Array.isArray(chips)) return false;
  const able = chips.filter((chip) => fits(state.now, chip));
  addChips(state, ...able);
  return able.length === chips.length;
}

/** The part behind #, without it; empty where everything is as at first. */
function writeAddress(state) {
  const written = FIELDS.map(([name, write]) => [name, write(state)]).filter(([, value]) => value !== "");
  return new URLSearchParams(written).toString();
}

/** Take over what a link of the page says, and leave the rest as it is. */
export function follow(state, address) {
  const asked = new URLSearchParams(address);
  return state.change((now) => {
    if (asked.has("track")) now.timeline = { ...now.timeline, ...BEGINNING, beside: -1, list: "tracks" };
    for (const [name, , take] of FIELDS) if (asked.has(name) && asked.get(name) !== { evaluation: now.now.name, metric: now.about?.name }[name]) take(now, asked.get(name));
  });
}

export function linkTo(state) {
  const written = writeAddress(state);
  return location.href.split("#")[0] + (written ? `#${written}` : "");
}

/** Keep the address in step with what is shown, and what is shown in step with the address. */
export function keepAddress(state) {
  let [timer, pending] = [0, null];
  const put = (way, address) => {
    if (location.hash.slice(1) === address) return;
    try {
      // An address without # would load the page anew.
      history[way](null, "", `#${address}`);
    } catch {
      // Some browsers refuse more than a hundred changes in half a minute: the address follows with the next one.
    }
  };
  const flush = () => {
    window.clearTimeout(timer);
    if (pending !== null) put("replaceState", pending);
    pending = null;
  };
  state.remember = (push) => {
    state.unknown = [];
    if (push) {
      flush();
      return put("pushState", writeAddress(state));
    }
    // What changes many times a second, such as a cursor, is written once it rests.
    pending = writeAddress(state);
    window.clearTimeout(timer);
    timer = window.setTimeout(flush, REST);
  };
  addEventListener("pagehide", flush);
  const take = () => {
    const address = location.hash.slice(1);
    // Anchors of the page, which have no =, are no states of it.
    if ((address && !address.includes("=")) || address === writeAddress(state)) return false;
    pending = null;
    // What this page does not have is left as at first, and reported.
    state.reset();
    const asked = new URLSearchParams(address);
    state.unknown = FIELDS.filter(([name, , take]) => asked.has(name) && !take(state, asked.get(name))).map(([name]) => `${name} ${asked.get(name)}`);
    if (state.timeline.track < 0) state.timeline = { ...state.timeline, ...BEGINNING };
    return true;
  };
  addEventListener("hashchange", () => { if (take()) state.notify(); });
  take();
}

/** What the page holds, in itself or at addresses beside it: names at once, numbers when they are looked at. */

import { el } from "./dom.js";

/** A script with JSON in the page, or a link to JSON. */
const place = /** @type {HTMLElement} */ (document.getElementById("contents"));

/** Whether data are fetched. */
export const FETCHED = place instanceof HTMLLinkElement;

const CHANGED = "The results have changed since this page was opened. Reload it to see them.";

export const bytesOf = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));

/** Say above everything why something could not be loaded. */
function complain(text) {
  document.getElementById("trouble")?.remove();
  document.getElementById("head").before(el("p", { id: "trouble", class: "warning", role: "alert" }, text));
}

export async function load(address, what) {
  const response = await fetch(new URL(address, place.href), { credentials: "same-origin" }).catch((error) => {
    complain(`${what} could not be loaded: the server does not answer. Reload the page to try again.`);
    throw error;
  });
  if (response.ok) return response;
  if (response.status === 404) return null;
  complain(response.status === 410 ? CHANGED : `${what} could not be loaded (${response.status}). Reload the page to try again.`);
  throw new Error(`${what}: ${response.status}`);
}

/** What the page knows at once: names, and what they mean. */
export const CONTENTS = FETCHED ? await (await load("", "The results"))?.json() : JSON.parse(place.textContent);
if (!CONTENTS) {
  complain("There are no results at this address any more.");
  throw new Error("no contents");
}

/** One of the compressed parts. */
async function loadPart(part) {
  const text = FETCHED ? CONTENTS.ahead[part] : document.getElementById(`block-${part}`).textContent;
  const response = text === undefined && await load(String(part), "Scores");
  if (response === null) {
    complain(CHANGED);
    throw new Error(`no part ${part}`);
  }
  const stream = new Blob([response ? await response.arrayBuffer() : bytesOf(text)]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

const unpacked = new Map();

function once(number, make) {
  if (!unpacked.has(number)) unpacked.set(number, loadPart(number).then(make));
  return unpacked.get(number);
}

export function readFloats(number) {
  return once(number, (bytes) => {
    const count = bytes.length / 8;
    const straight = new Uint8Array(bytes.length);
    for (let plane = 0; plane < 8; plane++) for (let item = 0; item < count; item++) straight[item * 8 + plane] = bytes[plane * count + item];
    return new Float64Array(straight.buffer);
  });
}

export const readJson = (number) => once(number, (bytes) => JSON.parse(new TextDecoder().decode(bytes)));

const scores = new Map();

/** Scores of one metric of an evaluation; `flags` say which are missing, undefined, and count. For an aggregate of sums of scores times weights they
 * include those that have a numerator over a weight of 0. */
export function readScores(evaluation, metric, aggregate = "") {
  const about = evaluation.metrics[metric];
  const { score, weight, flags } = CONTENTS.aggregates[aggregate]?.above === "weight" && about.pooled || about;
  if (!scores.has(score)) {
    scores.set(score, Promise.all([readFloats(score), readFloats(weight), readFloats(evaluation.duration), once(flags, (bytes) => bytes)])
      .then(([values, weights, duration, bytes]) => ({ score: values, weight: weights, duration, flags: bytes })));
  }
  return scores.get(score);
}

const inferred = new Map();

/** Intervals and letters of a metric by its usual aggregate, or null; undefined where they are fetched and not there yet. */
export function inferenceOf(evaluation, metric, arrived) {
  const [, part = null] = evaluation.inference.find(([one]) => one === metric) ?? [];
  if (typeof part !== "string") return part;
  if (!inferred.has(part)) {
    inferred.set(part, undefined);
    readJson(part).then((value) => {
      inferred.set(part, value);
      arrived();
    });
  }
  return inferred.get(part);
}

/** Timelines that were fetched last, so that going back to one is quick. */
const [recent, RECENT] = [new Map(), 20];

/** The annotations of a track with all that belongs to them, and the address of its recording; null where there are none. */
export async function readTimeline(evaluation, name, metric) {
  const { rules, able, of } = CONTENTS.evaluations[evaluation].timeline;
  // The track as the evaluation has it; without its annotations where there is a recording alone.
  const withOwn = ({ evaluations, ...track }) => {
    const own = evaluations.find(([number]) => number === (of ?? evaluation));
    if (!own && !track.audio) return null;
    return { ...track, ...(own ? own[1] : { references: [], estimates: [], evidence: [], changed: [], rules: [], able: [] }) };
  };
  if (!FETCHED) {
    const place = CONTENTS.timelines.find(([one]) => one === name);
    const own = place && withOwn(await readJson(place[1]));
    return own && { rules, able, vocabulary: await readJson(CONTENTS.vocabulary), verdicts: CONTENTS.verdicts, ...own };
  }
  const address = `${CONTENTS.tracks}${encodeURIComponent(name)}.json${metric && `?metric=${encodeURIComponent(metric)}`}`;
  const found = recent.get(address) || await (await load(address, "The timeline"))?.json();
  recent.delete(address);
  recent.set(address, found);
  if (recent.size > RECENT) recent.delete(recent.keys().next().value);
  return found ? withOwn(found) : null;
}

/** An aggregate that is no ratio of sums, over all tracks or a group by a coordinate: a value for each system. */
export async function readStatistic(evaluation, metric, aggregate, policy, by, members) {
  const { groupings, policies, systems } = evaluation;
  const values = await readFloats(evaluation.metrics[metric].statistics[aggregate]);
  // All tracks come first, then the groups of one coordinate after the other, each named by its first track.
  const firsts = [[null], ...groupings.map(([, own]) => own)];
  const rows = firsts.reduce((sum, own) => sum + own.length, 0);
  const place = by ? groupings.findIndex(([name]) => name === by) + 1 : 0;
  const before = firsts.slice(0, place).reduce((sum, own) => sum + own.length, 0);
  const row = policies.indexOf(policy) * rows + before + (by ? firsts[place].indexOf(members[0]) : 0);
  return values.subarray(row * systems.length, (row + 1) * systems.length);
}

/** Parts that were asked for: a server reads all annotations to make them. */
const asked = new Set();

/** A box for what is made of a part of the page: at once, or where it is fetched when the reader asks for it. */
export async function onRequest(part, label, make) {
  const holder = el("div", {});
  const fill = async () => holder.replaceChildren(...await make());
  if (!FETCHED) await fill();
  else if (asked.has(part)) fill();
  else {
    const button = el("button", { type: "button", onclick: () => {
      asked.add(part);
      button.replaceWith(el("p", { role: "status" }, "Reading the annotations …"));
      fill();
    } }, label);
    holder.append(button);
  }
  return holder;
}

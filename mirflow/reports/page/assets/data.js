/** What the page holds: names at once, numbers when they are looked at. */

import { FETCHED, load, loadContents, loadPart } from "./source.js";

/** What the page knows at once: names, and what they mean. */
export const CONTENTS = await loadContents();

const unpacked = new Map();

function once(kind, number, make) {
  const key = `${kind} ${number}`;
  if (!unpacked.has(key)) unpacked.set(key, loadPart(number, CONTENTS.ahead).then(make));
  return unpacked.get(key);
}

export function readFloats(number) {
  return once("floats", number, (bytes) => {
    const count = bytes.length / 8;
    const straight = new Uint8Array(bytes.length);
    for (let plane = 0; plane < 8; plane++) for (let item = 0; item < count; item++) straight[item * 8 + plane] = bytes[plane * count + item];
    return new Float64Array(straight.buffer);
  });
}

export const readJson = (number) => once("json", number, (bytes) => JSON.parse(new TextDecoder().decode(bytes)));

const scores = new Map();

/** Scores of one metric of an evaluation; `flags` say which are missing, undefined, and count. For an aggregate of sums of scores times weights they
 * include those that have a numerator over a weight of 0. */
export function readScores(evaluation, metric, aggregate = "") {
  const about = evaluation.metrics[metric];
  const { score, weight, flags } = CONTENTS.aggregates[aggregate]?.above === "weight" && about.pooled || about;
  if (!scores.has(score)) {
    scores.set(score, Promise.all([readFloats(score), readFloats(weight), readFloats(evaluation.duration), once("bytes", flags, (bytes) => bytes)])
      .then(([values, weights, duration, bytes]) => ({ score: values, weight: weights, duration, flags: bytes })));
  }
  return scores.get(score);
}

/** Aggregates over all tracks under the usual policy, where the page has them ready. */
export async function readValues({ systems, metrics }, metric, aggregate) {
  const { values, aggregates } = metrics[metric];
  const all = await readFloats(values);
  const row = (place) => all.subarray(place * systems.length, (place + 1) * systems.length);
  return { n: row(0), missing: row(1), nothing: row(2), value: row(3 + aggregates.indexOf(aggregate)) };
}

/** Intervals and letters of a metric by its usual aggregate, or null; what is fetched is there later. */
const inferred = new Map();

/** Inference of a metric as the page has it; undefined where it is fetched and not there yet. */
export function inferenceOf(evaluation, metric, arrived) {
  const found = evaluation.inference.find(([one]) => one === metric);
  if (!found) return null;
  if (typeof found[1] !== "string") return found[1];
  if (!inferred.has(found[1])) {
    inferred.set(found[1], undefined);
    readJson(found[1]).then((value) => {
      inferred.set(found[1], value);
      arrived();
    });
  }
  return inferred.get(found[1]);
}

/** Timelines that were fetched last, so that going back to one is quick. */
const recent = new Map();
const RECENT = 20;

/** The annotations of a track with all that belongs to them, and the address of its recording; null where there are none. */
export async function readTimeline(evaluation, name, metric) {
  const { rules, able, of } = CONTENTS.evaluations[evaluation].timeline;
  const number = of ?? evaluation;
  if (!FETCHED) {
    const place = CONTENTS.timelines.find(([one]) => one === name);
    const own = place && withOwn(await readJson(place[1]), number);
    return own && { rules, able, vocabulary: await readJson(CONTENTS.vocabulary), verdicts: CONTENTS.verdicts, ...own };
  }
  const address = `${CONTENTS.tracks}${encodeURIComponent(name)}.json${metric && `?metric=${encodeURIComponent(metric)}`}`;
  const found = recent.get(address) || await (await load(address, "The timeline"))?.json();
  recent.delete(address);
  recent.set(address, found);
  if (recent.size > RECENT) recent.delete(recent.keys().next().value);
  return found ? withOwn(found, number) : null;
}

/** A track as one of its evaluations has it; without its annotations where there is a recording alone. */
function withOwn({ evaluations, ...track }, number) {
  const own = evaluations.find(([one]) => one === number);
  if (!own && !track.audio) return null;
  return { ...track, ...(own ? own[1] : { references: [], estimates: [], evidence: [], changed: [], rules: [], able: [] }) };
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

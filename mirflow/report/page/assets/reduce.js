/** Aggregates over tracks, by the same definitions as `mirflow query`; arrays are (systems, tracks), row by row. */

const SCORED = 1;
const BARE = 2;

export const AGGREGATES = new Map([
  ["mean", "plain mean over the tracks"],
  ["median", "median over the tracks"],
  ["pooled", "mean over the tracks, weighted by the metric's own weight"],
  ["wcsr", "mean over the tracks, weighted by their evaluated seconds"],
  ["wcsr_tn", "mean over the tracks, weighted by the durations of their references"],
  ["wcsr_total", "right seconds over the seconds of all references"],
]);

export const MISSING = new Map([
  ["common", "only the tracks that every system has"],
  ["skip", "each system over the tracks that it has"],
  ["zero", "missing ones count as 0 with the weight of an empty estimate"],
]);

/**
 * Which scores count under a policy.
 * @param {{score: Float64Array, weight: Float64Array, cells: Uint8Array}} numbers
 * @param {number} systems
 * @param {number} tracks
 * @param {string} policy a name of MISSING
 * @returns {{value: Float64Array, counts: Uint8Array, missing: Uint8Array, undefined: Uint8Array}}
 */
export function include(numbers, systems, tracks, policy) {
  const { score, weight, cells } = numbers;
  const size = systems * tracks;
  const missing = new Uint8Array(size);
  const undefined_ = new Uint8Array(size);
  const counts = new Uint8Array(size);
  const value = Float64Array.from(score);
  const lacking = new Uint8Array(tracks);
  for (let cell = 0; cell < size; cell++) {
    const scored = (cells[cell] & SCORED) !== 0;
    missing[cell] = !scored || (Number.isNaN(score[cell]) && weight[cell] !== 0) ? 1 : 0;
    undefined_[cell] = weight[cell] === 0 && !missing[cell] ? 1 : 0;
    if (missing[cell]) lacking[cell % tracks] = 1;
  }
  for (let cell = 0; cell < size; cell++) {
    let counted = !missing[cell];
    if (policy === "common") counted = !lacking[cell % tracks];
    if (policy === "zero" && missing[cell]) {
      value[cell] = 0;
      counted = (cells[cell] & BARE) === 0;
    }
    counts[cell] = counted && !Number.isNaN(value[cell]) ? 1 : 0;
  }
  return { value, counts, missing, undefined: undefined_ };
}

/** What a track's score is multiplied by above, and what is added up below, the fraction line. */
function trackWeights(aggregate, weight, duration) {
  if (aggregate === "mean") return [1, 1];
  if (aggregate === "wcsr_tn") return [duration, duration];
  if (aggregate === "wcsr_total") return [weight, duration];
  return [weight, weight];
}

/**
 * One aggregate of one system over some tracks.
 * @param {string} aggregate a name of AGGREGATES
 * @param {{value: Float64Array, counts: Uint8Array}} included
 * @param {{weight: Float64Array, duration: Float64Array}} numbers
 * @param {number} system
 * @param {ArrayLike<number>} members positions of tracks
 * @param {number} tracks
 * @returns {number} NaN where nothing counts or nothing weighs
 */
export function reduce(aggregate, included, numbers, system, members, tracks) {
  const base = system * tracks;
  if (aggregate === "median") return median(Array.from(members).filter((track) => included.counts[base + track])
    .map((track) => included.value[base + track]));
  let above = 0;
  let below = 0;
  for (let place = 0; place < members.length; place++) {
    const cell = base + members[place];
    if (!included.counts[cell]) continue;
    const [over, under] = trackWeights(aggregate, numbers.weight[cell], numbers.duration[members[place]]);
    above += included.value[cell] * over;
    below += under;
  }
  return below === 0 ? NaN : above / below;
}

/** The median of some numbers; NaN of none. */
export function median(values) {
  if (!values.length) return NaN;
  const sorted = Float64Array.from(values).sort();
  return (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;
}

/** A quantile of sorted numbers, linear between neighbours. */
export function quantile(sorted, share) {
  if (!sorted.length) return NaN;
  const place = (sorted.length - 1) * share;
  const low = Math.floor(place);
  const [below, above] = [sorted[low], sorted[Math.min(low + 1, sorted.length - 1)]];
  if (below === above || place === low) return below;
  // What is infinite has no difference to go a part of.
  return Number.isFinite(above - below) ? below + (above - below) * (place - low) : below + above;
}

/** Mean and spread of each track over the systems that have a score. */
export function acrossSystems(numbers, systems, tracks) {
  const mean = new Float64Array(tracks);
  const spread = new Float64Array(tracks);
  for (let track = 0; track < tracks; track++) {
    let [count, total, low, high] = [0, 0, Infinity, -Infinity];
    for (let system = 0; system < systems; system++) {
      const score = numbers.score[system * tracks + track];
      if (Number.isNaN(score)) continue;
      count += 1;
      total += score;
      low = Math.min(low, score);
      high = Math.max(high, score);
    }
    mean[track] = count ? total / count : NaN;
    spread[track] = count ? high - low : NaN;
  }
  return { mean, spread };
}

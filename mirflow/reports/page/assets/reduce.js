/** Aggregates over tracks, by the same definitions as `mirflow query`; arrays are (systems, tracks), row by row. */

/** What a byte of an evaluation's flags says. */
export const MISSING = 1;
const UNDEFINED = 2;
/** Place of the bits that say under which of its policies a score counts. */
export const POLICIES = 2;

/**
 * Which scores count under a policy, and as what: one that is missing and counts is 0.
 * @param {{score: Float64Array, flags: Uint8Array}} numbers
 * @param {number} policy its place among those of the evaluation
 * @returns {{value: Float64Array, counts: Uint8Array, missing: Uint8Array, undefined: Uint8Array}}
 */
export function include({ score, flags }, policy) {
  const value = score.slice();
  const [counts, missing, nothing] = [0, 1, 2].map(() => new Uint8Array(flags.length));
  for (let cell = 0; cell < flags.length; cell++) {
    counts[cell] = (flags[cell] >> (POLICIES + policy)) & 1;
    missing[cell] = flags[cell] & MISSING;
    nothing[cell] = (flags[cell] & UNDEFINED) / UNDEFINED;
    if (counts[cell] && missing[cell]) value[cell] = 0;
  }
  return { value, counts, missing, undefined: nothing };
}

/** Weight of a numerator over 0, as in aggregates.py. */
const NEGLIGIBLE = 2 ** -900;

/** What a track's score is multiplied by above, or what is added up below, the fraction line. */
const FACTORS = { one: () => 1, weight: (weight) => weight, duration: (_weight, duration) => duration };

/**
 * One aggregate that is a ratio of sums, of one system over some tracks.
 * @param {{above: string, below: string}} aggregate names of FACTORS
 * @param {{value: Float64Array, counts: Uint8Array}} included
 * @param {{weight: Float64Array, duration: Float64Array}} numbers
 * @param {number} system
 * @param {ArrayLike<number>} members positions of tracks
 * @param {number} tracks
 * @returns {number} NaN where nothing counts or nothing weighs
 */
export function reduce(aggregate, included, numbers, system, members, tracks) {
  const base = system * tracks;
  const [over, under] = [FACTORS[aggregate.above], FACTORS[aggregate.below]];
  let above = 0;
  let below = 0;
  for (let place = 0; place < members.length; place++) {
    const cell = base + members[place];
    if (!included.counts[cell]) continue;
    const [weight, duration] = [numbers.weight[cell], numbers.duration[members[place]]];
    const factor = over(weight, duration);
    // What weighs nothing adds nothing, an infinite score too.
    if (factor !== 0) above += included.value[cell] * factor;
    below += weight === NEGLIGIBLE && aggregate.below === "weight" ? 0 : under(weight, duration);
  }
  return below === 0 ? NaN : above / below;
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

/** The smallest and the largest finite number; without any the first is Infinity. */
export function endsOf(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const one of values) {
    if (!Number.isFinite(one)) continue;
    if (one < low) low = one;
    if (one > high) high = one;
  }
  return [low, high];
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

/** Intervals and a test of some of the tracks, drawn again in a worker so that the page stays quick. */

import { quantile } from "./reduce.js";

const JOB = { seed: [1, 2, 3, 4], draws: 1000, level: 0.95, swaps: 10_000 };
/** How often tracks are drawn for an interval. */
export const DRAWS = JOB.draws;

/** Whole numbers from 0 to 2 ** 32 - 1: xoshiro128** (Blackman and Vigna 2021). */
function randomOf(seed) {
  const state = Uint32Array.from(seed);
  const turn = (word, by) => (word << by) | (word >>> (32 - by));
  return () => {
    const made = Math.imul(turn(Math.imul(state[1], 5), 7), 9) >>> 0;
    const shifted = state[1] << 9;
    state[2] ^= state[0];
    state[3] ^= state[1];
    state[1] ^= state[2];
    state[0] ^= state[3];
    state[2] ^= shifted;
    state[3] = turn(state[3], 11);
    return made;
  };
}

/** The value of a side whose units are `picks`: the median of its scores, or what stands above by what stands below. */
function valueOf(side, picks) {
  if (side.scores) {
    const scores = new Float64Array(picks.length);
    for (let place = 0; place < picks.length; place++) scores[place] = side.scores[picks[place]];
    return quantile(scores.sort(), 0.5);
  }
  let [above, below] = [0, 0];
  for (let place = 0; place < picks.length; place++) {
    above += side.above[picks[place]];
    below += side.below[picks[place]];
  }
  return below === 0 ? NaN : above / below;
}

/** The ends of the interval of a number that is made of units drawn with replacement: a percentile bootstrap. */
function intervalOf(make, units, { seed, draws, level }) {
  const random = randomOf(seed);
  const picks = new Uint32Array(units);
  const found = new Float64Array(draws);
  for (let draw = 0; draw < draws; draw++) {
    for (let place = 0; place < units; place++) picks[place] = Math.floor((random() / 4294967296) * units);
    found[draw] = make(picks);
  }
  const known = found.filter((one) => !Number.isNaN(one)).sort();
  return [quantile(known, (1 - level) / 2), quantile(known, (1 + level) / 2)];
}

/**
 * How often two sides differ as much as they do if their results are swapped unit by unit, in all ways or at random; and
 * the differences that this test does not exclude, of ratios of sums.
 */
function swapTest([one, other], units, { seed, swaps, level }) {
  // The same unit of both sides, so that a swap takes the other one.
  const join = (name) => one[name] && Float64Array.of(...one[name], ...other[name]);
  const joined = { scores: join("scores"), above: join("above"), below: join("below") };
  const exact = units <= 30 && 2 ** (units - 1) <= swaps;
  const [random, number] = [randomOf(seed), exact ? 2 ** (units - 1) : swaps];
  const [left, right] = [new Uint32Array(units), new Uint32Array(units)];
  const difference = (isSwapped) => {
    for (let unit = 0; unit < units; unit++) {
      const swapped = isSwapped(unit);
      left[unit] = unit + (swapped ? units : 0);
      right[unit] = unit + (swapped ? 0 : units);
    }
    return valueOf(joined, left) - valueOf(joined, right);
  };
  const observed = Math.abs(difference(() => false));
  // Differences of sums in another order are rounding errors.
  const least = observed - 1e-11 * Math.max(...(joined.scores || joined.above.map((above, cell) => above / (joined.below[cell] || 1))).map(Math.abs));
  const size = new Float64Array(number);
  let [extreme, known, bits, square] = [0, 0, 0, 0];
  for (let swap = 0; swap < number; swap++) {
    const found = Math.abs(difference(exact ? (unit) => (swap >> unit) & 1 : (unit) => {
      if (unit % 32 === 0) bits = random();
      return (bits >>> (unit % 32)) & 1;
    }));
    size[swap] = Number.isNaN(found) ? -1 : found;
    known += Number.isNaN(found) ? 0 : 1;
    square += Number.isNaN(found) ? 0 : found ** 2;
    extreme += found >= least ? 1 : 0;
  }
  // What was observed is one of the ways (Phipson and Smyth 2010).
  const drawn = exact ? 0 : 1;
  const p = Number.isNaN(observed) ? NaN : (extreme + drawn) / (known + drawn);
  const allowed = Math.floor((1 - level) * (known + drawn) + 1e-9) - drawn;
  const ends = one.scores || Number.isNaN(p) || allowed < 0 ? [] :
    notExcluded(one, other, units, size.sort()[number - 1 - allowed] ** 2 / (square / known || 1), square / known);
  // What is rounded does not contradict the test.
  if (ends.length && p > 1 - level + 1e-9) return { p, ends: [Math.min(ends[0], 0), Math.max(ends[1], 0)] };
  return { p, ends };
}

/** The differences within some standard deviations of swaps, as in inversion.py; `limit` is the square of their number. */
function notExcluded(one, other, units, limit, variance) {
  const total = (values) => values.reduce((sum, value) => sum + value, 0);
  const [wholes, values] = [[one, other].map((side) => total(side.below)), [one, other].map((side) => total(side.above) / total(side.below))];
  let [own, shares, both] = [0, 0, 0];
  for (let unit = 0; unit < units; unit++) {
    const [moved, weight] = [0, 1].map((side) => {
      const { above, below } = side ? other : one;
      return [(above[unit] - values[side] * below[unit]) / wholes[side], below[unit] / wholes[side]];
    }).reduce(([a, b], [c, d]) => [a - c, (b + d) / 2]);
    own += moved ** 2;
    shares += weight ** 2;
    both += moved * weight;
  }
  const difference = values[0] - values[1];
  const expected = own + 2 * difference * both + difference ** 2 * shares;
  const scaled = limit * (expected > 1e-14 * difference ** 2 ? variance / expected : 1);
  const [leading, middle] = [1 - scaled * shares, scaled * both];
  if (leading <= 1e-9) return [];
  const root = Math.sqrt(Math.max(middle ** 2 + leading * scaled * own, 0));
  return [difference - (middle + root) / leading, difference - (middle - root) / leading];
}

/** Do a job: intervals of the values of some sides, or of the difference of two, which is tested. */
function answer(job) {
  if (!job.paired) return job.sides.map((side) => intervalOf((picks) => valueOf(side, picks), side.units, job));
  const [[one, other], { units }] = [job.sides, job.sides[0]];
  const every = Uint32Array.from({ length: units }, (_, unit) => unit);
  return { difference: valueOf(one, every) - valueOf(other, every), ...swapTest([one, other], units, job) };
}

const waiting = new Map();
let worker = null;
let last = 0;

function finish(id, found) {
  waiting.get(id)?.done(found);
  waiting.delete(id);
}

/** Where a worker is not allowed, the page computes itself, a job at a time. */
function computeHere() {
  worker = { postMessage: ({ id, job }) => window.setTimeout(() => waiting.has(id) && finish(id, answer(job))), terminate: () => {} };
  for (const [id, { job }] of waiting) worker.postMessage({ id, job });
}

function start() {
  const source = [quantile, randomOf, valueOf, intervalOf, notExcluded, swapTest, answer].join("\n");
  try {
    const address = URL.createObjectURL(new Blob([`${source}\nonmessage = ({ data: { id, job } }) => postMessage({ id, found: answer(job) });`], { type: "text/javascript" }));
    worker = new Worker(address);
    worker.onmessage = ({ data: { id, found } }) => finish(id, found);
    worker.onerror = computeHere;
  } catch {
    computeHere();
  }
}

/** Give up what nobody waits for any more. */
export function dropJobs() {
  if (!waiting.size) return;
  worker.terminate();
  worker = null;
  waiting.clear();
}

/**
 * @param {{sides: {units: number, scores?: Float64Array, above?: Float64Array, below?: Float64Array}[], paired?: boolean}} given
 * @returns {Promise<any>} the ends of an interval for each side; of a pair difference, its ends and p
 */
export function resample(given) {
  if (!worker) start();
  const id = last += 1;
  const job = { ...JOB, ...given };
  return new Promise((done) => {
    waiting.set(id, { job, done });
    worker.postMessage({ id, job });
  });
}

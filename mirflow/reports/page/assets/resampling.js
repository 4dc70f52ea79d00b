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

/** How often two sides differ as much as they do if their results are swapped unit by unit, in all ways or at random. */
function swapTest([one, other], units, { seed, swaps }) {
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
  let [extreme, known, bits] = [0, 0, 0];
  for (let swap = 0; swap < number; swap++) {
    const found = Math.abs(difference(exact ? (unit) => (swap >> unit) & 1 : (unit) => {
      if (unit % 32 === 0) bits = random();
      return (bits >>> (unit % 32)) & 1;
    }));
    known += Number.isNaN(found) ? 0 : 1;
    extreme += found >= least ? 1 : 0;
  }
  // What was observed is one of the ways (Phipson and Smyth 2010).
  const drawn = exact ? 0 : 1;
  return Number.isNaN(observed) ? NaN : (extreme + drawn) / (known + drawn);
}

/** Do a job: intervals of the values of some sides, or of the difference of two, which is tested. */
function answer(job) {
  if (!job.paired) return job.sides.map((side) => intervalOf((picks) => valueOf(side, picks), side.units, job));
  const [[one, other], { units }] = [job.sides, job.sides[0]];
  const differ = (picks) => valueOf(one, picks) - valueOf(other, picks);
  return { difference: differ(Uint32Array.from({ length: units }, (_, unit) => unit)), ends: intervalOf(differ, units, job), p: swapTest([one, other], units, job) };
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
  const source = [quantile, randomOf, valueOf, intervalOf, swapTest, answer].join("\n");
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

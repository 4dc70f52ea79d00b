/** Numbers and names as people read them, and aggregates over tracks by the definitions of `mirflow query`; arrays are (systems, tracks), row by row. */

/** Decimals of ratios whose intervals are not known. */
const DECIMALS = 3;

/** How a metric's numbers are written: ratios with the decimals that its intervals allow, or as percentages with two fewer; others with four digits. */
export function formatter(metric, percent) {
  const [ratio, decimals] = [metric.unit === "", metric.decimals ?? DECIMALS];
  return (value) => {
    if (value === null || value === undefined || Number.isNaN(value)) return "–";
    if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
    if (ratio) return unsigned(percent ? (value * 100).toFixed(Math.max(0, decimals - 2)) : value.toFixed(decimals));
    return Math.abs(value) >= 1000 ? value.toFixed(0) : String(Number(value.toPrecision(4)));
  };
}

/** Round numbers of a scale, about `number` of them, steps of 1, 2 or 5 times a power of ten. */
export function niceTicks(low, high, number = 5) {
  const rough = (high - low) / Math.max(1, number - 1);
  if (!(rough > 0) || !Number.isFinite(rough)) return [low];
  const power = 10 ** Math.floor(Math.log10(rough));
  const farness = (factor) => Math.abs(Math.log((factor * power) / rough));
  const step = power * [1, 2, 5, 10].reduce((best, factor) => (farness(factor) < farness(best) ? factor : best));
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, at) => Number(((first + at) * step).toPrecision(12)));
}

/** Numbers of a scale with the fewest digits that tell them apart. */
export function tickFormatter(metric, percent, ticks) {
  const factor = metric.unit === "" && percent ? 100 : 1;
  const shown = ticks.map((value) => value * factor);
  const decimals = [0, 1, 2, 3, 4, 5, 6].find((digits) => shown.every((value) => Math.abs(value - Number(value.toFixed(digits))) < 1e-9)) ?? 6;
  return (value) => unsigned((value * factor).toFixed(decimals));
}

/** What rounds to zero has no sign. */
const unsigned = (text) => /^-[0.]+$/.test(text) ? text.slice(1) : text;

export const unitOf = ({ unit }, percent) => (unit ? ` [${unit}]` : percent ? " [%]" : "");

/** How a metric is called: its title, and its identity where that says more. */
export function titleOf(metric) {
  const bare = metric.name.split(/[@(]/)[0];
  return metric.name === bare ? metric.title : `${metric.title} ${metric.name.slice(bare.length)}`;
}

/** The name of a system or a track as there is room for it: without what all begin with, cut in the middle. */
export const shortName = (now, kind, place) => now.short[kind]?.[place] ?? now[kind][place];

export const count = (number, word) => `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;

export function clock(seconds, decimals = 0) {
  const sign = seconds < 0 ? "−" : "";
  const size = Math.abs(seconds);
  const minutes = Math.floor(size / 60 + 1e-9);
  const rest = (size - minutes * 60).toFixed(decimals);
  return `${sign}${minutes}:${rest.padStart(decimals ? decimals + 3 : 2, "0")}`;
}

/** Names that have numbers in them, in the order of the numbers. */
export const byName = new Intl.Collator("en", { numeric: true }).compare;

/** Numbers in order, what is none last; `sign` -1 turns it round. */
export function byNumber(a, b, sign = 1) {
  const known = (one) => typeof one === "number" && !Number.isNaN(one);
  if (!known(a) || !known(b)) return Number(known(b)) - Number(known(a));
  return a === b ? 0 : sign * (a < b ? -1 : 1);
}

/** What a byte of an evaluation's flags says. */
export const MISSING = 1;
/** Place of the bits that say under which of its policies a score counts. */
export const POLICIES = 1;

/** Which scores count under a policy, and as what: one that is missing and counts is 0. */
export function include({ score, flags }, policy) {
  const value = score.slice();
  const [counts, missing] = [0, 1].map(() => new Uint8Array(flags.length));
  for (let cell = 0; cell < flags.length; cell++) {
    counts[cell] = (flags[cell] >> (POLICIES + policy)) & 1;
    missing[cell] = flags[cell] & MISSING;
    if (counts[cell] && missing[cell]) value[cell] = 0;
  }
  return { value, counts, missing };
}

/** Weight of a numerator over 0, as in aggregates.py. */
const NEGLIGIBLE = 2 ** -900;

/** What a track's score is multiplied by above, or what is added up below, the fraction line. */
const FACTORS = { one: () => 1, weight: (weight) => weight, duration: (_weight, duration) => duration };

/** One aggregate that is a ratio of sums, of one system over some tracks; NaN where nothing counts or nothing weighs. */
export function reduce(aggregate, included, numbers, system, members, tracks) {
  const [over, under] = [FACTORS[aggregate.above], FACTORS[aggregate.below]];
  let [above, below] = [0, 0];
  for (const track of members) {
    const cell = system * tracks + track;
    if (!included.counts[cell]) continue;
    const [weight, duration] = [numbers.weight[cell], numbers.duration[track]];
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

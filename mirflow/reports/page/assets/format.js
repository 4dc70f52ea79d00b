/** Numbers and names as people read them. */

/** How a metric's numbers are written: ratios with three decimals, or as percentages with one. */
export function formatter(metric, percent) {
  const ratio = metric.unit === "";
  return (value) => {
    if (value === null || value === undefined || Number.isNaN(value)) return "–";
    if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
    if (ratio && percent) return unsigned((value * 100).toFixed(1));
    if (ratio) return unsigned(value.toFixed(3));
    return Math.abs(value) >= 1000 ? value.toFixed(0) : value.toPrecision(4);
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

/** The unit that stands behind a metric's title. */
export function unitOf(metric, percent) {
  if (metric.unit) return ` [${metric.unit}]`;
  return percent ? " [%]" : "";
}

/** How a metric is called: its title, and its identity where that says more. */
export function titleOf(metric) {
  const bare = metric.name.split(/[@(]/)[0];
  return metric.name === bare ? metric.title : `${metric.title} ${metric.name.slice(bare.length)}`;
}

/** The name of a system or a track as there is room for it: without what all begin with, cut in the middle. */
export const shortName = (now, kind, place) => now.short[kind]?.[place] ?? now[kind][place];

/** A number and a word, in the plural where it is not one. */
export function count(number, word) {
  return `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;
}

/** Seconds as minutes and seconds. */
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

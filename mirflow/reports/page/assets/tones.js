/** Which colour a score has: by its value, or by its rank among all scores. */

import { el } from "./dom.js";
import { shade } from "./colours.js";
import { endsOf, quantile } from "./reduce.js";

/** Scores from which on a few far ones do not take most of the colours. */
const MANY = 200;
/** Share of the scores at either end that have the first or the last colour. */
const CAP = 0.05;

/**
 * @param {Float64Array} scores NaN where there is none
 * @param {boolean} ranked
 * @returns {{shareOf: (score: number) => number, low: number, high: number, capped: boolean[]}} a share from 0 to 1 of the
 *   colours; the ends of the scale, and whether there are scores beyond them
 */
export function scaleOf(scores, ranked) {
  const known = scores.filter(Number.isFinite).sort();
  const [least, most] = endsOf(known);
  if (least > most || least === most) {
    const [low, high] = least > most || (least >= 0 && least <= 1) ? [0, 1] : [least - 1, least + 1];
    return { low, high, capped: [false, false], shareOf: (score) => (score - low) / (high - low) };
  }
  if (ranked) return { low: least, high: most, capped: [false, false], shareOf: (score) => rankOf(known, score) };
  let [low, high] = known.length >= MANY ? [quantile(known, CAP), quantile(known, 1 - CAP)] : [least, most];
  if (low === high) [low, high] = [least, most];
  return { low, high, capped: [low > least, high < most], shareOf: (score) => (score - low) / (high - low) };
}

/** The share of sorted numbers below one, those equal to it counted half. */
function rankOf(sorted, one) {
  const before = (isBefore) => {
    let [from, to] = [0, sorted.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (isBefore(sorted[middle])) from = middle + 1;
      else to = middle;
    }
    return from;
  };
  return (before((own) => own < one) + before((own) => own <= one)) / (2 * sorted.length);
}

/** The colours with the ends of their scale. */
export function legendOf({ low, high, capped }, write, ranked) {
  const canvas = el("canvas", { "aria-hidden": "true", width: 120, height: 10 });
  const context = canvas.getContext("2d");
  for (let x = 0; x < 120; x++) {
    context.fillStyle = shade(x / 119);
    context.fillRect(x, 0, 1, 10);
  }
  return [`${capped[0] ? "≤ " : ""}${write(low)}`, canvas, `${capped[1] ? "≥ " : ""}${write(high)}`,
    ranked ? el("span", {}, "(as many scores in each colour)") : "", el("span", { class: "none" }), "no score"];
}

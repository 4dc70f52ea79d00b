/** Annotations and evidence as the page draws them: seconds and MIDI numbers, from steps of small integers. */

import { CONTENTS } from "./data.js";

/** Sums of steps, null where there is none. */
function sums(steps) {
  let sum = 0;
  return steps.map((step) => (step === null ? null : (sum += step)));
}

const running = (steps) => Float64Array.from(sums(steps), (time) => time / 1000);

const ends = (starts, lengths) => starts.map((start, at) => start + lengths[at] / 1000);

const pitches = (cents) => Float64Array.from(cents, (one) => (one === 0 ? NaN : Math.abs(one) / 100));

/** One annotation as lists that lie beside each other. */
export function unpackAnnotation({ k: form, l, s, n, t, p, v, w, o, r, y, c = [] }, vocabulary) {
  const times = s || t ? running(t ?? s) : null;
  // The number of the holder of each item.
  const holders = c.map((counts) => counts.flatMap((many, holder) => Array(many).fill(holder)));
  const framed = form === "frames" || form === "curve";
  const steps = framed ? Array.from(times.subarray(1, 400), (time, at) => time - times[at]).filter((step) => step > 0).sort((a, b) => a - b) : [];
  return { form, labels: l?.map((code) => vocabulary[code]) ?? null, values: v, shares: w, more: o,
    start: form === "frames" ? Float64Array.from(holders[0], (frame) => times[frame]) : times,
    end: form === "patterns" ? times.map((start) => start + 0.25) : s ? ends(times, n) : null,
    pitch: p ? pitches(p) : null, voiced: p?.map((one) => one > 0) ?? null,
    row: r ?? { levels: holders[0], patterns: holders[1]?.map((occurrence) => holders[0][occurrence]) }[form] ?? null,
    rows: r && y, levels: form === "levels" ? y : undefined, hop: framed ? steps[steps.length >> 1] ?? 0.01 : 0 };
}

/** Evidence: stretches of time, marks, or rows of text. */
export function unpackEvidence(packed, verdicts) {
  if (!packed) return null;
  const words = (packed.v || []).map((code) => verdicts[code]);
  if (packed.x) return { rows: packed.x };
  if (packed.a) return { matches: packed.a, verdict: words };
  if (packed.m || packed.s) {
    const start = running(packed.m ?? packed.s);
    const made = { start, end: ends(start, packed.n), verdict: words };
    return packed.m ? { points: { form: "notes", pitch: pitches(packed.q), ...made }, verdict: words } : made;
  }
  if (!packed.r) return null;
  const seconds = (list) => list.map((time) => (time === null ? NaN : time / 1000));
  const [reference, estimate] = [sums(packed.r), sums(packed.e)];
  // Verdicts of the estimated notes, by onset and pitch.
  const notes = packed.q ? new Map(estimate.map((time, at) => [noteKey(time, packed.q[at]), words[at]])) : null;
  return { reference: seconds(reference), estimate: seconds(estimate), verdict: words, row: packed.y, notes };
}

/** A note by its onset in milliseconds and its pitch in hundredths. */
export const noteKey = (time, cents) => `${time} ${cents}`;

const SIGNS = new Map(Object.entries(CONTENTS.signs).flatMap(([sign, words]) => words.map((word) => [word, sign])));

/** Whether a verdict is good, bad, or none: an unknown word is no error. */
export const signOf = (verdict) => SIGNS.get(verdict) || "none";

/** The last item that starts by a time, or -1; starts are in order. */
export function lastBy(start, time) {
  let [low, high] = [0, start.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (start[middle] <= time) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Whether an annotation is moments, which nothing lies between. */
export const isMoments = (form) => form === "ticks" || form === "drums" || form === "steps";

export const endOf = ({ start, end }) => (end || start || []).reduce((last, time) => (time > last ? time : last), 0);

const NAMES = ["C", "C♯", "D", "E♭", "E", "F", "F♯", "G", "A♭", "A", "B♭", "B"];

/** The name of a pitch and how far it is off. */
export function pitchName(midi) {
  const near = Math.round(midi);
  const cents = Math.round((midi - near) * 100);
  return `${NAMES[((near % 12) + 12) % 12]}${Math.floor(near / 12) - 1}${cents ? ` ${cents > 0 ? "+" : "−"}${Math.abs(cents)} ct` : ""}`;
}

export function valueAt(annotation, time, nearness) {
  const { form, start, end, labels, pitch } = annotation;
  if (!start) return "";
  if (isMoments(form)) {
    let at = lastBy(start, time);
    if (at < 0 || start[at + 1] - time < time - start[at]) at += 1;
    if (at >= start.length || Math.abs(start[at] - time) > nearness) return "";
    // Drums may be hit together.
    while (start[at - 1] === start[at]) at -= 1;
    const together = labels ? labels.slice(at, at + 6).filter((_, next) => start[at + next] === start[at]) : [];
    return [`${start[at].toFixed(3)} s`, ...together.map(({ text }) => text)].join(" ");
  }
  if (form === "curve") {
    const at = lastBy(start, time);
    if (at < 0 || time - start[at] > annotation.hop * 2 || Number.isNaN(pitch[at])) return "unvoiced";
    return `${pitchName(pitch[at])}${annotation.voiced[at] ? "" : " (unvoiced)"}`;
  }
  const found = [];
  const levels = form === "levels" && !annotation.rows;
  for (let at = 0; at < start.length && found.length < 8; at++) {
    const until = end ? end[at] : start[at] + annotation.hop;
    if (start[at] <= time && time < until) found.push(`${levels ? `${annotation.row[at] + 1} ` : ""}${labels ? labels[at].text : pitchName(pitch[at])}`);
  }
  return found.join(levels ? " › " : " ");
}

export function verdictAt(evidence, time, nearness) {
  if (!evidence || evidence.rows || evidence.points || evidence.matches) return "";
  if (evidence.start) {
    const at = lastBy(evidence.start, time);
    return at >= 0 && time < evidence.end[at] ? evidence.verdict[at] : "";
  }
  let [best, word] = [nearness, ""];
  evidence.verdict.forEach((verdict, at) => {
    for (const side of [evidence.reference[at], evidence.estimate[at]]) {
      if (Math.abs(side - time) <= best) [best, word] = [Math.abs(side - time), verdict];
    }
  });
  return word;
}

/** A number with some digits; what is none is a question mark. */
const plain = (value, digits) => (value === null ? "?" : String(Number(value.toPrecision(digits))));

/** What an annotation without a time axis says: labels with their values, or values with their shares. */
export function textOf(annotation) {
  if (typeof annotation === "string") return annotation;
  const { labels, values, shares, more } = annotation;
  const number = (at) => `${plain(values[at], 5)}${shares ? ` (${plain(shares[at], 3)})` : ""}`;
  const items = labels ? labels.map(({ text }, at) => (values && values[at] !== null ? `${text} (${number(at)})` : text)) :
    (values || []).map((_, at) => number(at));
  return `${items.join(", ") || "nothing"}${more ? `, and ${more} more` : ""}`;
}

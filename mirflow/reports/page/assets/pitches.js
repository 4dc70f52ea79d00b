/** Pitches over time in a lane: octaves, curves, notes, and which note lies at a height. */

import { lastBy, noteKey, pitchName, signOf } from "./annotations.js";
import { dotColour } from "./colours.js";
import { endsOf } from "./reduce.js";

/** Height of the band of verdicts below. */
export const BAND = 8;

/** The pitches that all lanes share as their upright axis. */
export function pitchRange(annotations) {
  const ends = annotations.flatMap((one) => (one && one.pitch ? endsOf(one.pitch) : []));
  const [low, high] = endsOf(ends);
  return low > high ? [48, 72] : [low - 1, high + 1];
}

/** Pixels from the top of a lane to its highest pitch, and from there to the lowest. */
const pitchRoom = (height) => [3, height - BAND - 8];

/** Pixels from the top of a lane to each of the notes C. */
const octavesOf = (height, [low, high]) => {
  const [above, room] = pitchRoom(height);
  const octaves = Array.from({ length: Math.max(0, Math.floor(high / 12) - Math.ceil(low / 12) + 1) }, (_, at) => Math.ceil(low / 12) + at);
  return octaves.map((octave) => [octave, above + room * (1 - (octave * 12 - low) / (high - low))]);
};

/** Lines at the notes C. */
export function drawOctaves(context, { top, height }, view) {
  context.fillStyle = view.ink.get("line");
  for (const [, y] of octavesOf(height, view.range)) context.fillRect(0, top + y, view.width, 1);
}

/** Names of what lies at heights of a lane, as [text, pixels from its top]: levels, drums, and notes C that are far enough from each other. */
export function rowNames(annotation, height, range) {
  const { form, row, rows } = annotation;
  if (form === "drums" || form === "levels") {
    const names = rows ?? Array.from({ length: row.reduce((most, level) => Math.max(most, level), 0) + 1 }, (_, level) => String(level + 1));
    const room = (height - (form === "levels" ? 6 + BAND : 6)) / names.length;
    return names.map((name, at) => [name, 3 + room * ((form === "drums" ? names.length - 1 - at : at) + 0.5)]);
  }
  const octaves = annotation.pitch ? octavesOf(height, range) : [];
  const step = octaves.length > 1 ? Math.ceil(13 / (octaves[0][1] - octaves[1][1])) : 1;
  return octaves.filter(([octave]) => octave % step === 0).map(([octave, y]) => [pitchName(octave * 12), y]);
}

/** The note at a height in a lane. */
export function noteAt(y, height, [low, high]) {
  const [above, room] = pitchRoom(height);
  return pitchName(Math.round(high - ((y - above) / room) * (high - low)));
}

/** The numbers of the colours of patterns: matched ones have that of the reference's pattern, unmatched ones none. */
export function coloursOf({ annotation, evidence, judge }) {
  if (annotation.form !== "patterns") return null;
  if (evidence && evidence.matches) return (pattern) => evidence.matches[pattern];
  return !judge || judge === annotation ? (pattern) => pattern : () => -1;
}

export function drawPitches(context, annotation, { top, height }, view, faint, notes = null, colours = null) {
  const { start, end, pitch, voiced, form, row } = annotation;
  const [low, high] = view.range;
  const [above, room] = pitchRoom(height);
  const y = (midi) => top + above + room * (1 - (midi - low) / (high - low));
  const thick = Math.max(2, Math.min(7, room / (high - low)));
  context.fillStyle = view.ink.get(faint ? "faint" : "curve");
  if (form === "curve" && view.x(annotation.hop) - view.x(0) < 0.75) {
    drawDense(context, annotation, view, y, faint ? thick + 2 : thick, faint);
    return;
  }
  // Matched patterns lie over unmatched ones.
  const matched = (at) => Number(colours(row[at]) >= 0);
  for (const at of colours ? [...start.keys()].sort((a, b) => matched(a) - matched(b)) : start.keys()) {
    const until = end ? end[at] : start[at] + annotation.hop;
    if (until < view.from || start[at] > view.to || Number.isNaN(pitch[at])) continue;
    if (form === "curve" && !voiced[at] && faint) continue;
    if (colours) context.fillStyle = colours(row[at]) >= 0 ? dotColour(colours(row[at])) : view.ink.get("none");
    // A guess at the pitch of what is called unvoiced is a hairline.
    const guess = form === "curve" && !voiced[at];
    let noted = "";
    if (annotation.verdict) context.fillStyle = view.ink.get(signOf(annotation.verdict[at]));
    if (notes) {
      const verdict = notes.get(noteKey(Math.round(start[at] * 1000), Math.round(pitch[at] * 100)));
      noted = verdict === undefined ? "curve" : signOf(verdict);
      context.fillStyle = view.ink.get(noted);
    }
    const left = view.x(start[at]);
    const wide = Math.max(form === "curve" ? 1 : 2, view.x(until) - left - (end ? 1 : 0));
    // An extra is thinner than a hit: shapes repeat what colours show.
    const judged = faint ? "" : annotation.verdict ? signOf(annotation.verdict[at]) : noted;
    const size = faint ? thick + 2 : guess ? 1 : judged === "bad" ? Math.max(1, thick * 0.4) : judged === "good" ? Math.max(3.5, thick) : thick;
    context.fillRect(left, y(pitch[at]) - size / 2, wide, size);
  }
}

/** Frames that are closer than pixels: for each column of pixels all that lies in it, as one stroke. */
function drawDense(context, { start, pitch, voiced, hop }, view, y, thick, faint) {
  let [column, low, high, guess] = [NaN, 0, 0, false];
  // Leaps stay leaps, unless there are so many frames in a column that no one could see it.
  const leap = view.x(hop) - view.x(0) > 0.02 ? thick + 4 : Infinity;
  const flush = () => {
    const size = guess ? 1 : thick;
    if (!Number.isNaN(column)) context.fillRect(column, low - size / 2, 1, high - low + size);
  };
  for (let at = Math.max(0, lastBy(start, view.from)); at < start.length && start[at] <= view.to; at++) {
    if (Number.isNaN(pitch[at]) || (faint && !voiced[at])) continue;
    const [x, place] = [Math.floor(view.x(start[at])), y(pitch[at])];
    if (x === column && guess === !voiced[at] && place > low - leap && place < high + leap) {
      low = Math.min(low, place);
      high = Math.max(high, place);
      continue;
    }
    flush();
    [column, low, high, guess] = [x, place, place, !voiced[at]];
  }
  flush();
}

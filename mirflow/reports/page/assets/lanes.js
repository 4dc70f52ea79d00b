/** One annotation as a lane of the timeline, drawn by its form. */

import { isMoments, lastBy, noteKey, pitchName, signOf } from "./annotations.js";
import { chordColour, dotColour, labelColour } from "./colours.js";
import { fitText, stroke } from "./dom.js";
import { endsOf } from "./numbers.js";

export function laneHeight(annotations) {
  const [{ form } = {}] = annotations;
  if (form !== "levels") return ["notes", "sheet", "drums", "curve", "frames", "patterns"].includes(form) ? 92 : 40;
  return Math.max(40, 20 * Math.max(1, ...annotations.map(levelsOf)) + 6);
}

const levelsOf = ({ row }) => row.reduce((most, level) => Math.max(most, level), 0) + 1;

export function drawLane(context, lane, view) {
  const { annotation, evidence, behind, judge } = lane;
  context.save();
  context.beginPath();
  context.rect(0, lane.top, view.width, lane.height);
  context.clip();
  if (annotation.form === "segments") drawIntervals(context, annotation, lane.top + 2, lane.height - BAND - 6, view, 0);
  else if (annotation.form === "levels") {
    const high = (lane.height - 6 - (evidence ? BAND : 0)) / levelsOf(annotation);
    for (let level = 0; level < levelsOf(annotation); level++) drawIntervals(context, annotation, lane.top + 2 + level * high, high - 2, view, level);
  } else if (isMoments(annotation.form)) drawMoments(context, lane, view);
  else {
    context.fillStyle = view.ink.get("line");
    for (const [, y] of octavesOf(lane.height, view.range)) context.fillRect(0, lane.top + y, view.width, 1);
    if (behind) drawPitches(context, behind, lane, view, true);
    // Numbers of the colours of patterns: matched ones have that of the reference's pattern, unmatched ones none.
    const numberOf = (pattern) => (evidence?.matches ? evidence.matches[pattern] : !judge || judge === annotation ? pattern : -1);
    drawPitches(context, evidence?.points ?? annotation, lane, view, false, evidence?.notes, annotation.form === "patterns" ? numberOf : null);
  }
  for (const [at, start] of (evidence?.start ?? []).entries()) {
    if (evidence.end[at] < view.from || start > view.to) continue;
    const [left, right] = [start, evidence.end[at]].map(view.x);
    const sign = signOf(evidence.verdict[at]);
    context.fillStyle = view.ink.get(sign);
    // Right fills the band, wrong its lower half, neither is a line.
    const high = { good: BAND, bad: BAND / 2, none: 1.5 }[sign];
    context.fillRect(left, lane.top + lane.height - 1 - high, Math.max(0.5, right - left), high);
  }
  if (evidence?.reference && !isMoments(annotation.form) && !evidence.notes) {
    drawVerdicts(context, evidence, view, () => lane.top + lane.height - 6, (x, y, sign) => { if (sign !== "bad") context.fillRect(x - 1.5, y - 5, 3, 10); });
  }
  if (!annotation.start.length) {
    context.fillStyle = view.ink.get("quiet");
    context.textBaseline = "middle";
    context.fillText("empty: it holds nothing", 8, lane.top + lane.height / 2);
  }
  context.restore();
}

const NAMELESS = { text: "", tonal: false };

function drawIntervals(context, { start, end, labels, row }, top, height, view, level) {
  context.textBaseline = "middle";
  for (let at = 0; at < start.length; at++) {
    if (end[at] < view.from || start[at] > view.to || (row && row[at] !== level)) continue;
    const left = view.x(start[at]);
    const wide = view.x(end[at]) - left;
    const label = labels ? labels[at] : NAMELESS;
    // Labels have colours in the order in which they first occur.
    if (!label.tonal && !view.numbers.has(label.text)) view.numbers.set(label.text, view.numbers.size);
    const { fill, ink } = label.tonal ? chordColour(label.root, label.pitches) : labelColour(view.numbers.get(label.text));
    context.fillStyle = fill;
    context.fillRect(left, top, Math.max(wide - (wide > 3 ? 1 : 0), 0.5), height);
    if (wide < 12) continue;
    context.fillStyle = ink;
    const from = Math.max(left, 0) + 4;
    const room = left + wide - from - 3;
    if (room > 26 || context.measureText(label.text).width <= room) context.fillText(fitText(context, label.text, room), from, top + height / 2 + 1);
  }
}

/** Items by their verdicts, each at the height of its row: a miss is a circle, an extra has a cross; `hit` draws what an estimate has. */
function drawVerdicts(context, { reference, estimate, row, verdict }, view, heightOf, hit) {
  verdict.forEach((word, at) => {
    const missed = Number.isNaN(estimate[at]);
    const place = missed ? reference[at] : estimate[at];
    if (place < view.from || place > view.to) return;
    const [x, y, sign] = [view.x(place), heightOf(row?.[at]), signOf(word)];
    context.strokeStyle = context.fillStyle = view.ink.get(sign);
    if (!missed) hit(x, y, sign, reference[at]);
    context.lineWidth = 1.75;
    if (missed) {
      context.beginPath();
      context.arc(x, y, 3.5, 0, 7);
      context.stroke();
    } else if (sign === "bad") stroke(context, [x - 3, y - 3, x + 3, y + 3], [x + 3, y - 3, x - 3, y + 3]);
    context.lineWidth = 1.5;
  });
}

/** Moments as ticks: drums on a staff, a row for each class, the others with their verdicts above them. */
function drawMoments(context, { annotation, evidence, top, height }, view) {
  const { start, row, rows } = annotation;
  const room = rows && (height - 6) / rows.length;
  const middle = (at) => (rows ? top + 3 + room * (rows.length - at - 0.5) : top + 8);
  const judged = rows ? evidence?.row : evidence?.reference;
  const [above, below] = rows ? [-room * 0.4, room * 0.4] : [judged ? 4 : -3, height - 13];
  const tick = (x, y) => stroke(context, [x, y + above, x, y + below]);
  context.fillStyle = view.ink.get("line");
  rows?.forEach((_, at) => { if (at) context.fillRect(0, middle(at) + room / 2, view.width, 0.5); });
  context.lineWidth = 1.5;
  // Times that the measure does not look at, such as those before a trim, stay grey.
  context.strokeStyle = view.ink.get(judged ? "faint" : "ink");
  start.forEach((time, at) => { if (time >= view.from && time <= view.to) tick(view.x(time), middle(row?.[at])); });
  if (!judged) return;
  drawVerdicts(context, evidence, view, middle, (x, y, sign, other) => {
    if (!rows || sign !== "bad") tick(x, y);
    if (!rows && sign !== "bad" && Math.abs(view.x(other) - x) > 2) stroke(context, [view.x(other), top + 5, x, top + 12]);
  });
}

const BAND = 8;

/** The pitches that all lanes share as their upright axis. */
export function pitchRange(annotations) {
  const [low, high] = endsOf(annotations.flatMap(({ pitch }) => (pitch ? endsOf(pitch) : [])));
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

/** Names of what lies at heights of a lane, as [text, pixels from its top]: levels, drums, and notes C that are far enough from each other. */
export function rowNames(annotation, height, range) {
  const { form, rows, levels } = annotation;
  if (form === "drums" || form === "levels") {
    const names = rows ?? levels ?? Array.from({ length: levelsOf(annotation) }, (_, level) => String(level + 1));
    const room = (height - (form === "levels" ? 6 + BAND : 6)) / names.length;
    return names.map((name, at) => [name, 3 + room * ((form === "drums" ? names.length - 1 - at : at) + 0.5)]);
  }
  const octaves = annotation.pitch ? octavesOf(height, range) : [];
  const step = octaves.length > 1 ? Math.ceil(13 / (octaves[0][1] - octaves[1][1])) : 1;
  return octaves.filter(([octave]) => octave % step === 0).map(([octave, y]) => [pitchName(octave * 12), y]);
}

export function noteAt(y, height, [low, high]) {
  const [above, room] = pitchRoom(height);
  return pitchName(Math.round(high - ((y - above) / room) * (high - low)));
}

function drawPitches(context, annotation, { top, height }, view, faint, notes = null, colours = null) {
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
    const verdict = annotation.verdict ? annotation.verdict[at] : notes?.get(noteKey(Math.round(start[at] * 1000), Math.round(pitch[at] * 100)));
    const judged = verdict === undefined ? notes && "curve" : signOf(verdict);
    if (judged) context.fillStyle = view.ink.get(judged);
    const left = view.x(start[at]);
    const wide = Math.max(form === "curve" ? 1 : 2, view.x(until) - left - (end ? 1 : 0));
    // An extra is thinner than a hit: shapes repeat what colours show.
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

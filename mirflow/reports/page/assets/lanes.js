/** One annotation as a lane of the timeline, drawn by its form. */

import { isMoments, signOf } from "./annotations.js";
import { chordColour, labelColour } from "./colours.js";
import { BAND, coloursOf, drawOctaves, drawPitches } from "./pitches.js";

const HEIGHTS = new Map([["segments", 40], ["ticks", 40], ["notes", 92], ["sheet", 92], ["drums", 92], ["curve", 92], ["frames", 92], ["patterns", 92]]);

/** How high the lanes of some annotations are. */
export function laneHeight(annotations) {
  const first = annotations.find((one) => one);
  if (!first) return 40;
  if (first.form !== "levels") return HEIGHTS.get(first.form) || 40;
  return Math.max(40, 20 * Math.max(1, ...annotations.filter((one) => one).map((one) => levelsOf(one))) + 6);
}

function levelsOf({ row }) {
  return row.reduce((most, level) => Math.max(most, level), 0) + 1;
}

/**
 * @typedef {object} Lane
 * @property {any} annotation
 * @property {any} evidence
 * @property {any} behind the reference, drawn faintly behind curves and notes
 * @property {any} judge the reference by which estimates are judged
 * @property {number} top
 * @property {number} height
 */

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Lane} lane
 * @param {{x: (time: number) => number, from: number, to: number, width: number, range: number[], ink: Map<string, string>,
 *   numbers: Map<string, number>}} view
 */
export function drawLane(context, lane, view) {
  const { annotation, evidence, behind } = lane;
  context.save();
  context.beginPath();
  context.rect(0, lane.top, view.width, lane.height);
  context.clip();
  if (annotation.form === "segments") drawIntervals(context, annotation, lane.top + 2, lane.height - BAND - 6, view, 0);
  else if (annotation.form === "levels") drawLevels(context, lane, view);
  else if (annotation.form === "drums") drawHits(context, lane, view);
  else if (isMoments(annotation.form)) drawEvents(context, lane, view);
  else {
    drawOctaves(context, lane, view);
    if (behind) drawPitches(context, behind, lane, view, true);
    drawPitches(context, (evidence && evidence.points) || annotation, lane, view, false, evidence && evidence.notes, coloursOf(lane));
  }
  if (evidence && evidence.start) drawBand(context, evidence, lane, view);
  else if (evidence && evidence.reference && !isMoments(annotation.form) && !evidence.notes) drawMarks(context, evidence, lane, view);
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
    const { fill, ink } = label.tonal ? chordColour(label.root, label.pitches) : labelColour(numberOf(view, label.text));
    context.fillStyle = fill;
    context.fillRect(left, top, Math.max(wide - (wide > 3 ? 1 : 0), 0.5), height);
    if (wide < 12) continue;
    context.fillStyle = ink;
    const from = Math.max(left, 0) + 4;
    const room = left + wide - from - 3;
    if (context.measureText(label.text).width <= room) context.fillText(label.text, from, top + height / 2 + 1);
    else if (room > 26) context.fillText(shorten(context, label.text, room), from, top + height / 2 + 1);
  }
}

function shorten(context, text, room) {
  let size = Math.min(text.length, 80);
  while (size > 1 && context.measureText(`${text.slice(0, size)}…`).width > room) size -= 1;
  return size > 1 ? `${text.slice(0, size)}…` : "";
}

/** Labels of segments have colours in the order in which they first occur. */
function numberOf(view, text) {
  if (!view.numbers.has(text)) view.numbers.set(text, view.numbers.size);
  return view.numbers.get(text);
}

function drawLevels(context, { annotation, evidence, top, height }, view) {
  const levels = levelsOf(annotation);
  const high = (height - 6 - (evidence ? BAND : 0)) / levels;
  for (let level = 0; level < levels; level++) {
    drawIntervals(context, annotation, top + 2 + level * high, high - 2, view, level);
  }
}

/** Lines from a place to another, each as `[x, y, x, y]`. */
function stroke(context, ...lines) {
  context.beginPath();
  for (const [left, top, right, bottom] of lines) {
    context.moveTo(left, top);
    context.lineTo(right, bottom);
  }
  context.stroke();
}

const tick = (context, x, top, bottom) => stroke(context, [x, top, x, bottom]);

function drawEvents(context, { annotation, evidence, top, height }, view) {
  const bottom = top + height - 5;
  context.lineWidth = 1.5;
  if (!evidence || !evidence.reference) {
    context.strokeStyle = view.ink.get("ink");
    for (const time of annotation.start) if (time >= view.from && time <= view.to) tick(context, view.x(time), top + 5, bottom);
    return;
  }
  // Times that the measure does not look at, such as those before a trim, stay grey.
  context.strokeStyle = view.ink.get("faint");
  for (const time of annotation.start) if (time >= view.from && time <= view.to) tick(context, view.x(time), top + 12, bottom);
  evidence.verdict.forEach((verdict, at) => {
    const [own, other] = [evidence.estimate[at], evidence.reference[at]];
    const place = Number.isNaN(own) ? other : own;
    if (place < view.from || place > view.to) return;
    const x = view.x(place);
    const good = signOf(verdict);
    context.strokeStyle = view.ink.get(good);
    if (Number.isNaN(own)) return void circle(context, x, top + 9);
    tick(context, x, top + 12, bottom);
    if (good === "bad") cross(context, x, top + 8);
    else if (!Number.isNaN(other) && Math.abs(view.x(other) - x) > 2) stroke(context, [view.x(other), top + 5, x, top + 12]);
  });
}

/** Hits on a staff of drums: a row for each class, with its name. */
function drawHits(context, { annotation, evidence, top, height }, view) {
  const { rows } = annotation;
  const room = (height - 6) / rows.length;
  const middle = (row) => top + 3 + room * (rows.length - row - 0.5);
  context.fillStyle = view.ink.get("line");
  rows.forEach((_, row) => { if (row) context.fillRect(0, middle(row) + room / 2, view.width, 0.5); });
  const hit = (time, row) => tick(context, view.x(time), middle(row) - room * 0.4, middle(row) + room * 0.4);
  const seen = (time) => time >= view.from && time <= view.to;
  const judged = evidence && evidence.row;
  context.lineWidth = 1.5;
  context.strokeStyle = view.ink.get(judged ? "faint" : "ink");
  annotation.start.forEach((time, at) => { if (seen(time)) hit(time, annotation.row[at]); });
  if (judged) {
    evidence.verdict.forEach((verdict, at) => {
      const [own, row] = [evidence.estimate[at], evidence.row[at]];
      const place = Number.isNaN(own) ? evidence.reference[at] : own;
      if (!seen(place)) return;
      const good = signOf(verdict);
      context.strokeStyle = view.ink.get(good);
      if (Number.isNaN(own)) circle(context, view.x(place), middle(row));
      else if (good === "bad") cross(context, view.x(place), middle(row));
      else hit(place, row);
    });
  }
}

/** A miss is a circle, an extra a cross: shapes repeat what colours show. */
function circle(context, x, y) {
  context.lineWidth = 1.75;
  context.beginPath();
  context.arc(x, y, 3.5, 0, 7);
  context.stroke();
}

function cross(context, x, y) {
  context.lineWidth = 1.75;
  stroke(context, [x - 3, y - 3, x + 3, y + 3], [x + 3, y - 3, x - 3, y + 3]);
}

function drawBand(context, { start, end, verdict }, { top, height }, view) {
  const low = top + height - BAND - 1;
  for (let at = 0; at < start.length; at++) {
    if (end[at] < view.from || start[at] > view.to) continue;
    const left = view.x(start[at]);
    const wide = Math.max(0.5, view.x(end[at]) - left);
    const good = signOf(verdict[at]);
    context.fillStyle = view.ink.get(good);
    // Right fills the band, wrong its lower half, neither is a line.
    const high = { good: BAND, bad: BAND / 2, none: 1.5 }[good];
    context.fillRect(left, low + BAND - high, wide, high);
  }
}

function drawMarks(context, evidence, { top, height }, view) {
  const y = top + height - 6;
  evidence.verdict.forEach((verdict, at) => {
    const own = evidence.estimate[at];
    const place = Number.isNaN(own) ? evidence.reference[at] : own;
    if (place < view.from || place > view.to) return;
    const x = view.x(place);
    const good = signOf(verdict);
    context.strokeStyle = context.fillStyle = view.ink.get(good);
    if (Number.isNaN(own)) circle(context, x, y);
    else if (good === "bad") cross(context, x, y);
    else context.fillRect(x - 1.5, y - 5, 3, 10);
  });
}

/** The span of time that is seen: zoom, pan, its axis, and what marks times. */

import { clock } from "./format.js";
import { EDGE } from "./gestures.js";

const STEPS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600];

/** Whoever extends it has `request`, which draws again, and `moved`, which remembers what is seen. */
export class TimeSpan {
  /**
   * @param {number} whole length of the longest lane
   * @param {string} unit of time; empty for seconds
   */
  constructor(whole, unit) {
    Object.assign(this, { whole, unit, from: 0, to: whole, width: 600 });
  }

  /** Pixels between the edges. */
  get inner() {
    return Math.max(1, this.width - 2 * EDGE);
  }

  x(time) {
    return EDGE + ((time - this.from) / (this.to - this.from)) * this.inner;
  }

  timeAt(x) {
    return this.from + ((x - EDGE) / this.inner) * (this.to - this.from);
  }

  look([from, to]) {
    const length = Math.min(this.whole * 1.02, Math.max(0.05, to - from));
    const start = Math.max(0, Math.min(from, this.whole * 1.02 - length));
    this.from = start;
    this.to = start + length;
    this.request();
  }

  /** As `look`, and remembered. */
  show(from, to) {
    this.look([from, to]);
    this.moved();
  }

  fit() {
    this.show(0, this.whole);
  }

  zoom(by, around) {
    const centre = around >= this.from && around <= this.to ? around : (this.from + this.to) / 2;
    const share = (centre - this.from) / (this.to - this.from);
    const length = (this.to - this.from) / by;
    this.show(centre - share * length, centre + (1 - share) * length);
  }

  pan(by) {
    this.show(this.from + by, this.to + by);
  }

  /** Upright lines at round times, and where there is an axis the times. */
  drawTicks(context, axis, height) {
    const length = this.to - this.from;
    const step = STEPS.find((one) => (one / length) * this.width > 64) || length;
    const decimals = step < 0.1 ? 2 : step < 1 ? 1 : 0;
    context.textBaseline = "alphabetic";
    for (let tick = Math.ceil(this.from / step); tick * step <= this.to; tick++) {
      const x = this.x(tick * step);
      context.fillStyle = this.ink.get("line");
      context.fillRect(x, Math.max(0, axis - 6), 1, height);
      if (!axis) continue;
      context.fillStyle = this.ink.get("quiet");
      const text = this.unit ? String(Number((tick * step).toFixed(3))) : clock(tick * step, decimals);
      const wide = context.measureText(text).width;
      // Above its line, unless that would be outside.
      if (x + wide / 2 < this.width) context.fillText(text, Math.max(0, x - wide / 2), axis - 9);
    }
  }

  /** Which part of the whole is seen. */
  drawOverview(context) {
    context.fillStyle = this.ink.get("line");
    context.fillRect(0, 0, this.width, 3);
    context.fillStyle = this.ink.get("curve");
    const whole = this.whole * 1.02;
    context.fillRect((this.from / whole) * this.width, 0, ((this.to - this.from) / whole) * this.width, 3);
  }

  /** What is repeated lies between two lines, and the rest is paler. */
  drawLoop(context, loop, top, height) {
    const [left, right] = loop.map((time) => Math.max(-2, Math.min(this.width + 2, this.x(time))));
    // Whatever the ground is shines through.
    Object.assign(context, { globalAlpha: 0.4, globalCompositeOperation: "destination-out" });
    context.fillRect(0, top, left, height);
    context.fillRect(right, top, this.width - right, height);
    Object.assign(context, { globalAlpha: 1, globalCompositeOperation: "source-over" });
    context.fillStyle = this.ink.get("accent");
    for (const x of [left, right]) context.fillRect(x - 1, Math.max(0, top - 8), 2, height);
  }

  /** A dashed line, and its time on the axis. */
  drawPointer(context, time, axis, height) {
    const x = this.x(time);
    context.strokeStyle = this.ink.get("ink");
    context.lineWidth = 1;
    context.setLineDash([3, 3]);
    context.beginPath();
    context.moveTo(x, Math.max(0, axis - 8));
    context.lineTo(x, height);
    context.stroke();
    context.setLineDash([]);
    if (!axis) return;
    const text = this.unit ? time.toFixed(2) : clock(time, 2);
    const wide = context.measureText(text).width + 6;
    const left = Math.max(0, Math.min(this.width - wide, x - wide / 2));
    context.fillStyle = this.ink.get("ink");
    context.fillRect(left, 4, wide, axis - 9);
    context.fillStyle = this.ink.get("paper");
    context.textBaseline = "alphabetic";
    context.fillText(text, left + 3, axis - 9);
  }
}

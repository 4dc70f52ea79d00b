/** The span of time that is seen: zoom, pan, its axis, and what fingers, mouse and keys do to it. */

import { stroke } from "./dom.js";
import { clock } from "./numbers.js";

const STEPS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600];

/** Whoever extends it has `request`, which draws again, and `does.moved`, which remembers what is seen. */
export class TimeSpan {
  constructor(whole, unit) {
    Object.assign(this, { whole, unit, from: 0, to: whole, width: 600 });
  }

  /** A time in words. */
  write(time) { return this.unit ? `${time.toFixed(2)} ${this.unit}` : clock(time, 2); }

  get inner() { return Math.max(1, this.width - 2 * EDGE); }

  x(time) { return EDGE + ((time - this.from) / (this.to - this.from)) * this.inner; }

  timeAt(x) { return this.from + ((x - EDGE) / this.inner) * (this.to - this.from); }

  look([from, to]) {
    const length = Math.min(this.whole * 1.02, Math.max(0.05, to - from));
    const start = Math.max(0, Math.min(from, this.whole * 1.02 - length));
    this.from = start;
    this.to = start + length;
    this.request();
  }

  show(from, to) {
    this.look([from, to]);
    this.does.moved();
  }

  zoom(by, around) {
    const centre = around >= this.from && around <= this.to ? around : (this.from + this.to) / 2;
    const share = (centre - this.from) / (this.to - this.from);
    const length = (this.to - this.from) / by;
    this.show(centre - share * length, centre + (1 - share) * length);
  }

  /** Upright lines at round times, and where there is an axis the times and which part of the whole is seen. */
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
    if (!axis) return;
    context.fillStyle = this.ink.get("line");
    context.fillRect(0, 0, this.width, 3);
    context.fillStyle = this.ink.get("curve");
    const whole = this.whole * 1.02;
    context.fillRect((this.from / whole) * this.width, 0, (length / whole) * this.width, 3);
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
    Object.assign(context, { strokeStyle: this.ink.get("ink"), lineWidth: 1 });
    context.setLineDash([3, 3]);
    stroke(context, [x, Math.max(0, axis - 8), x, height]);
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

/** Room beside the first and the last moment, so that marks there are whole; pixels between two fingers below which they are no measure of anything. */
const [EDGE, NEAR] = [5, 12];

export function listen(view, part) {
  const { canvas } = part;
  const placeOf = (event) => event.clientX - canvas.getBoundingClientRect().left;
  const at = (event) => view.timeAt(placeOf(event));
  canvas.addEventListener("wheel", (event) => {
    // Among other parts of a page the wheel scrolls it.
    if (view.does.aside && !event.ctrlKey) return;
    event.preventDefault();
    const sideways = event.shiftKey ? event.deltaY : event.deltaX;
    const by = (sideways / view.inner) * (view.to - view.from);
    if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY)) view.show(view.from + by, view.to + by);
    else view.zoom(Math.exp(-event.deltaY / 400), at(event));
  }, { passive: false });
  const fingers = new Map();
  let held = null;
  let pinch = null;
  const heightOf = (event) => event.clientY - canvas.getBoundingClientRect().top;
  canvas.addEventListener("pointerdown", (event) => {
    view.point(null);
    fingers.set(event.pointerId, placeOf(event));
    canvas.setPointerCapture(event.pointerId);
    if (fingers.size === 2) {
      held = null;
      pinch = Array.from(fingers, ([finger, place]) => ({ finger, time: view.timeAt(place) }));
    } else if (fingers.size === 1) {
      held = { x: event.clientX, y: event.clientY, from: view.from, to: view.to, scroll: view.node.scrollTop, moved: false, marks: event.shiftKey ? at(event) : null };
    }
  });
  canvas.addEventListener("pointermove", (event) => {
    if (fingers.has(event.pointerId)) fingers.set(event.pointerId, placeOf(event));
    if (pinch) {
      // The times that were under two fingers stay under them.
      const [first, second] = pinch.toSorted((a, b) => fingers.get(a.finger) - fingers.get(b.finger));
      const [left, right] = [fingers.get(first.finger), fingers.get(second.finger)];
      if (right - left < NEAR || second.time <= first.time) return;
      const length = ((second.time - first.time) * view.inner) / (right - left);
      const from = first.time - ((left - EDGE) / view.inner) * length;
      view.show(from, from + length);
    } else if (held) drag(view, held, event);
    else if (!fingers.size) view.point(at(event), view.noteAt(part, heightOf(event)));
  });
  const release = (event) => {
    fingers.delete(event.pointerId);
    if (event.type === "pointerup" && held && !held.moved) {
      const { system = -1 } = view.laneAt(part, heightOf(event)) ?? {};
      if (system >= 0 && system !== view.chosen.ear) view.does.choose(system);
      view.moveTo(at(event));
      view.does.sought();
    }
    held = null;
    // The finger that stays is no click and does not pan: it is on its way up.
    if (pinch && !pinch.every(({ finger }) => fingers.has(finger))) pinch = null;
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => view.point(null));
  // One finger up or down scrolls, which the browser does; two are ours.
  for (const kind of ["touchstart", "touchmove"]) {
    canvas.addEventListener(kind, (event) => { if (event.touches.length > 1) event.preventDefault(); }, { passive: false });
  }
}

function drag(view, held, event) {
  const by = event.clientX - held.x;
  held.moved = held.moved || Math.abs(by) > 3 || Math.abs(event.clientY - held.y) > 3;
  if (!held.moved) return;
  if (held.marks !== null) return void view.does.mark([held.marks, view.timeAt(event.clientX - event.target.getBoundingClientRect().left)]);
  const shift = (-by / view.inner) * (held.to - held.from);
  view.show(held.from + shift, held.to + shift);
  if (event.pointerType === "mouse") view.node.scrollTop = held.scroll - (event.clientY - held.y);
}

/** A key: what it does is in the note below the lanes. */
export function press(view, event) {
  // On some keyboards brackets need a modifier.
  if ((event.ctrlKey || event.metaKey || event.altKey) && !event.getModifierState("AltGraph")) return;
  const length = view.to - view.from;
  const go = (time) => {
    view.moveTo(time);
    view.announce();
  };
  const along = (by) => (event.shiftKey ? view.show(view.from + (by * length) / 10, view.to + (by * length) / 10) : go(view.cursor + (by * length) / 100));
  const actions = new Map([["ArrowRight", () => along(1)], ["ArrowLeft", () => along(-1)],
    ["PageDown", () => go(view.cursor + length)], ["PageUp", () => go(view.cursor - length)],
    ["Home", () => go(0)], ["End", () => go(view.whole)],
    ["+", () => view.zoom(1.5, view.cursor)], ["=", () => view.zoom(1.5, view.cursor)], ["-", () => view.zoom(1 / 1.5, view.cursor)],
    ["0", () => view.show(0, view.whole)], [" ", () => view.does.toggle()], ["ArrowDown", () => view.turn(1)], ["ArrowUp", () => view.turn(-1)]]);
  const action = actions.get(event.key) || view.does.keys.get(event.key.toLowerCase());
  if (!action) return;
  event.preventDefault();
  action();
}

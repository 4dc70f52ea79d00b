/** Lanes under a common time axis: zoom, pan, a cursor, and what every lane says there. */

import { valueAt, verdictAt, leaning } from "./annotations.js";
import { colour, el, sharpen, still } from "./dom.js";
import { drawLane, laneHeight, pitchRange } from "./lanes.js";
import { clock } from "./format.js";

const AXIS = 26;
/** Room beside the first and the last moment, so that marks there are whole. */
const EDGE = 5;
const INKS = ["ink", "faint", "good", "bad", "none", "curve", "paper", "quiet", "line"];
const STEPS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600];

export class LanesView {
  /**
   * @param {any[]} lanes
   * @param {number} whole length of the longest lane
   * @param {string} unit of time; empty for seconds
   * @param {{ear: number, rule: number, reference: number}} kept
   * @param {{choose: (system: number) => void, toggle: () => void, say: (time: number) => void}} does
   */
  constructor(lanes, whole, unit, kept, does) {
    Object.assign(this, { lanes, whole, unit, kept, does, cursor: 0, from: 0, to: whole, width: 600 });
    const usable = lanes.map((lane) => (typeof lane.annotation === "string" ? null : lane.annotation));
    this.laneHeight = laneHeight(usable);
    this.range = pitchRange(usable);
    this.numbers = new Map();
    this.canvas = el("canvas", { tabindex: "0", role: "application", "aria-roledescription": "timeline",
      "aria-label": `Timeline of ${lanes.length} lanes: arrow keys move the cursor, plus and minus zoom, Space plays` });
    this.values = lanes.map(() => el("span", { class: "value" }));
    this.labels = lanes.map((lane, at) => this.label(lane, at));
    const names = el("div", { class: "lanenames" }, el("div", { class: "corner" }), ...this.labels);
    this.node = el("div", { class: "lanes" }, names, el("div", { class: "canvasbox" }, this.canvas));
    this.least = this.laneHeight;
    this.listen();
  }

  label(lane, at) {
    const text = [el("b", { title: lane.name }, lane.name), lane.score ? el("span", { class: "score" }, lane.score) : null, this.values[at]];
    if (lane.system < 0) return el("div", { class: "lanename" }, ...text);
    return el("button", { type: "button", class: "lanename", tabindex: "-1", title: "Hear this system in the right ear",
      onclick: () => this.does.choose(lane.system) }, ...text);
  }

  start() {
    const box = this.canvas.parentElement;
    const measure = () => {
      const room = Math.floor((innerHeight * 0.96 - 210) / this.lanes.length);
      const height = Math.max(this.least, Math.min(room, Math.round(this.least * 1.6)));
      if (!box.clientWidth || (box.clientWidth === this.width && height === this.laneHeight)) return;
      const first = this.width === 0;
      this.width = box.clientWidth;
      this.laneHeight = height;
      this.node.style.setProperty("--lane", `${height}px`);
      this.node.classList.toggle("roomy", height >= 64);
      if (first) this.startClose();
      this.draw();
    };
    this.node.style.setProperty("--lane", `${this.laneHeight}px`);
    new ResizeObserver(measure).observe(this.node);
    this.width = 0;
    measure();
    this.read(this.cursor);
  }

  /** Events that would be a blur are seen from near at first. */
  startClose() {
    const most = Math.max(...this.lanes.map((lane) => (lane.annotation.kind === "events" ? lane.annotation.start.length : 0)));
    if (most * 12 > this.width) this.show(0, (this.whole * this.width) / 12 / most);
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

  show(from, to) {
    const length = Math.min(this.whole * 1.02, Math.max(0.05, to - from));
    const start = Math.max(0, Math.min(from, this.whole * 1.02 - length));
    this.from = start;
    this.to = start + length;
    this.request();
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

  /** Put the cursor somewhere; the view follows it. */
  moveTo(time, playing = false) {
    this.cursor = Math.max(0, Math.min(this.whole, time));
    const length = this.to - this.from;
    const ahead = playing && !still() ? 0.9 : 1;
    if (this.cursor > this.from + length * ahead || this.cursor < this.from) this.show(this.cursor - length * 0.1, this.cursor + length * 0.9);
    this.read(this.cursor);
    this.request();
  }

  /** What every lane says at a time, beside its name. */
  read(time) {
    const nearness = Math.min(0.5, ((this.to - this.from) / this.width) * 6);
    this.lanes.forEach((lane, at) => {
      const bare = typeof lane.annotation === "string";
      const verdict = bare ? "" : verdictAt(this.evidence(lane), time, nearness);
      const value = bare ? lane.annotation : valueAt(lane.annotation, time, nearness);
      this.values[at].className = `value ${verdict ? leaning(verdict) : ""}`;
      this.values[at].textContent = verdict ? `${value}${value ? " · " : ""}${verdict}` : value;
    });
    this.does.say(time);
  }

  evidence(lane) {
    const own = lane.evidence[Math.min(this.kept.reference, lane.evidence.length - 1)] || [];
    return own[Math.min(this.kept.rule, own.length - 1)] || null;
  }

  request() {
    if (this.pending) return;
    this.pending = requestAnimationFrame(() => {
      this.pending = 0;
      this.draw();
    });
  }

  draw() {
    if (!this.width) return;
    const height = AXIS + this.lanes.length * this.laneHeight;
    const context = this.size === `${this.width} ${height}` ? this.context : sharpen(this.canvas, this.width, height);
    this.size = `${this.width} ${height}`;
    this.context = context;
    this.ink = new Map(INKS.map((name) => [name, colour(name)]));
    context.clearRect(0, 0, this.width, height);
    context.font = "12px system-ui, sans-serif";
    this.drawAxis(context, height);
    const references = this.lanes.filter((lane) => lane.system < 0);
    const judge = references[Math.min(this.kept.reference, references.length - 1)];
    const reference = judge && typeof judge.annotation !== "string" ? judge : null;
    this.lanes.forEach((lane, at) => {
      const top = AXIS + at * this.laneHeight;
      this.labels[at].classList.toggle("heard", lane.system >= 0 ? lane.system === this.kept.ear : references.length > 1 && lane === judge);
      context.fillStyle = this.ink.get("line");
      context.fillRect(0, top + this.laneHeight - 1, this.width, 1);
      if (typeof lane.annotation === "string") {
        context.fillStyle = this.ink.get("quiet");
        context.textBaseline = "middle";
        context.fillText(lane.annotation, 8, top + this.laneHeight / 2);
        return;
      }
      const behind = lane.system >= 0 && reference ? reference.annotation : null;
      drawLane(context, { annotation: lane.annotation, evidence: this.evidence(lane), behind, top, height: this.laneHeight },
        { x: (time) => this.x(time), from: this.timeAt(0), to: this.timeAt(this.width), width: this.width, range: this.range, ink: this.ink, numbers: this.numbers });
    });
    context.fillStyle = this.ink.get("ink");
    context.fillRect(this.x(this.cursor) - 0.75, AXIS - 8, 1.5, height);
  }

  drawAxis(context, height) {
    const length = this.to - this.from;
    const step = STEPS.find((one) => (one / length) * this.width > 64) || length;
    const decimals = step < 0.1 ? 2 : step < 1 ? 1 : 0;
    context.textBaseline = "alphabetic";
    for (let tick = Math.ceil(this.from / step); tick * step <= this.to; tick++) {
      const x = this.x(tick * step);
      context.fillStyle = this.ink.get("line");
      context.fillRect(x, AXIS - 6, 1, height);
      context.fillStyle = this.ink.get("quiet");
      const text = this.unit ? String(Number((tick * step).toFixed(3))) : clock(tick * step, decimals);
      if (x + context.measureText(text).width < this.width) context.fillText(text, x + 3, AXIS - 8);
    }
    // Which part of the whole is seen.
    context.fillStyle = this.ink.get("line");
    context.fillRect(0, 0, this.width, 3);
    context.fillStyle = this.ink.get("curve");
    context.fillRect((this.from / (this.whole * 1.02)) * this.width, 0, (length / (this.whole * 1.02)) * this.width, 3);
  }

  listen() {
    const { canvas } = this;
    const at = (event) => this.timeAt(event.clientX - canvas.getBoundingClientRect().left);
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const sideways = event.shiftKey ? event.deltaY : event.deltaX;
      if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY)) this.pan((sideways / this.inner) * (this.to - this.from));
      else this.zoom(Math.exp(-event.deltaY / 400), at(event));
    }, { passive: false });
    let held = null;
    canvas.addEventListener("pointerdown", (event) => {
      held = { x: event.clientX, y: event.clientY, from: this.from, to: this.to, scroll: this.node.scrollTop, moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!held) return void this.read(at(event));
      const by = event.clientX - held.x;
      held.moved = held.moved || Math.abs(by) > 3 || Math.abs(event.clientY - held.y) > 3;
      if (!held.moved) return;
      const shift = (-by / this.inner) * (held.to - held.from);
      this.show(held.from + shift, held.to + shift);
      this.node.scrollTop = held.scroll - (event.clientY - held.y);
    });
    canvas.addEventListener("pointerup", (event) => {
      if (held && !held.moved) this.moveTo(at(event));
      held = null;
    });
    canvas.addEventListener("pointercancel", () => { held = null; });
    canvas.addEventListener("pointerleave", () => this.read(this.cursor));
    canvas.addEventListener("keydown", (event) => this.press(event));
  }

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const length = this.to - this.from;
    const forth = new Map([["ArrowRight", 1], ["ArrowLeft", -1]]).get(event.key) || 0;
    const actions = new Map([
      ["ArrowRight", () => (event.shiftKey ? this.pan(length / 10) : this.moveTo(this.cursor + forth * length / 100))],
      ["ArrowLeft", () => (event.shiftKey ? this.pan(-length / 10) : this.moveTo(this.cursor + forth * length / 100))],
      ["PageDown", () => this.moveTo(this.cursor + length)], ["PageUp", () => this.moveTo(this.cursor - length)],
      ["Home", () => this.moveTo(0)], ["End", () => this.moveTo(this.whole)],
      ["+", () => this.zoom(1.5, this.cursor)], ["=", () => this.zoom(1.5, this.cursor)], ["-", () => this.zoom(1 / 1.5, this.cursor)],
      ["0", () => this.fit()], [" ", () => this.does.toggle()], ["ArrowDown", () => this.turn(1)], ["ArrowUp", () => this.turn(-1)]]);
    const action = actions.get(event.key);
    if (!action) return;
    event.preventDefault();
    action();
  }

  /** The system above or below is heard. */
  turn(by) {
    const systems = this.lanes.filter((lane) => lane.system >= 0);
    const next = (Math.min(this.kept.ear, systems.length - 1) + by + systems.length) % systems.length;
    this.does.choose(next);
    this.labels[this.lanes.indexOf(systems[next])].scrollIntoView({ block: "nearest" });
  }
}

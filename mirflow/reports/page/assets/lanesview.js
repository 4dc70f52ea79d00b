/** Lanes under a common time axis: zoom, pan, a cursor, and what every lane says there. */

import { isMoments, pitchName, signOf, valueAt, verdictAt } from "./annotations.js";
import { colour, el, sharpen } from "./dom.js";
import { evidenceOf } from "./evidence.js";
import { drawLane, laneHeight, noteAt, pitchRange, rowNames } from "./lanes.js";
import { drawWaveform, semitoneAt } from "./recording.js";
import { TimeSpan, listen, press } from "./timespan.js";

const AXIS = 26;
const [WAVE, SPECTRUM] = [44, 84];
const INKS = ["accent", "ink", "faint", "good", "bad", "none", "curve", "paper", "quiet", "line"];

/**
 * The axis and the reference that judges stay in sight above the lanes, which scroll; each part has its canvas.
 */
export class LanesView extends TimeSpan {
  constructor(lanes, recording, whole, unit, heading, chosen, does) {
    super(whole, unit);
    Object.assign(this, { lanes, recording, chosen, does, cursor: 0, pointer: null, note: "", numbers: new Map() });
    const usable = lanes.map(({ annotation }) => annotation).filter((annotation) => typeof annotation !== "string");
    this.laneHeight = laneHeight(usable);
    this.range = pitchRange(usable);
    this.references = lanes.filter((lane) => lane.system < 0);
    this.canvas = el("canvas", { tabindex: "0", role: "application", "aria-roledescription": "timeline",
      "aria-label": `Timeline of ${lanes.length} lanes${recording ? " below a recording" : ""}: arrow keys move the cursor, plus and minus zoom, Space plays` });
    this.values = new Map(lanes.map((lane) => [lane, el("span", { class: "value" })]));
    this.labels = new Map(lanes.map((lane) => [lane, this.label(lane)]));
    this.parts = [el("canvas", { class: "axis", "aria-hidden": "true" }), this.canvas].map((one, at) => ({ canvas: one, axis: at ? 0 : AXIS,
      names: el("div", { class: at ? "lanenames" : "lanenames above" }), lanes: [], size: "", context: null }));
    this.parts[0].names.append(el("div", { class: "corner" }, el("span", { title: heading }, heading)));
    if (recording) {
      this.parts[0].names.append(el("div", { class: "lanename sound" }, el("b", { title: recording.name }, recording.name),
        el("span", { class: "value" }, recording.own ? "on this machine" : "")));
    }
    this.arrange();
    this.node = el("div", { class: "lanes" }, this.parts.map((part) => [part.names,
      el("div", { class: part.axis ? "canvasbox above" : "canvasbox" }, part.canvas)]));
    this.least = this.laneHeight;
    for (const part of this.parts) listen(this, part);
    this.canvas.addEventListener("keydown", (event) => press(this, event));
  }

  label(lane) {
    const text = [el("b", { title: lane.name }, lane.short ?? lane.name), lane.score ? el("span", { class: "score" }, lane.score) : null, this.values.get(lane)];
    if (lane.system < 0) return el("div", { class: "lanename" }, ...text);
    return el("button", { type: "button", class: "lanename", tabindex: "-1", title: "Choose this system: it sounds in the right ear",
      onclick: () => this.does.choose(lane.system) }, ...text);
  }

  /** What lies at which height of a lane stands at the end of its label, where the cursor hides nothing. */
  nameRows() {
    for (const [lane, label] of this.labels) {
      const names = typeof lane.annotation === "string" ? [] : rowNames(lane.annotation, this.laneHeight, this.range);
      label.querySelectorAll(".rowname").forEach((old) => old.remove());
      label.classList.toggle("rows", names.length > 0);
      label.style.setProperty("--longest", `${Math.min(10, Math.max(0, ...names.map(([text]) => text.length)))}ch`);
      for (const [text, y] of names) {
        label.append(el("span", { class: "rowname", "aria-hidden": "true" }, text));
        label.lastChild.style.top = `${y}px`;
      }
    }
  }

  /** The reference that judges is the one above. */
  arrange() {
    const judge = this.judge;
    const [above, below] = this.parts;
    above.lanes = judge ? [judge] : [];
    below.lanes = this.lanes.filter((lane) => lane !== judge);
    if (judge) above.names.append(this.labels.get(judge));
    below.names.append(...below.lanes.map((lane) => this.labels.get(lane)));
  }

  get judge() { return this.references[Math.min(this.chosen.reference, this.references.length - 1)]; }

  get soundHeight() { return this.recording ? WAVE + (this.recording.spectrum ? SPECTRUM : 0) : 0; }

  start({ time, seen, high = 0 }) {
    const box = this.canvas.parentElement;
    const measure = () => {
      const room = Math.floor((innerHeight * 0.96 - 300 - this.soundHeight) / this.lanes.length);
      const height = high || Math.max(this.least, Math.min(room, Math.round(this.least * 1.6)));
      if (!box.clientWidth || (box.clientWidth === this.width && height === this.laneHeight)) return;
      const first = this.width === 0;
      this.width = box.clientWidth;
      this.laneHeight = height;
      this.node.style.setProperty("--lane", `${height}px`);
      this.nameRows();
      this.node.classList.toggle("roomy", height >= 64);
      if (first) {
        // Events that would be a blur are seen from near at first.
        const most = Math.max(...this.lanes.map((lane) => (isMoments(lane.annotation.form) ? lane.annotation.start.length : 0)));
        const length = most * 12 > this.width ? (this.whole * this.width) / 12 / most : this.whole;
        const from = this.cursor > length ? this.cursor - length * 0.1 : 0;
        this.look(seen || [from, from + length]);
        // What is near depends on the width.
        this.read();
      }
      this.draw();
    };
    this.cursor = Math.min(this.whole, time);
    new ResizeObserver(measure).observe(this.node);
    this.width = 0;
    measure();
  }

  /** Put the cursor somewhere; the view follows it. */
  moveTo(time, playing = false) {
    this.cursor = Math.max(0, Math.min(this.whole, time));
    const length = this.to - this.from;
    const ahead = playing && !matchMedia("(prefers-reduced-motion: reduce)").matches ? 0.9 : 1;
    if (this.cursor > this.from + length * ahead || this.cursor < this.from) this.look([this.cursor - length * 0.1, this.cursor + length * 0.9]);
    if (!playing) this.pointer = null;
    this.read();
    this.request();
    if (!playing) this.does.moved();
  }

  /** What is said is of the pointer while it is over the lanes, and of the cursor otherwise. */
  point(time, note = "") {
    this.pointer = time === null ? null : Math.max(0, Math.min(this.whole, time));
    this.note = note;
    this.read();
    this.request();
  }

  /** How far from a time something may be to be meant by it. */
  get nearness() { return Math.min(0.5, ((this.to - this.from) / this.width) * 6); }

  /** What a lane says at a time, and how that is judged. */
  describe(lane, time) {
    if (typeof lane.annotation === "string") return { value: lane.annotation, verdict: "" };
    return { value: valueAt(lane.annotation, time, this.nearness), verdict: verdictAt(this.evidence(lane), time, this.nearness) };
  }

  /** Pixels above the lanes of a part. */
  topOf({ axis }) { return axis && axis + this.soundHeight; }

  /** The lane at a height of a part; nothing above the lanes. */
  laneAt(part, y) { return part.lanes[Math.floor((y - this.topOf(part)) / this.laneHeight)]; }

  /** The note at a height of a part: of a lane with pitches, or of the spectrum. */
  noteAt(part, y) {
    const top = this.topOf(part);
    const spectrum = y - part.axis - WAVE;
    if (part.axis && spectrum >= 0 && y < top) return pitchName(Math.round(semitoneAt(spectrum / (SPECTRUM - 1))));
    const pitched = this.laneAt(part, y)?.annotation.pitch;
    return pitched ? noteAt((y - top) % this.laneHeight, this.laneHeight, this.range) : "";
  }

  /** What every lane says at a time, beside its name. */
  read() {
    const time = this.pointer ?? this.cursor;
    for (const [lane, node] of this.values) {
      const { value, verdict } = this.describe(lane, time);
      node.className = `value ${verdict ? signOf(verdict) : ""}`;
      node.textContent = verdict ? `${value}${value ? " · " : ""}${verdict}` : value;
    }
    this.does.say([this.write(time), this.pointer !== null && this.note].filter(Boolean).join(" · "));
  }

  /** Where the cursor is and what the reference and the system in the right ear say there, for who does not see it. */
  announce() {
    const heard = this.lanes.find((lane) => lane.system === this.chosen.ear && lane.system >= 0);
    const spoken = [this.judge, heard].filter(Boolean).map((lane) => {
      const { value, verdict } = this.describe(lane, this.cursor);
      return `${lane.name}: ${[value || "nothing", verdict].filter(Boolean).join(", ")}`;
    });
    this.does.announce([this.write(this.cursor), ...spoken].join("; "));
  }

  evidence(lane) { return evidenceOf(this.chosen, lane.evidence); }

  request() {
    this.pending ||= requestAnimationFrame(() => this.draw());
  }

  draw() {
    this.pending = 0;
    if (!this.width) return;
    this.ink = new Map(INKS.map((name) => [name, colour(name)]));
    for (const [lane, label] of this.labels) {
      const heard = lane.system >= 0 ? lane.system === this.chosen.ear : this.references.length > 1 && lane === this.judge;
      label.classList.toggle("heard", heard);
      if (lane.system >= 0) label.setAttribute("aria-pressed", String(heard));
    }
    this.node.style.setProperty("--sound", `${this.soundHeight}px`);
    for (const part of this.parts) this.drawPart(part);
  }

  drawPart(part) {
    const top = this.topOf(part);
    const height = top + part.lanes.length * this.laneHeight;
    const size = `${this.width} ${height}`;
    if (part.size !== size) Object.assign(part, { size, context: sharpen(part.canvas, this.width, height) });
    const { context } = part;
    context.clearRect(0, 0, this.width, height);
    context.font = "12px system-ui, sans-serif";
    this.drawTicks(context, part.axis, height);
    const { recording } = this;
    if (top > part.axis) {
      context.fillStyle = this.ink.get("curve");
      drawWaveform(context, recording, this, part.axis, WAVE);
      const seen = [0, this.width].map((x) => this.timeAt(x) - recording.begin);
      recording.spectrum?.draw(context, (time) => this.x(time + recording.begin), seen, part.axis + WAVE, SPECTRUM - 1);
      context.fillStyle = this.ink.get("line");
      context.fillRect(0, top - 1, this.width, 1);
    }
    const behind = this.judge && typeof this.judge.annotation !== "string" ? this.judge.annotation : null;
    part.lanes.forEach((lane, at) => this.drawLane(context, lane, top + at * this.laneHeight, behind));
    if (this.chosen.loop) this.drawLoop(context, this.chosen.loop, part.axis, height);
    context.fillStyle = this.ink.get("ink");
    context.fillRect(this.x(this.cursor) - 0.75, Math.max(0, part.axis - 8), 1.5, height);
    if (this.pointer !== null) this.drawPointer(context, this.pointer, part.axis, height);
  }

  drawLane(context, lane, top, reference) {
    context.fillStyle = this.ink.get("line");
    context.fillRect(0, top + this.laneHeight - 1, this.width, 1);
    if (typeof lane.annotation === "string") {
      context.fillStyle = this.ink.get("quiet");
      context.textBaseline = "middle";
      context.fillText(lane.annotation, 8, top + this.laneHeight / 2);
      return;
    }
    drawLane(context, { annotation: lane.annotation, evidence: this.evidence(lane), behind: lane.system < 0 ? null : reference, judge: reference, top, height: this.laneHeight },
      { x: (time) => this.x(time), from: this.timeAt(0), to: this.timeAt(this.width), width: this.width, range: this.range, ink: this.ink, numbers: this.numbers });
  }

  /** The system above or below is heard. */
  turn(by) {
    const systems = this.lanes.filter((lane) => lane.system >= 0);
    const now = systems.findIndex((lane) => lane.system === this.chosen.ear);
    const next = systems[(Math.max(0, now) + by + systems.length) % systems.length];
    this.does.choose(next.system);
    this.labels.get(next).scrollIntoView({ block: "nearest" });
    this.announce();
  }
}

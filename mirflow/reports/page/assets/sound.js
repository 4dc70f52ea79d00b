/** What annotations sound like, made in the page: clicks, chords and tones; the reference left, a system right. */

import { isMoments, lastBy } from "./annotations.js";

const AHEAD = 0.35;
const PENTATONIC = [0, 2, 4, 7, 9];
/** Hz of the clicks in the left and in the right ear, a fifth apart, as of `mirflow sonify`. */
const CLICKS = [1000, 1500];
/** Seconds of a click, and those in which it dies away to 1/e. */
const CLICK = 0.1;
const DECAY = 0.01;
/** The bell that weighs the octaves of Shepard tones: its centre and width as MIDI numbers, and the least weight. */
const BELL = { centre: 72, width: 6, least: 0.01 };

/**
 * @typedef {{time: number, length: number, tones: number[][], click: boolean, until?: number}} Sound
 * `tones`: frequency in Hz and weight of each; `until`: when its item ends, so that listening that begins within the
 * item starts with it.
 */

/** A tone of a MIDI number. */
const tone = (midi, weight = 1) => [440 * 2 ** ((midi - 69) / 12), weight];

/** A chord as Shepard tones: its pitch classes in all octaves, those in the middle the loudest. */
export function chordTones({ root, pitches, bass }) {
  if (root < 0) return [];
  const classes = new Set(Array.from({ length: 12 }, (_, step) => step)
    .filter((step) => (pitches & (1 << step)) || step === bass).map((step) => (root + step) % 12));
  return Array.from({ length: 84 }, (_, place) => 24 + place).filter((midi) => classes.has(midi % 12))
    .map((midi) => tone(midi, Math.exp(-((midi - BELL.centre) ** 2) / (2 * BELL.width ** 2))))
    .filter(([, weight]) => weight >= BELL.least);
}

/** Frames of equal semitones that follow each other, as notes. */
function joinFrames({ start, pitch, voiced, hop }) {
  const open = new Map();
  const notes = [];
  for (let at = 0; at < start.length; at++) {
    if (Number.isNaN(pitch[at]) || (voiced && !voiced[at])) continue;
    const near = Math.round(pitch[at] * 4) / 4;
    const last = open.get(near);
    if (last && start[at] - last.time - last.length < hop * 1.5) last.length = start[at] + hop - last.time;
    else {
      const note = { time: start[at], length: hop, tones: [tone(near)], click: false };
      open.set(near, note);
      notes.push(note);
    }
  }
  return notes;
}

/**
 * @param {any} annotation
 * @param {number} ear 0 for the left one, 1 for the right one
 * @returns {Sound[]} in order of time
 */
export function soundsOf(annotation, ear = 0) {
  const { form, start, end, labels, pitch, row, values } = annotation;
  const click = (time) => ({ time, length: CLICK, tones: [[CLICKS[ear], 1]], click: true });
  let made = [];
  if (isMoments(form)) made = Array.from(start, (time) => click(time));
  else if (form === "segments" && labels && labels.some((label) => label.tonal)) {
    made = Array.from(start, (time, at) => ({ time, length: end[at] - time, tones: chordTones(labels[at]), click: false }));
  } else if (form === "segments" || form === "levels") {
    const numbers = new Map();
    made = Array.from(start, (time, at) => {
      const text = labels ? labels[at].text : "";
      if (!numbers.has(text)) numbers.set(text, numbers.size);
      const number = numbers.get(text);
      const midi = 60 + PENTATONIC[number % 5] + 12 * (Math.floor(number / 5) % 2) + (row ? 12 * row[at] : 0);
      return { time, length: Math.min(0.6, end[at] - time), tones: [tone(midi)], click: false, until: end[at] };
    });
  } else if (form === "notes" || form === "sheet" || form === "patterns") {
    made = Array.from(start, (time, at) => ({ time, length: Math.max(0.05, end[at] - time), tones: [tone(pitch[at])], click: false }));
  } else if (form === "curve" || form === "frames") made = joinFrames(annotation);
  else if (form === "text" && values && !labels) {
    const tempo = values.find((one) => one > 0);
    made = tempo ? Array.from({ length: Math.min(64, Math.ceil(tempo / 6)) }, (_, at) => click((at * 60) / tempo)) : [];
  } else if (form === "text" && labels && labels.some((label) => label.tonal)) {
    made = labels.map((label, at) => ({ time: at * 2, length: 2, tones: chordTones(label), click: false }));
  }
  return made.filter((one) => one.tones.length && one.length > 0).sort((a, b) => a.time - b.time);
}

/** Plays lists of sounds, one in each ear, and perhaps a recording, whose time is then that of everything. */
export class Player {
  constructor() {
    this.context = null;
    this.timer = 0;
    this.playing = false;
    /** @type {HTMLAudioElement|null} */
    this.recording = null;
  }

  /**
   * @param {Sound[][]} ears left and right
   * @param {number} from seconds
   * @param {number} to seconds
   * @param {() => void} onend
   * @param {HTMLAudioElement|null} recording
   */
  play(ears, from, to, onend, recording = null) {
    this.stop();
    this.recording = recording;
    if (recording) {
      recording.currentTime = from;
      // What cannot be played says so itself, by its event.
      recording.play().catch(() => {});
    }
    const context = new AudioContext();
    this.context = context;
    const out = context.createDynamicsCompressor();
    out.connect(context.destination);
    const merger = context.createChannelMerger(2);
    merger.connect(out);
    this.ears = ears.map((all, side) => {
      const sounds = withBegun(all, from);
      const gain = context.createGain();
      gain.gain.value = 0.5;
      gain.connect(merger, 0, side);
      return { sounds, gain, next: firstEndingAfter(sounds, from) };
    });
    this.from = from;
    this.to = to;
    this.began = context.currentTime + 0.05;
    this.playing = true;
    this.onend = onend;
    context.resume();
    this.timer = window.setInterval(() => this.schedule(), 80);
    this.schedule();
  }

  /** Where it is, in seconds of the annotation. */
  get time() {
    if (this.playing && this.recording) return this.recording.currentTime;
    return this.playing ? this.from + Math.max(0, this.context.currentTime - this.began) : this.from;
  }

  schedule() {
    if (this.recording && !this.inStep()) return;
    const until = this.time + AHEAD;
    for (const ear of this.ears) {
      while (ear.next < ear.sounds.length && ear.sounds[ear.next].time < until) {
        const sound = ear.sounds[ear.next++];
        if (sound.time + sound.length > this.from) this.sound(sound, ear.gain);
      }
    }
    if (this.time > this.to + 0.2) {
      this.stop();
      this.onend();
    }
  }

  /** Whether the recording runs; sounds go with it, also after it had to wait for data. */
  inStep() {
    const { recording, context } = this;
    if (recording.ended) {
      this.stop();
      this.onend();
      return false;
    }
    if (recording.paused || recording.seeking || recording.readyState < 3) return false;
    this.began = context.currentTime - (recording.currentTime - this.from);
    return true;
  }

  sound({ time, length, tones, click }, out) {
    const { context } = this;
    const start = Math.max(context.currentTime, this.began + time - this.from);
    const end = Math.max(start + 0.03, this.began + time + length - this.from);
    const gain = context.createGain();
    const loud = (click ? 0.9 : 0.4) / Math.hypot(...tones.map(([, weight]) => weight));
    if (click) {
      gain.gain.setValueAtTime(loud, start);
      gain.gain.setTargetAtTime(0, start, DECAY);
    } else {
      gain.gain.setValueAtTime(0, start);
      gain.gain.linearRampToValueAtTime(loud, start + 0.015);
      gain.gain.setValueAtTime(loud, Math.max(start + 0.015, end - 0.05));
      gain.gain.linearRampToValueAtTime(0, end);
    }
    gain.connect(out);
    for (const [frequency, weight] of tones) {
      const wave = context.createOscillator();
      const share = context.createGain();
      share.gain.value = weight;
      wave.frequency.value = Math.min(12000, frequency);
      wave.connect(share);
      share.connect(gain);
      wave.start(start);
      wave.stop(end + 0.01);
    }
  }

  stop() {
    window.clearInterval(this.timer);
    if (this.playing) this.from = this.time;
    this.playing = false;
    if (this.recording) this.recording.pause();
    this.recording = null;
    if (this.context && this.context.state !== "closed") this.context.close();
    this.context = null;
  }
}

/** Items that began before and still go on sound at the beginning. */
function withBegun(sounds, from) {
  const begun = sounds.filter((one) => one.until > from && one.time + one.length <= from).map((one) => ({ ...one, time: from }));
  return [...sounds, ...begun].sort((a, b) => a.time - b.time);
}

/** The first sound to look at; long ones that began before are found by going back a little. */
function firstEndingAfter(sounds, time) {
  let at = lastBy(sounds.map((one) => one.time), time) + 1;
  while (at > 0 && sounds[at - 1].time > time - 60) at -= 1;
  return at;
}

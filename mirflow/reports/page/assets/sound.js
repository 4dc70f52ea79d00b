/** What annotations sound like, made in the page: clicks, chords and tones; the reference left, a system right. */

import { isMoments } from "./annotations.js";

const AHEAD = 0.35;
const PENTATONIC = [0, 2, 4, 7, 9];
/** Hz of the clicks in the left and in the right ear, a fifth apart, as of `mirflow sonify`. */
const CLICKS = [1000, 1500];
/** Seconds of a click, and those in which it dies away to 1/e. */
const [CLICK, DECAY] = [0.1, 0.01];
/** The bell that weighs the octaves of Shepard tones: its centre and width as MIDI numbers, and the least weight. */
const BELL = { centre: 72, width: 6, least: 0.01 };

/** A tone of a MIDI number. */
const tone = (midi, weight = 1) => [440 * 2 ** ((midi - 69) / 12), weight];

/** A chord as Shepard tones: its pitch classes in all octaves, those in the middle the loudest. */
function chordTones({ root, pitches, bass }) {
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
      notes.push({ time: start[at], length: hop, tones: [tone(near)] });
      open.set(near, notes.at(-1));
    }
  }
  return notes;
}

/** What an annotation sounds like, in order of time; `until`: when an item ends that falls silent before. */
export function soundsOf(annotation, ear = 0) {
  const { form, start, end, labels, pitch, row, values } = annotation;
  const click = (time) => ({ time, length: CLICK, tones: [[CLICKS[ear], 1]], click: true });
  const tonal = labels?.some((label) => label.tonal);
  const numbers = new Map();
  const scaled = (at) => {
    const text = labels?.[at].text;
    if (!numbers.has(text)) numbers.set(text, numbers.size);
    const number = numbers.get(text);
    return { length: Math.min(0.6, end[at] - start[at]), tones: [tone(60 + PENTATONIC[number % 5] + 12 * (Math.floor(number / 5) % 2) + (row ? 12 * row[at] : 0))], until: end[at] };
  };
  const items = (make) => Array.from(start, (time, at) => ({ time, ...make(at) }));
  let made = [];
  if (isMoments(form)) made = Array.from(start, click);
  else if (form === "segments" && tonal) made = items((at) => ({ length: end[at] - start[at], tones: chordTones(labels[at]) }));
  else if (form === "segments" || form === "levels") made = items(scaled);
  else if (form === "notes" || form === "sheet" || form === "patterns") made = items((at) => ({ length: Math.max(0.05, end[at] - start[at]), tones: [tone(pitch[at])] }));
  else if (form === "curve" || form === "frames") made = joinFrames(annotation);
  else if (form === "text" && tonal) made = labels.map((label, at) => ({ time: at * 2, length: 2, tones: chordTones(label) }));
  else if (form === "text" && values && !labels) {
    const tempo = values.find((one) => one > 0);
    made = tempo ? Array.from({ length: Math.min(64, Math.ceil(tempo / 6)) }, (_, at) => click((at * 60) / tempo)) : [];
  }
  return made.filter((one) => one.tones.length && one.length > 0).sort((a, b) => a.time - b.time);
}

/** Loudness of an ear at full volume. */
const EAR = 0.5;

/** Plays lists of sounds, one in each ear, and perhaps a recording, whose time is then that of everything. */
class Player {
  context = null;
  timer = 0;
  playing = false;
  recording = null;
  loop = null;
  ears = [];

  play({ ears, from, to, recording = null, mix, speed, loop, onend }) {
    this.stop();
    const context = new AudioContext();
    Object.assign(this, { context, recording, sounds: ears, to, mix, speed, loop, onend, playing: true, ears: [], merger: context.createChannelMerger(2) });
    this.merger.connect(context.createDynamicsCompressor()).connect(context.destination);
    if (recording) Object.assign(recording.node, { playbackRate: speed, preservesPitch: true });
    this.begin(loop && (from < loop[0] || from >= loop[1]) ? loop[0] : from);
    context.resume();
    this.timer = window.setInterval(() => this.schedule(), 40);
    this.schedule();
  }

  /** Go on from a time; what sounds until then falls silent. */
  begin(from) {
    const { context, recording } = this;
    for (const { gain } of this.ears) gain.disconnect();
    this.from = from;
    this.began = context.currentTime + 0.05;
    this.ears = this.sounds.map((all, ear) => {
      const gain = context.createGain();
      gain.connect(this.merger, 0, ear);
      // Items that began before and still go on sound at the beginning.
      const begun = all.filter((one) => one.until > from && one.time + one.length <= from).map((one) => ({ ...one, time: from }));
      const sounds = [...all, ...begun].sort((a, b) => a.time - b.time);
      // Long ones that began before are found by going back a little.
      const next = sounds.findIndex((one) => one.time > from - 60);
      return { sounds, gain, next: next < 0 ? sounds.length : next };
    });
    this.turn(this.mix);
    if (!recording) return;
    recording.node.currentTime = Math.max(0, from - recording.begin);
    // What cannot be played says so itself, by its event.
    recording.node.play().catch(() => {});
  }

  turn(mix) {
    this.mix = mix;
    if (this.recording) this.recording.node.volume = mix[0] / 100;
    this.ears.forEach(({ gain }, ear) => { gain.gain.value = (EAR * mix[ear + 1]) / 100; });
  }

  /** Where it is, in seconds of the annotation. */
  get time() {
    if (this.playing && this.recording) return this.recording.node.currentTime + this.recording.begin;
    return this.playing ? this.from + Math.max(0, this.context.currentTime - this.began) * this.speed : this.from;
  }

  schedule() {
    const { recording, loop, time } = this;
    if (recording) {
      const { node, trouble } = recording;
      if (node.ended || trouble) return this.end();
      // Sounds go with the recording, also after it had to wait for data.
      if (node.paused || node.seeking || node.readyState < 3) return;
      this.began = this.context.currentTime - (time - this.from) / this.speed;
    }
    if (loop && time >= loop[1]) return this.begin(loop[0]);
    const until = Math.min(time + AHEAD * this.speed, loop ? loop[1] : Infinity);
    for (const ear of this.ears) {
      while (ear.next < ear.sounds.length && ear.sounds[ear.next].time < until) {
        const sound = ear.sounds[ear.next++];
        if (sound.time + sound.length > this.from) this.sound(sound, ear.gain);
      }
    }
    if (time > this.to + 0.2) this.end();
  }

  end() {
    if (this.loop) return this.begin(this.loop[0]);
    this.stop();
    this.onend();
  }

  sound({ time, length, tones, click }, out) {
    const { context } = this;
    const at = (one) => this.began + (one - this.from) / this.speed;
    const start = Math.max(context.currentTime, at(time));
    const end = Math.max(start + 0.03, at(time + length));
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
    if (this.recording) this.recording.node.pause();
    this.recording = null;
    if (this.context && this.context.state !== "closed") this.context.close();
    this.context = null;
  }
}

/** One thing plays at a time. */
export const player = new Player();

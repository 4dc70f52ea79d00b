/** Recordings of tracks, which play, and what is in their samples: peaks, and the level of each semitone over time. */

import { PALETTE } from "./colours.js";
import { bytesOf, load } from "./data.js";
import { el } from "./dom.js";

/** Milliseconds of computing at a time. */
const SLICE = 12;
/** Recordings by track, as long as the page is open. */
const known = new Map();

class Recording {
  constructor({ name, address, peaks = "", file = null }) {
    Object.assign(this, { name, address, file, begin: 0, peaks: null, samples: null, spectrum: null, trouble: "", changed: () => {} });
    this.node = el("audio", { preload: "metadata", src: address, onerror: () => this.fail("cannot be played") });
    // A server computed the peaks, if it could.
    if (peaks) load(peaks, "The waveform").then((response) => response?.json()).catch(() => null).then((found) => {
      if (found && !this.peaks) {
        const values = new Int8Array(bytesOf(found.peaks).buffer);
        this.peaks = { step: found.step, low: values.subarray(0, values.length / 2), high: values.subarray(values.length / 2), full: 127 };
      }
      this.changed();
    });
  }

  /** Whether it was given by the visitor. */
  get own() { return this.file !== null; }

  /** Seconds, 0 where they are not known yet. */
  get duration() {
    if (this.samples) return this.samples.length / RATE;
    return Number.isFinite(this.node.duration) ? this.node.duration : this.peaks ? this.peaks.step * this.peaks.low.length : 0;
  }

  /** Decode it, and compute its spectrum in pieces; `changed` is called as it grows. */
  async look() {
    if (this.samples) return;
    try {
      const data = this.file ? await this.file.arrayBuffer() : await (await load(this.address, "The recording")).arrayBuffer();
      const decoded = await new OfflineAudioContext(1, 1, RATE).decodeAudioData(data);
      const channels = Array.from({ length: decoded.numberOfChannels }, (_, channel) => decoded.getChannelData(channel));
      this.samples = channels.length < 2 ? channels[0] : channels[0].map((_, at) => channels.reduce((sum, channel) => sum + channel[at], 0) / channels.length);
    } catch {
      // A server's recording may still play.
      if (this.own) this.fail("cannot be decoded by this browser");
      return;
    }
    this.peaks = peaksOf(this.samples);
    this.spectrum = new Spectrum(this.samples);
    do {
      this.changed();
      await new Promise((resume) => { window.setTimeout(resume); });
    } while (this.spectrum.advance(SLICE));
    this.changed();
  }

  fail(trouble) {
    this.trouble = trouble;
    this.changed();
  }
}

/** The recording of a track: the visitor's own, or the server's, or none. */
export function recordingOf(track, { audio = "", peaks = "" }) {
  const found = known.get(track);
  if (found && (found.own || found.address === audio) && !(found.trouble && !found.own)) return found;
  if (!audio) return null;
  known.set(track, new Recording({ name: "the recording", address: audio, peaks }));
  return known.get(track);
}

export function giveRecording(track, file) {
  if (known.get(track)?.own) URL.revokeObjectURL(known.get(track).address);
  known.set(track, new Recording({ name: file.name, address: URL.createObjectURL(file), file }));
  return known.get(track);
}

export function drawWaveform(context, { peaks, samples, begin }, view, top, height) {
  if (!peaks) return;
  const pixel = view.timeAt(1) - view.timeAt(0);
  const { step, low, high, full } = samples && pixel < 2 * peaks.step ? { step: 1 / RATE, low: samples, high: samples, full: 1 } : peaks;
  const middle = top + height / 2;
  for (let x = 0; x < view.width; x++) {
    const first = Math.floor((view.timeAt(x) - begin) / step);
    const last = Math.max(first + 1, Math.floor((view.timeAt(x + 1) - begin) / step));
    if (last <= 0 || first >= low.length) continue;
    let [least, most] = [Infinity, -Infinity];
    for (let at = Math.max(0, first); at < Math.min(last, low.length); at++) {
      least = Math.min(least, low[at]);
      most = Math.max(most, high[at]);
    }
    const [up, down] = [most, least].map((value) => middle - (value / full) * (height / 2 - 1));
    context.fillRect(x, up, 1, Math.max(1, down - up));
  }
}

/** Samples a second of a recording that is looked at; samples of a peak, and between two frames of the spectrum. */
const [RATE, BUCKET, HOP] = [11025, 128, 512];
/** Low semitones need long windows, high ones short ones: samples, and MIDI numbers from and below. */
const BANDS = [{ size: 4096, from: 36, to: 60 }, { size: 1024, from: 60, to: 108 }];
const LOWEST = BANDS[0].from;
const ROWS = BANDS[1].to - LOWEST;
/** The MIDI number at a share of the height, from above. */
export const semitoneAt = (share) => LOWEST - 0.5 + ROWS * (1 - share);
/** Decibels below the loudest that are still seen; frames of a picture. */
const [RANGE, TILE] = [60, 1024];

/** Lowest and highest values of equal steps. */
function peaksOf(samples) {
  const many = Math.ceil(samples.length / BUCKET);
  const [low, high] = [new Float32Array(many), new Float32Array(many)];
  for (let at = 0; at < samples.length; at++) {
    const bucket = Math.floor(at / BUCKET);
    if (samples[at] < low[bucket]) low[bucket] = samples[at];
    else if (samples[at] > high[bucket]) high[bucket] = samples[at];
  }
  return { step: BUCKET / RATE, low, high, full: 1 };
}

/** The parts of a transform that depend on its size alone. */
function prepare({ size, from, to }) {
  const window = Float64Array.from({ length: size }, (_, at) => 0.5 - 0.5 * Math.cos((2 * Math.PI * at) / size));
  const turn = Array.from({ length: size / 2 }, (_, at) => (-2 * Math.PI * at) / size);
  const bits = Math.log2(size);
  const places = Uint16Array.from({ length: size }, (_, at) => {
    let turned = 0;
    for (let bit = 0; bit < bits; bit++) turned |= ((at >> bit) & 1) << (bits - 1 - bit);
    return turned;
  });
  // The bins within a quarter tone, at least the nearest one.
  const bin = (midi) => ((440 * 2 ** ((midi - 69) / 12)) / RATE) * size;
  const rows = Array.from({ length: to - from }, (_, row) => {
    const [first, last] = [Math.ceil(bin(from + row - 0.5)), Math.floor(bin(from + row + 0.5))];
    return first <= last ? [first, last] : [Math.round(bin(from + row)), Math.round(bin(from + row))];
  });
  return { size, window, places, rows, from, cos: Float64Array.from(turn, Math.cos), sin: Float64Array.from(turn, Math.sin),
    real: new Float64Array(size), imaginary: new Float64Array(size) };
}

/** The discrete Fourier transform of `real` and `imaginary`, whose values are in the order of `places`, in place. */
function transform({ size, cos, sin, real, imaginary }) {
  for (let half = 1; half < size; half *= 2) {
    const stride = size / 2 / half;
    for (let begin = 0; begin < size; begin += 2 * half) {
      for (let at = begin, step = 0; at < begin + half; at++, step += stride) {
        const other = at + half;
        const re = real[other] * cos[step] - imaginary[other] * sin[step];
        const im = real[other] * sin[step] + imaginary[other] * cos[step];
        real[other] = real[at] - re;
        imaginary[other] = imaginary[at] - im;
        real[at] += re;
        imaginary[at] += im;
      }
    }
  }
}

/** Levels of semitones, computed piece by piece so that the page stays quick, and kept as pictures. */
class Spectrum {
  constructor(samples) {
    Object.assign(this, { samples, frames: Math.ceil(samples.length / HOP), done: 0, tiles: [], bands: BANDS.map(prepare),
      loudest: samples.reduce((most, one) => Math.max(most, Math.abs(one)), 1e-6) });
  }

  /** Compute for some milliseconds; whether there is more to do. */
  advance(milliseconds) {
    const until = performance.now() + milliseconds;
    while (this.done < this.frames && performance.now() < until) {
      for (const band of this.bands) this.compute(band, this.done);
      this.done += 2;
    }
    return this.done < this.frames;
  }

  /** Two frames by one transform: one as the real part, the next as the imaginary one. */
  compute(band, frame) {
    const { size, window, places, rows, from, real, imaginary } = band;
    const first = frame * HOP - size / 2;
    for (let at = 0; at < size; at++) {
      real[places[at]] = (this.samples[first + at] || 0) * window[at];
      imaginary[places[at]] = (this.samples[first + HOP + at] || 0) * window[at];
    }
    transform(band);
    const most = ((size / 4) * this.loudest) ** 2;
    rows.forEach(([low, high], row) => {
      let [one, two] = [0, 0];
      for (let bin = low; bin <= high; bin++) {
        const other = size - bin;
        one = Math.max(one, (real[bin] + real[other]) ** 2 + (imaginary[bin] - imaginary[other]) ** 2);
        two = Math.max(two, (imaginary[bin] + imaginary[other]) ** 2 + (real[other] - real[bin]) ** 2);
      }
      this.put(frame, from - LOWEST + row, one / 4 / most);
      if (frame + 1 < this.frames) this.put(frame + 1, from - LOWEST + row, two / 4 / most);
    });
  }

  put(frame, row, power) {
    const tile = Math.floor(frame / TILE);
    if (!this.tiles[tile]) {
      const image = new ImageData(TILE, ROWS);
      this.tiles[tile] = { canvas: new OffscreenCanvas(TILE, ROWS), image, pixels: new Uint32Array(image.data.buffer), drawn: -1 };
    }
    const level = Math.max(0, Math.min(255, Math.round(255 * (1 + (10 * Math.log10(power + 1e-12)) / RANGE))));
    this.tiles[tile].pixels[(ROWS - 1 - row) * TILE + (frame % TILE)] = PALETTE[level];
  }

  draw(context, x, seen, top, height) {
    const [from, to] = seen.map((time) => (time * RATE) / HOP + 0.5);
    this.tiles.forEach((tile, place) => {
      const first = Math.max(place * TILE, Math.floor(from));
      const last = Math.min((place + 1) * TILE, this.done, this.frames, Math.ceil(to));
      if (first >= last) return;
      const filled = Math.min(this.done, (place + 1) * TILE);
      if (tile.drawn !== filled) {
        tile.canvas.getContext("2d").putImageData(tile.image, 0, 0);
        tile.drawn = filled;
      }
      // A frame is about the samples around its middle.
      const [left, right] = [first, last].map((frame) => x(((frame - 0.5) * HOP) / RATE));
      context.imageSmoothingQuality = "high";
      context.drawImage(tile.canvas, first - place * TILE, 0, last - first, ROWS, left, top, right - left, height);
    });
  }
}

/** Recordings of tracks: those of a server, and files of the visitor's own, which stay on this machine. */

import { el } from "./dom.js";
import { channelsOf } from "./colours.js";
import { loadPeaks, loadSound } from "./source.js";
import { RATE, Spectrum, peaksOf } from "./spectrum.js";

/** Milliseconds of computing at a time. */
const SLICE = 12;
/** Recordings by track, as long as the page is open. */
const known = new Map();

export class Recording {
  /** @param {{name: string, address: string, peaks?: string, file?: File}} about */
  constructor({ name, address, peaks = "", file = null }) {
    Object.assign(this, { name, address, file, begin: 0, peaks: null, samples: null, spectrum: null, trouble: "", changed: () => {} });
    this.node = el("audio", { preload: "metadata", src: address });
    this.node.addEventListener("error", () => this.fail("cannot be played"));
    if (peaks) {
      loadPeaks(peaks).then((found) => {
        if (found && !this.peaks) this.peaks = found;
        this.changed();
      });
    }
  }

  /** Whether it was given by the visitor. */
  get own() {
    return this.file !== null;
  }

  /** Seconds, 0 where they are not known yet. */
  get duration() {
    if (this.samples) return this.samples.length / RATE;
    return Number.isFinite(this.node.duration) ? this.node.duration : this.peaks ? this.peaks.step * this.peaks.low.length : 0;
  }

  /** Decode it, and compute its spectrum in pieces; `changed` is called as it grows. */
  async look() {
    if (this.samples) return;
    try {
      const data = this.file ? await this.file.arrayBuffer() : await loadSound(this.address);
      const decoded = await new OfflineAudioContext(1, 1, RATE).decodeAudioData(data);
      this.samples = mono(decoded);
    } catch {
      // A server's recording may still play.
      if (this.own) this.fail("cannot be decoded by this browser");
      return;
    }
    this.peaks = peaksOf(this.samples);
    this.spectrum = new Spectrum(this.samples, channelsOf);
    this.changed();
    while (this.spectrum.advance(SLICE)) {
      this.changed();
      await new Promise((resume) => { window.setTimeout(resume); });
    }
    this.changed();
  }

  fail(trouble) {
    this.trouble = trouble;
    this.changed();
  }
}

function mono(decoded) {
  const all = Array.from({ length: decoded.numberOfChannels }, (_, channel) => decoded.getChannelData(channel));
  if (all.length < 2) return all[0];
  const mean = new Float32Array(decoded.length);
  for (const channel of all) for (let at = 0; at < mean.length; at++) mean[at] += channel[at] / all.length;
  return mean;
}

/** The recording of a track: the visitor's own, or the server's, or none. */
export function recordingOf(track, { audio = "", peaks = "" }) {
  const found = known.get(track);
  if (found && (found.own || found.address === audio) && !(found.trouble && !found.own)) return found;
  if (!audio) return null;
  known.set(track, new Recording({ name: "the recording", address: audio, peaks }));
  return known.get(track);
}

/** Take a file for a track. */
export function giveRecording(track, file) {
  const before = known.get(track);
  if (before && before.own) URL.revokeObjectURL(before.address);
  const made = new Recording({ name: file.name, address: URL.createObjectURL(file), file });
  known.set(track, made);
  return made;
}

/**
 * Draw the waveform between two edges.
 * @param {CanvasRenderingContext2D} context
 * @param {Recording} recording
 * @param {{timeAt: (x: number) => number, width: number}} view
 */
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

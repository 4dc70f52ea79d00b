/** What is in the samples of a recording: their peaks, and the level of each semitone over time. */

/** Samples a second of a recording that is looked at. */
export const RATE = 11025;
/** Samples of a peak, and between two frames of the spectrum. */
const BUCKET = 128;
const HOP = 512;
/** Low semitones need long windows, high ones short ones: samples, and MIDI numbers from and below. */
const BANDS = [{ size: 4096, from: 36, to: 60 }, { size: 1024, from: 60, to: 108 }];
const LOWEST = BANDS[0].from;
const ROWS = BANDS[1].to - LOWEST;
/** The MIDI number at a share of the height, from above. */
export const semitoneAt = (share) => LOWEST - 0.5 + ROWS * (1 - share);
/** Decibels below the loudest that are still seen. */
const RANGE = 60;
/** Frames of a picture. */
const TILE = 1024;

/**
 * Lowest and highest values of equal steps.
 * @typedef {{step: number, low: ArrayLike<number>, high: ArrayLike<number>, full: number}} Peaks
 * `step` in seconds; `full` is the greatest value that there can be
 */

/** @returns {Peaks} */
export function peaksOf(samples) {
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
export class Spectrum {
  /**
   * @param {Float32Array} samples
   * @param {(share: number) => number[]} shade red, green and blue of a level from 0 to 1
   */
  constructor(samples, shade) {
    this.samples = samples;
    this.frames = Math.ceil(samples.length / HOP);
    this.done = 0;
    this.tiles = [];
    this.bands = BANDS.map(prepare);
    this.loudest = samples.reduce((most, one) => Math.max(most, Math.abs(one)), 1e-6);
    this.colours = Array.from({ length: 256 }, (_, level) => shade(level / 255));
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
      const canvas = new OffscreenCanvas(TILE, ROWS);
      this.tiles[tile] = { canvas, image: new ImageData(TILE, ROWS), drawn: -1 };
    }
    const level = Math.max(0, Math.min(255, Math.round(255 * (1 + (10 * Math.log10(power + 1e-12)) / RANGE))));
    const { data } = this.tiles[tile].image;
    const at = ((ROWS - 1 - row) * TILE + (frame % TILE)) * 4;
    [data[at], data[at + 1], data[at + 2]] = this.colours[level];
    data[at + 3] = 255;
  }

  /**
   * Draw what there is.
   * @param {CanvasRenderingContext2D} context
   * @param {(time: number) => number} x of a time of the recording
   * @param {number[]} seen the times at the edges
   */
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

/** Colours that a colour-blind reader can distinguish. */

import { CONTENTS } from "./data.js";
import { colour } from "./dom.js";

const SET = CONTENTS.colours;

// Support points of cividis (Nunez, Anderton and Renslow 2018), dark to light.
const CIVIDIS = ["#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838"];

/** A colour for a share from 0 to 1, darker for less. */
export function shade(share) {
  const place = Math.max(0, Math.min(1, share)) * (CIVIDIS.length - 1);
  const low = Math.min(Math.floor(place), CIVIDIS.length - 2);
  return mix(CIVIDIS[low], CIVIDIS[low + 1], place - low);
}

const partsOf = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

/** A colour as a pixel of an image's data. */
function packed(hex) {
  const [red, green, blue] = partsOf(hex);
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/** Pixels for shares from 0 to 1 in as many steps as a byte has. */
export const PALETTE = Uint32Array.from({ length: 256 }, (_, step) => packed(shade(step / 255)));

/** Fill a canvas with a pixel for each share; what has none has the colour of nothing. */
export function paintShares(canvas, shareAt) {
  const context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, canvas.height);
  const pixels = new Uint32Array(image.data.buffer);
  const none = packed(colour("nothing"));
  for (let y = 0; y < canvas.height; y++) {
    for (let x = 0; x < canvas.width; x++) {
      const share = shareAt(x, y);
      pixels[y * canvas.width + x] = Number.isNaN(share) ? none : PALETTE[Math.round(255 * Math.max(0, Math.min(1, share)))];
    }
  }
  context.putImageData(image, 0, 0);
}

function mix(a, b, share) {
  const [from, to] = [partsOf(a), partsOf(b)];
  return `#${from.map((left, at) => Math.round(left + (to[at] - left) * share).toString(16).padStart(2, "0")).join("")}`;
}

/** A chord's colour: the hue by its root on the circle of fifths, darker where its third is minor, paler where it has none; nothing is shown by hue
 * alone, as the label is on it. */
export function chordColour(root, pitches) {
  if (root < 0) return pitches ? { fill: "#bdbdbd", ink: "#222222" } : { fill: "#dcdcdc", ink: "#222222" };
  const hue = 25 + ((root * 7) % 12) * 30;
  const minor = (pitches & 0b1000) !== 0 && (pitches & 0b10000) === 0;
  const plain = (pitches & 0b11000) === 0;
  if (minor) return { fill: `oklch(0.5 0.11 ${hue})`, ink: "#ffffff" };
  return { fill: `oklch(${plain ? 0.88 : 0.78} ${plain ? 0.05 : 0.12} ${hue})`, ink: "#111111" };
}

/** A colour for small marks on the page's ground, dark or light: no yellow, nothing pale. */
export const dotColour = (number) => SET[number % (SET.length - 1)];

/** A colour for the label of a segment, by its number among those of a track. */
export function labelColour(number) {
  const base = SET[number % SET.length];
  const round = Math.floor(number / SET.length) % 3;
  const fill = round ? mix(base, "#ffffff", 0.3 * round) : base;
  const [red, green, blue] = partsOf(fill).map((part) => part / 255).map((share) => (share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4));
  const luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  // Black or white, whichever stands out more by WCAG's contrast: at least 4.5:1 on any colour.
  return { fill, ink: (luminance + 0.05) ** 2 > 1.05 * 0.05 ? "#000000" : "#ffffff" };
}

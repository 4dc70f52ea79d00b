/** All scores at a glance: tracks across, systems down. */

import { choice, colour, el, section, sharpen, tip } from "./dom.js";
import { formatter, titleOf } from "./format.js";
import { acrossSystems, endsOf } from "./reduce.js";
import { readShown } from "./filter.js";
import { rankSystems } from "./leaderboard.js";
import { orderTracks } from "./tracks.js";
import { shade } from "./colours.js";

const ORDERS = new Map([["mean", "mean over systems"], ["spread", "spread over systems"], ["name", "name"]]);

/**
 * @param {import("./state.js").State} state
 * @param {(track: number, list: string) => void} open shows a track
 */
export async function drawHeatmap(state, open) {
  const { systems, tracks } = state.now;
  const numbers = await readShown(state);
  const across = acrossSystems(numbers, systems.length, tracks.length);
  const columns = await orderTracks(state, state.across);
  const rows = await rankSystems(state);
  const range = scoreRange(numbers.score);
  const map = { state, numbers, across, columns, rows, range, at: [0, 0], write: formatter(state.about, state.percent) };
  const canvas = el("canvas", { tabindex: "0", role: "application",
    "aria-label": "Heat map of scores: arrow keys move, Enter opens the track", "aria-describedby": "heatmap-cell" });
  const cell = el("p", { id: "heatmap-cell", class: "readout", "aria-live": "polite" }, "Point at a cell, or use the arrow keys.");
  const names = el("div", { class: "names" }, rows.map((row) => el("span", { title: systems[row] }, systems[row])));
  const frame = el("div", { class: "scroll heat", tabindex: "-1" }, canvas);
  const options = [...ORDERS, ...state.shownSystems.map((system) => [system, systems[system]])];
  const sorting = choice("Sort tracks by", options, state.across, async (value) => {
    state.across = ORDERS.has(value) ? value : Number(value);
    state.remember(true);
    map.columns = await orderTracks(state, state.across);
    way.textContent = sortedBy(state);
    paint(map, canvas, frame);
  });
  const way = el("span", { class: "onpaper" }, sortedBy(state));
  map.note = el("span", {});
  listen(map, canvas, cell, frame, open);
  const made = section("heatmap", "Tracks × systems", [`${titleOf(state.about)} of every track (across) and system (down).`, map.note],
    el("div", { class: "bar" }, sorting, legend(range, map.write), way), el("div", { class: "heatframe" }, names, frame), cell);
  const settle = () => {
    paint(map, canvas, frame);
    let width = frame.clientWidth;
    new ResizeObserver(() => {
      if (!frame.clientWidth || Math.abs(frame.clientWidth - width) <= 1) return;
      width = frame.clientWidth;
      paint(map, canvas, frame);
    }).observe(frame);
  };
  return { node: made, settle };
}

const sortedBy = ({ across, now }) => `Tracks by ${ORDERS.get(across) || now.systems[across]}.`;

function scoreRange(score) {
  const [low, high] = endsOf(score); // an infinite score is drawn as the last colour
  if (low > high) return [0, 1];
  if (low < high) return [low, high];
  return low >= 0 && low <= 1 ? [0, 1] : [low - 1, low + 1];
}

function legend([low, high], write) {
  const canvas = el("canvas", { "aria-hidden": "true", width: 120, height: 10 });
  const context = canvas.getContext("2d");
  for (let x = 0; x < 120; x++) {
    context.fillStyle = shade(x / 119);
    context.fillRect(x, 0, 1, 10);
  }
  return el("span", { class: "legend" }, write(low), canvas, write(high), el("span", { class: "none" }), "no score");
}

let palette = null;

/** Every score as one pixel of a small picture, which is then enlarged; a mean of neighbours where there are more tracks than pixels. */
function paint(map, canvas, frame) {
  const { numbers, columns, rows, range: [low, high] } = map;
  const tracks = columns.length;
  // More tracks than pixels share columns, so that none is out of sight.
  map.wide = frame.clientWidth || 600;
  const bins = Math.max(1, Math.min(tracks, map.wide));
  map.note.textContent = bins < tracks ? ` A column is the mean of up to ${Math.ceil(tracks / bins)} of the ${tracks} tracks.` : "";
  const picture = new OffscreenCanvas(bins, Math.max(1, rows.length));
  const inner = picture.getContext("2d");
  const image = inner.createImageData(picture.width, picture.height);
  const pixels = new Uint32Array(image.data.buffer);
  palette = palette || Uint32Array.from({ length: 256 }, (_, step) => packed(shade(step / 255)));
  const none = packed(colour("nothing"));
  rows.forEach((system, y) => {
    for (let x = 0; x < bins; x++) {
      const score = meanOf(columns.slice(Math.floor((x * tracks) / bins), Math.ceil(((x + 1) * tracks) / bins))
        .map((track) => numbers.score[system * map.state.now.tracks.length + track]));
      pixels[y * bins + x] = Number.isNaN(score) ? none : palette[Math.round(255 * Math.max(0, Math.min(1, (score - low) / (high - low))))];
    }
  });
  inner.putImageData(image, 0, 0);
  map.high = map.rows.length > 24 ? 14 : 22;
  const context = sharpen(canvas, map.wide, map.high * rows.length);
  context.imageSmoothingEnabled = false;
  context.drawImage(picture, 0, 0, map.wide, map.high * rows.length);
  frame.parentElement.style.setProperty("--row", `${map.high}px`);
  map.picture = picture;
  map.context = context;
}

/** The mean of those that are there. */
function meanOf(scores) {
  const known = scores.filter((score) => !Number.isNaN(score));
  return known.length ? known.reduce((sum, score) => sum + score, 0) / known.length : NaN;
}

function packed(text) {
  const parts = text.startsWith("#") ? [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16)) : text.match(/\d+/g).map(Number);
  return (255 << 24) | (parts[2] << 16) | (parts[1] << 8) | parts[0];
}

function mark(map) {
  const { context, picture, wide, high, at: [x, y], columns, rows } = map;
  context.imageSmoothingEnabled = false;
  context.drawImage(picture, 0, 0, wide, high * rows.length);
  const step = wide / columns.length;
  context.lineWidth = 2;
  context.strokeStyle = colour("ink");
  context.strokeRect(x * step - 1, y * high, Math.max(step, 3) + 2, high);
}

function linesOf(map) {
  const { state: { now }, numbers, columns, rows, at: [x, y], write } = map;
  const [track, system] = [columns[x], rows[y]];
  const score = numbers.score[system * now.tracks.length + track];
  return [now.tracks[track], `${now.systems[system]}: ${Number.isNaN(score) ? "no score" : write(score)}`,
    `mean of all systems ${write(map.across.mean[track])}`];
}

function listen(map, canvas, cell, frame, open) {
  const show = () => {
    mark(map);
    cell.replaceChildren(linesOf(map).join(" · "));
  };
  const locate = (event) => {
    const box = canvas.getBoundingClientRect();
    const x = Math.floor(((event.clientX - box.left) / box.width) * map.columns.length);
    const y = Math.floor(((event.clientY - box.top) / box.height) * map.rows.length);
    map.at = [Math.max(0, Math.min(map.columns.length - 1, x)), Math.max(0, Math.min(map.rows.length - 1, y))];
  };
  if (!map.columns.length || !map.rows.length) return;
  canvas.addEventListener("pointermove", (event) => {
    locate(event);
    mark(map);
    tip(linesOf(map), event.clientX, event.clientY);
  });
  canvas.addEventListener("pointerleave", () => tip(null));
  canvas.addEventListener("click", (event) => { locate(event); tip(null); open(map.columns[map.at[0]], "heatmap"); });
  canvas.addEventListener("focus", show);
  canvas.addEventListener("keydown", (event) => {
    const steps = new Map([["ArrowLeft", [-1, 0]], ["ArrowRight", [1, 0]], ["ArrowUp", [0, -1]], ["ArrowDown", [0, 1]],
      ["PageDown", [20, 0]], ["PageUp", [-20, 0]], ["Home", [-1e6, 0]], ["End", [1e6, 0]]]);
    const step = steps.get(event.key);
    if (event.key === "Enter") open(map.columns[map.at[0]], "heatmap");
    if (!step) return;
    event.preventDefault();
    map.at = [Math.max(0, Math.min(map.columns.length - 1, map.at[0] + step[0])),
      Math.max(0, Math.min(map.rows.length - 1, map.at[1] + step[1]))];
    const x = (map.at[0] * map.wide) / map.columns.length;
    if (x < frame.scrollLeft || x > frame.scrollLeft + frame.clientWidth - 8) frame.scrollLeft = x - frame.clientWidth / 2;
    show();
  });
}

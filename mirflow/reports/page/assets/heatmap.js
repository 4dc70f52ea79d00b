/** All scores at a glance: tracks across, systems down. */

import { packed, shade } from "./colours.js";
import { choice, colour, el, hover, letBrush, section, sharpen } from "./dom.js";
import { addChips, groupChip, rangeAround, readShown } from "./filter.js";
import { rankSystems } from "./leaderboard.js";
import { acrossSystems, count, endsOf, formatter, quantile, shortName, titleOf } from "./numbers.js";
import { orderColumns } from "./tracks.js";

const ORDERS = new Map([["mean", "mean over systems"], ["spread", "spread over systems"], ["name", "name"]]);

export async function drawHeatmap(state, open) {
  const { systems, tracks } = state.now;
  const numbers = await readShown(state);
  const rows = await rankSystems(state);
  const map = { state, numbers, rows, across: acrossSystems(numbers, systems.length, tracks.length),
    at: [0, 0], write: formatter(state.about, state.percent), note: el("span", {}), columns: [], bands: [] };
  map.canvas = el("canvas", { tabindex: "0", role: "application",
    "aria-label": "Heat map of scores: arrow keys move, Enter opens the track", "aria-describedby": "heatmap-cell" });
  const cell = el("p", { id: "heatmap-cell", class: "readout", "aria-live": "polite" }, "Point at a cell, or use the arrow keys.");
  const names = el("div", { class: "names" }, rows.map((row) => el("span", { title: systems[row] }, shortName(state.now, "systems", row))));
  map.frame = el("div", { class: "scroll heat", tabindex: "-1" }, map.canvas);
  const options = [...ORDERS, ...rows.map((system) => [system, shortName(state.now, "systems", system)])];
  const way = el("span", { class: "onpaper" });
  const bands = el("div", { class: "bands" });
  map.scale = scaleOf(numbers.score);
  const arrange = async () => {
    ({ columns: map.columns, bands: map.bands } = await orderColumns(state));
    way.textContent = `Tracks by ${ORDERS.get(state.across) || systems[state.across]}.`;
    bands.replaceChildren(...map.bands.map(({ value, start, end }) => {
      const band = el("button", { type: "button", title: `${state.by}: ${value}, ${count(end - start, "track")}`, onclick: () => state.change((now) => addChips(now, groupChip(now.by, value))) }, value);
      band.style.flex = `${end - start} 1 0`;
      return band;
    }));
  };
  await arrange();
  const sorting = choice("Sort tracks by", options, state.across, async (picked) => {
    state.across = ORDERS.has(picked) ? picked : Number(picked);
    state.remember(true);
    await arrange();
    paint(map);
  });
  listen(map, cell, open);
  const made = section("heatmap", "Tracks × systems", [`${titleOf(state.about)} of every track (across) and system (down). Drag over a part to see it alone.`, map.note], el("div", { class: "bar" }, sorting, legendOf(map.scale, map.write), way),
  el("div", { class: "heatframe" }, bands, names, map.frame), cell);
  // It fits its width to the page that it is in by then.
  made.settle = () => {
    paint(map);
    let width = map.frame.clientWidth;
    new ResizeObserver(() => {
      if (!map.frame.clientWidth || Math.abs(map.frame.clientWidth - width) <= 1) return;
      width = map.frame.clientWidth;
      paint(map);
    }).observe(map.frame);
  };
  return made;
}

let palette = null;

/** The tracks that share a column of pixels with one: more tracks than pixels share columns, so that none is out of sight. */
function binOf({ columns, bins, bands }, bin) {
  const from = Math.floor((bin * columns.length) / bins);
  // Groups do not mix.
  const last = bands.find(({ end }) => end > from)?.end ?? columns.length;
  return columns.slice(from, Math.min(last, Math.ceil(((bin + 1) * columns.length) / bins)));
}

/** Every score as one pixel of a small picture, which is then enlarged. */
function paint(map) {
  const { numbers, columns, rows, scale, canvas, frame, state: { now } } = map;
  map.wide = Math.floor(frame.getBoundingClientRect().width) || 600;
  map.bins = Math.max(1, Math.min(columns.length, map.wide));
  map.note.textContent = map.bins < columns.length ? ` A column is the mean of up to ${Math.ceil(columns.length / map.bins)} of the ${columns.length} tracks.` : "";
  const shares = Array.from({ length: map.bins }, (_, bin) => binOf(map, bin));
  const picture = new OffscreenCanvas(map.bins, Math.max(1, rows.length));
  const inner = picture.getContext("2d");
  const image = inner.createImageData(picture.width, picture.height);
  const pixels = new Uint32Array(image.data.buffer);
  palette = palette || Uint32Array.from({ length: 256 }, (_, step) => packed(shade(step / 255)));
  const none = packed(colour("nothing"));
  rows.forEach((system, y) => shares.forEach((tracks, x) => {
    const score = meanOf(tracks.map((track) => numbers.score[system * now.tracks.length + track]));
    pixels[y * map.bins + x] = Number.isNaN(score) ? none : palette[Math.round(255 * Math.max(0, Math.min(1, scale.shareOf(score))))];
  }));
  inner.putImageData(image, 0, 0);
  map.high = rows.length > 24 ? 14 : 22;
  const context = sharpen(canvas, map.wide, map.high * rows.length);
  context.imageSmoothingEnabled = false;
  context.drawImage(picture, 0, 0, map.wide, map.high * rows.length);
  frame.parentElement.style.setProperty("--row", `${map.high}px`);
  Object.assign(map, { picture, context });
}

function meanOf(scores) {
  const known = scores.filter((score) => !Number.isNaN(score));
  return known.length ? known.reduce((sum, score) => sum + score, 0) / known.length : NaN;
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
  const scoreOf = (one) => numbers.score[system * now.tracks.length + one];
  const together = binOf(map, Math.min(map.bins - 1, Math.floor((x * map.bins) / columns.length)));
  return [now.tracks[track], `${now.systems[system]}: ${Number.isNaN(scoreOf(track)) ? "no score" : write(scoreOf(track))}`,
    `mean of all systems ${write(map.across.mean[track])}`, ...(together.length > 1 ? [`its column: ${write(meanOf(together.map(scoreOf)))}, mean of n = ${together.length} tracks`] : [])];
}

/** Chips for a span of columns and one of rows; nothing of a span that is all of them. */
function chipsOf({ state: { now, about, across }, numbers, across: found, columns, bands, rows }, [from, to], [first, last]) {
  const chips = [];
  if (last > first && last - first + 1 < rows.length) chips.push(["systems", rows.slice(first, last + 1).map((row) => now.systems[row])]);
  const tracks = columns.slice(from, to + 1);
  const values = across === "mean" || across === "spread" ? found[across] : typeof across === "number" ? numbers.score.subarray(across * now.tracks.length) : null;
  const [low, high] = values ? endsOf(tracks.map((track) => values[track])) : [1, 0];
  if (tracks.length === columns.length) return chips;
  // A range of scores says more than names, unless other systems make other means.
  const ranged = low <= high && !bands.length && !chips.length;
  const of = typeof across === "number" ? `system ${now.systems[across]}` : across;
  return [...chips, ranged ? ["score", about.name, of, ...rangeAround(low, high)] : ["tracks", tracks.map((track) => now.tracks[track])]];
}

const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1], PageDown: [20, 0], PageUp: [-20, 0], Home: [-1e6, 0], End: [1e6, 0] };

function listen(map, cell, open) {
  const { canvas, frame, state } = map;
  const show = () => {
    mark(map);
    cell.replaceChildren(linesOf(map).join(" · "));
  };
  const column = (x) => Math.max(0, Math.min(map.columns.length - 1, Math.floor((x / map.wide) * map.columns.length)));
  const row = (y) => Math.max(0, Math.min(map.rows.length - 1, Math.floor(y / map.high)));
  const locate = (event) => {
    const box = canvas.getBoundingClientRect();
    map.at = [column(((event.clientX - box.left) / box.width) * map.wide), row(event.clientY - box.top)];
  };
  const look = () => open(map.columns[map.at[0]], "heatmap", { ear: map.rows[map.at[1]] });
  if (!map.columns.length || !map.rows.length) return;
  letBrush(canvas, ({ left, right, top: above, bottom }) => {
    const chips = chipsOf(map, right - left < 4 ? [0, map.columns.length - 1] : [column(left), column(right - 0.01)], [row(above), row(bottom - 0.01)]);
    if (chips.length) state.change((now) => addChips(now, ...chips));
  });
  hover(canvas, (event) => { locate(event); mark(map); return linesOf(map); }, (event) => { locate(event); look(); });
  canvas.addEventListener("focus", show);
  canvas.addEventListener("keydown", (event) => {
    if (event.key === "Enter") look();
    if (!STEPS[event.key]) return;
    event.preventDefault();
    const [right, down] = STEPS[event.key];
    map.at = [Math.max(0, Math.min(map.columns.length - 1, map.at[0] + right)), Math.max(0, Math.min(map.rows.length - 1, map.at[1] + down))];
    const x = (map.at[0] * map.wide) / map.columns.length;
    if (x < frame.scrollLeft || x > frame.scrollLeft + frame.clientWidth - 8) frame.scrollLeft = x - frame.clientWidth / 2;
    show();
  });
}

/** Scores from which on a few far ones do not take most of the colours; share of the scores at either end that have the first or the last colour. */
const [MANY, CAP] = [200, 0.05];

/** A share from 0 to 1 of the colours; the ends of the scale, and whether there are scores beyond them. */
function scaleOf(scores) {
  const known = scores.filter(Number.isFinite).sort();
  const [least, most] = endsOf(known);
  let [low, high] = known.length >= MANY ? [quantile(known, CAP), quantile(known, 1 - CAP)] : [least, most];
  if (low === high) [low, high] = [least, most];
  const capped = [low > least, high < most];
  if (!(low < high)) [low, high] = low > high || (low >= 0 && low <= 1) ? [0, 1] : [low - 1, low + 1];
  return { low, high, capped, shareOf: (score) => (score - low) / (high - low) };
}

function legendOf({ low, high, capped }, write) {
  const canvas = el("canvas", { "aria-hidden": "true", width: 120, height: 10 });
  const context = canvas.getContext("2d");
  for (let x = 0; x < 120; x++) {
    context.fillStyle = shade(x / 119);
    context.fillRect(x, 0, 1, 10);
  }
  return el("span", { class: "legend" }, `${capped[0] ? "≤ " : ""}${write(low)}`, canvas, `${capped[1] ? "≥ " : ""}${write(high)}`, el("span", { class: "none" }), "no score");
}

/** The tracks: a table of them, each of which opens its timeline, and all scores at a glance, tracks across, systems down. */

import { paintShares } from "./colours.js";
import { FETCHED } from "./data.js";
import { choice, colour, el, hover, letBrush, moreButton, nameFinder, named, opener, section, sharpen, svg, table, th, walk } from "./dom.js";
import { addChips, groupChip, rangeAround, readShown } from "./filter.js";
import { rankSystems } from "./leaderboard.js";
import { acrossSystems, byName, byNumber, count, endsOf, formatter, quantile, shortName, titleOf } from "./numbers.js";
import { becauseOf } from "./references.js";

const shown = { most: 15 };
const NAMED = 12;
export const WAYS = [["mean", "the worst first"], ["spread", "the largest spread over systems first"], ["name", "by name"]];

/** The shown tracks in an order: by `mean` or `spread` over the systems, by `name`, or by the scores of a system, its number. */
export async function orderTracks(state, by) {
  const { systems, tracks } = state.now;
  const places = [...state.shownTracks];
  const names = (a, b) => byName(tracks[a], tracks[b]) || a - b;
  if (by === "name" || state.metric < 0) return places.sort(names);
  const numbers = await readShown(state);
  const values = typeof by === "number" ? numbers.score.subarray(by * tracks.length) : acrossSystems(numbers, systems.length, tracks.length)[by];
  const sign = by === "spread" ? -1 : state.about.sign || 1;
  return places.sort((a, b) => byNumber(values[a], values[b], sign) || names(a, b));
}

/** The shown tracks as the heat map has them, group by group where they are grouped; where each group starts and ends. */
export async function orderColumns(state) {
  const [ordered, { groups }] = [await orderTracks(state, state.across), state];
  if (!groups.length) return { columns: ordered, bands: [] };
  const places = new Map(ordered.map((track, place) => [track, place]));
  let start = 0;
  const bands = groups.map(([value, members]) => ({ value: String(value), start, end: start += members.length }));
  return { columns: groups.flatMap(([, members]) => [...members].sort((a, b) => places.get(a) - places.get(b))), bands };
}

export async function drawTracks(state, open) {
  const { systems, tracks } = state.now;
  const numbers = await readShown(state);
  const across = acrossSystems(numbers, systems.length, tracks.length);
  const range = endsOf(numbers.score);
  const rows = tracks.map((name, track) => ({ name, track, mean: across.mean[track], spread: across.spread[track], strip: () => stripOf(state, numbers, track, range) }));
  const holder = el("div", {});
  const redraw = async () => {
    way.textContent = `Shown: ${WAYS.find(([name]) => name === state.listing.by)[1]}`;
    holder.replaceChildren(tableOf(state, (await orderTracks(state, state.listing.by)).map((track) => rows[track]), open, redraw));
  };
  const sorting = choice("Show", WAYS.filter(([way]) => state.shownSystems.length > 1 || way !== "spread"), state.listing.by, (value) => {
    state.listing.by = value;
    state.remember(true);
    redraw();
  });
  const way = el("span", { class: "onpaper" });
  const places = new Map(state.shownTracks.map((track) => [tracks[track], track]));
  const finder = nameFinder("tracks", [...places.keys()], { placeholder: "its name" }, (name, field) => {
    open(places.get(name), "name");
    field.value = "";
  });
  await redraw();
  return section("tracks", "Tracks", state.shownSystems.length > 1 ?
    `Mean of ${titleOf(state.about)} over the systems, and how far best and worst lie apart.` : `${titleOf(state.about)} of every track.`,
    el("div", { class: "bar" }, sorting, el("label", { class: "choice" }, el("span", {}, "Open a track"), finder), way), holder);
}

/** The scores of a track on one scale: a dot for each system, the chosen metric's best in colour. */
function stripOf(state, numbers, track, [low, high]) {
  const { systems, tracks } = state.now;
  const known = state.shownSystems.map((system) => [systems[system], numbers.score[system * tracks.length + track]]).filter(([, score]) => Number.isFinite(score));
  const place = (score) => 4 + (112 * (score - low)) / (high - low || 1);
  const ranked = known.sort(([, a], [, b]) => (state.about.sign || 1) * (b - a));
  const write = formatter(state.about, state.percent);
  const words = ranked.slice(0, NAMED).map(([name, score]) => `${name} ${write(score)}`).join(", ");
  return svg("svg", { viewBox: "0 0 120 16", class: "dots", role: "img", "aria-label": words },
    svg("title", {}, words), ranked.map(([, score], at) => svg("circle", { cx: place(score).toFixed(1), cy: 8, r: 3, class: at ? null : "top" })));
}

function tableOf(state, matching, open, redraw) {
  const { tracks, trackCoords } = state.now;
  const write = formatter(state.about, state.percent);
  const drawn = matching.slice(0, shown.most);
  const coords = trackCoords.slice(0, 4);
  const several = state.shownSystems.length > 1;
  // Where all have a timeline, or nobody knows before one is opened, nothing is said of it.
  const able = new Set(FETCHED ? [] : state.contents.timelines.map(([name]) => name));
  const some = tracks.some((name) => able.has(name));
  const heads = [th("Track", "who"), (several ? ["Mean", "Spread"] : ["Score"]).map((text) => th(text, "number")),
    several ? th("Systems", "chart") : null, coords.map(([name]) => th(name))];
  const body = drawn.map((row) => el("tr", { class: "open", onclick: () => open(row.track, "tracks") },
    el("th", { scope: "row" }, opener(named(state.now, "tracks", row.track), row.name, () => open(row.track, "tracks"), { "data-track": row.track, onkeydown: walk }), becauseOf(state, row.name), some && !able.has(row.name) ? el("small", {}, "no timeline") : null),
    el("td", { class: "number", title: row.mean }, write(row.mean)), several ? [el("td", { class: "number", title: row.spread }, write(row.spread)),
      el("td", { class: "chart" }, row.strip())] : null, coords.map(([, values]) => el("td", {}, values[row.track] ?? ""))));
  const more = moreButton(drawn.length, matching.length, () => { shown.most += 50; redraw(); }) ??
    el("p", { class: "note" }, `${count(matching.length, "track")} of ${tracks.length}`);
  const last = drawn.at(-1)?.[state.listing.by];
  const tied = state.listing.by === "name" ? 0 : matching.filter((row) => row[state.listing.by] === last).length;
  const ties = tied < 2 ? null : el("p", { class: "note" }, `${count(tied, "track")} tie at ${write(last)}: they are in the order of their names.`);
  return el("div", {}, table(heads, body), ties, more);
}

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
  const { low, high, capped } = map.scale;
  const colours = el("canvas", { "aria-hidden": "true", width: 120, height: 10 });
  paintShares(colours, (x) => x / 119);
  const legend = el("span", { class: "legend" }, `${capped[0] ? "≤ " : ""}${map.write(low)}`, colours, `${capped[1] ? "≥ " : ""}${map.write(high)}`, el("span", { class: "none" }), "no score");
  const made = section("heatmap", "Tracks × systems", [`${titleOf(state.about)} of every track (across) and system (down). Drag over a part to see it alone.`, map.note], el("div", { class: "bar" }, sorting, legend, way),
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
  paintShares(picture, (x, y) => scale.shareOf(meanOf(shares[x].map((track) => numbers.score[rows[y] * now.tracks.length + track]))));
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


/** How the scores are spread: of each system over the tracks, and of each track over the systems. */

import { shade } from "./colours.js";
import { colour, el, hover, letBrush, section, sharpen, stroke, svg } from "./dom.js";
import { addChips, rangeAround, readShown } from "./filter.js";
import { rankSystems } from "./leaderboard.js";
import { acrossSystems, endsOf, formatter, include, niceTicks, quantile, shortName, tickFormatter, titleOf, unitOf } from "./numbers.js";

const [WIDTH, ROW, BINS, MARGIN] = [640, 30, 48, 4];
/** Different values up to which they are counted, and scores up to which they are shown one by one. */
const [COUNTED, FEW] = [5, 40];

/** A row of the chart, which says beside the pointer what it shows. */
const rowOf = (text, ...marks) => hover(svg("svg", { viewBox: `${-MARGIN} 0 ${WIDTH + 2 * MARGIN} ${ROW + 2}`, preserveAspectRatio: "none", role: "img",
  "aria-label": text.join(", ") }, ...marks), () => text);

export async function drawDistributions(state) {
  const { systems, tracks } = state.now;
  const numbers = await readShown(state);
  const included = include(numbers, state.policy);
  const rows = (await rankSystems(state)).map((system) => {
    const name = systems[system];
    const values = [];
    for (let cell = system * tracks.length; cell < (system + 1) * tracks.length; cell++) if (included.counts[cell]) values.push(included.value[cell]);
    return { name, short: shortName(state.now, "systems", system), values: Float64Array.from(values).sort() };
  });
  const different = [...new Set(rows.flatMap(({ values }) => [...new Set(values)]))].sort((a, b) => a - b);
  if (different.length > 1 && different.length <= COUNTED) return countedValues(state, rows, different);
  const range = rangeOf(rows);
  const write = formatter(state.about, state.percent);
  const lines = rows.map((row) => el("div", { class: "row" }, el("span", { class: "name", title: row.name }, row.short),
    brushed(state, row.name, range, drawRow(row, range, write))));
  return section("distributions", "Distributions over tracks",
    `${titleOf(state.about)} of each track: the shape, the middle half, and the median. Drag along a row to see the tracks with such scores.`,
    el("div", { class: "ridges" }, ...lines, el("div", { class: "row" }, el("span", { class: "name" }),
      axisOf(state, range))));
}

/** A row in which a range of the scores can be dragged. */
function brushed(state, system, [low, high], node) {
  letBrush(node, ({ left, right }) => {
    const valueAt = (x) => low + (high - low) * Math.max(0, Math.min(1, ((x / node.clientWidth) * (WIDTH + 2 * MARGIN) - MARGIN) / WIDTH));
    state.change((now) => addChips(now, ["score", state.about.name, `system ${system}`, ...rangeAround(valueAt(left), valueAt(right))]));
  }, true);
  return node;
}

/** Where scores have few values: how many tracks have each, as bars side by side. */
function countedValues(state, rows, different) {
  const write = tickFormatter(state.about, state.percent, different);
  const tone = (place) => shade(different.length < 2 ? 1 : 0.15 + (0.8 * place) / (different.length - 1));
  const lines = rows.map(({ name, short, values }) => {
    const counts = different.map((value) => values.filter((one) => one === value).length);
    const parts = counts.map((many, place) => {
      const before = counts.slice(0, place).reduce((sum, one) => sum + one, 0);
      return svg("rect", { x: (WIDTH * before) / Math.max(1, values.length), width: (WIDTH * many) / Math.max(1, values.length), y: 5, height: ROW - 8, fill: tone(place) });
    });
    const text = [name, ...counts.map((many, place) => `${write(different[place])}: ${many} of ${values.length}`)];
    return el("div", { class: "row" }, el("span", { class: "name", title: name }, short), rowOf(text, ...parts));
  });
  const keys = different.map((value, place) => [svg("svg", { width: 14, height: 10, "aria-hidden": "true" }, svg("rect", { width: 14, height: 10, fill: tone(place) })), write(value)]);
  return section("distributions", "Distributions over tracks", `Share of the tracks with each value of ${titleOf(state.about)}.`,
    el("p", { class: "legend" }, keys), el("div", { class: "ridges" }, lines));
}

/** The scale below the rows, each number at its value. */
function axisOf(state, range) {
  const ticks = niceTicks(...range);
  const write = tickFormatter(state.about, state.percent, ticks);
  return el("span", { class: "ticks" }, ticks.map((value) => {
    const label = el("span", { "data-value": value }, write(value));
    label.style.left = `${(100 * (MARGIN + WIDTH * shareOf(value, range))) / (WIDTH + 2 * MARGIN)}%`;
    return label;
  }));
}

// What is infinite stands at the end.
const shareOf = (value, [low, high]) => Math.max(0, Math.min(1, (value - low) / (high - low)));

function rangeOf(rows) {
  const [low, high] = endsOf(rows.flatMap((row) => endsOf(row.values)));
  if (low > high) return [0, 1];
  if (low >= 0 && high <= 1) {
    const first = Math.min(Math.floor(low * 20) / 20, 0.95);
    return [first, Math.max(Math.ceil(high * 20) / 20, first + 0.05)];
  }
  return low === high ? [low - 1, high + 1] : [low, high];
}

function drawRow({ name, values }, range, write) {
  const share = (value) => shareOf(value, range);
  const place = (value) => WIDTH * share(value);
  const bins = new Float64Array(BINS);
  for (const value of values) bins[Math.min(BINS - 1, Math.floor(BINS * share(value)))] += 1;
  const smooth = bins.map((one, at) => (one * 2 + (bins[at - 1] ?? one) + (bins[at + 1] ?? one)) / 4);
  const top = Math.max(...smooth, 1);
  const points = Array.from(smooth, (one, at) => `${((WIDTH * (at + 0.5)) / BINS).toFixed(1)},${(ROW - 4 - (ROW - 8) * (one / top)).toFixed(1)}`);
  const [q1, q2, q3] = [0.25, 0.5, 0.75].map((share) => quantile(values, share));
  const text = [name, `median ${write(q2)}`, `middle half ${write(q1)} to ${write(q3)}`,
    `from ${write(values[0])} to ${write(values[values.length - 1])}`, `n ${values.length}`];
  const box = values.length ? [
    values.length > FEW ? svg("polygon", { points: `0,${ROW - 4} ${points.join(" ")} ${WIDTH},${ROW - 4}`, class: "shape" }) :
      Array.from(values, (value) => svg("ellipse", { cx: place(value), cy: ROW - 17, rx: 3, ry: 3, class: "one" })),
    svg("line", { x1: place(values[0]), x2: place(values[values.length - 1]), y1: ROW - 4, y2: ROW - 4, class: "whisker" }),
    // Between -Infinity and Infinity there is no quartile.
    ...([q1, q3].some(Number.isNaN) ? [] :
      [svg("rect", { x: place(q1), width: Math.max(1, place(q3) - place(q1)), y: ROW - 7, height: 6, class: "box" })]),
    ...(Number.isNaN(q2) ? [] :
      [svg("line", { x1: place(q2), x2: place(q2), y1: ROW - 10, y2: ROW + 2, class: "middle" })])] : [];
  const grid = niceTicks(...range).map((value) => svg("line", { x1: place(value), x2: place(value), y1: 0, y2: ROW + 2, class: "rail" }));
  return rowOf(text, ...grid, ...box);
}

/** Height and margins of the chart of tracks, and pixels from a point within which the pointer is at it. */
const [HIGH, ASIDE, BELOW, ABOVE, RIGHT, NEAR] = [320, 56, 40, 14, 14, 14];

/** A card of tracks by mean and spread; null of one system. */
export async function drawDifficulty(state, open) {
  const { systems, tracks } = state.now;
  if (state.shownSystems.length < 2 || state.shownTracks.length < 2) return null;
  const { mean, spread } = acrossSystems(await readShown(state), systems.length, tracks.length);
  const points = tracks.map((name, track) => ({ name, track, x: mean[track], y: spread[track] }))
    .filter(({ x, y }) => Number.isFinite(x) && Number.isFinite(y));
  if (!points.length) return null;
  const canvas = el("canvas", { class: "difficulty", role: "img",
    "aria-label": "Tracks by the mean of the systems and by the difference of best and worst; the list of tracks has the same numbers" });
  const box = el("div", { class: "difficultybox" }, canvas);
  const map = { state, points, canvas, box };
  const nearest = (event) => {
    const frame = canvas.getBoundingClientRect();
    const distance = (point) => Math.hypot(map.left(point.x) - (event.clientX - frame.left), map.top(point.y) - (event.clientY - frame.top));
    const found = points.reduce((best, point) => (distance(point) < distance(best) ? point : best));
    return distance(found) <= NEAR ? found : null;
  };
  const write = formatter(state.about, state.percent);
  hover(canvas, (event) => {
    const found = nearest(event);
    return found && [found.name, `mean ${write(found.x)}`, `spread ${write(found.y)}`];
  }, (event) => {
    const found = nearest(event);
    if (found) open(found.track, "tracks");
  });
  letBrush(canvas, ({ left, right, top, bottom }) => {
    const inside = points.filter(({ x, y }) => map.left(x) >= left && map.left(x) <= right && map.top(y) >= top && map.top(y) <= bottom);
    if (!inside.length) return;
    const chips = [["mean", "x"], ["spread", "y"]].map(([of, axis]) => ["score", state.about.name, of, ...rangeAround(...endsOf(inside.map((point) => point[axis])))]);
    state.change((now) => addChips(now, ...chips));
  });
  new ResizeObserver(() => paintDots(map)).observe(box);
  const good = state.about.sign < 0 ? "left" : "right";
  const note = state.about.sign ? `Each dot is a track. ${good === "right" ? "Right" : "Left"}: every system does well. High: the systems differ. ` +
    `Low at the ${good === "right" ? "left" : "right"}: all of them fail alike, so that the reference may be wrong. Drag over dots to see these tracks alone.` : "Each dot is a track. Drag over dots to see these tracks alone.";
  return section("difficulty", "Difficulty of the tracks", note, box);
}

/** The dots on both scales. */
function paintDots(map) {
  const { state, points, canvas, box } = map;
  const wide = box.clientWidth || 600;
  const context = sharpen(canvas, wide, HIGH);
  const range = (values) => {
    const [low, high] = endsOf(values);
    return low < high ? [low - 0.03 * (high - low), high + 0.03 * (high - low)] : [low - 0.5, low + 0.5];
  };
  const [x, y] = [range(points.map((point) => point.x)), range(points.map((point) => point.y))];
  map.left = (value) => ASIDE + ((value - x[0]) / (x[1] - x[0])) * (wide - ASIDE - RIGHT);
  map.top = (value) => HIGH - BELOW - ((value - y[0]) / (y[1] - y[0])) * (HIGH - BELOW - ABOVE);
  Object.assign(context, { font: "12px system-ui, sans-serif", lineWidth: 1, strokeStyle: colour("line") });
  for (const [ends, along] of [[x, true], [y, false]]) {
    const ticks = niceTicks(...ends).filter((value) => value >= ends[0] && value <= ends[1]);
    const write = tickFormatter(state.about, state.percent, ticks);
    Object.assign(context, { fillStyle: colour("quiet"), textAlign: along ? "center" : "right" });
    for (const value of ticks) {
      const [left, top] = [map.left(value), map.top(value)];
      stroke(context, along ? [left, ABOVE, left, HIGH - BELOW] : [ASIDE, top, wide - RIGHT, top]);
      context.fillText(write(value), ...(along ? [left, HIGH - BELOW + 15] : [ASIDE - 6, top + 4]));
    }
  }
  const unit = unitOf(state.about, state.percent);
  context.textAlign = "center";
  context.fillText(`Mean of ${titleOf(state.about)} over the systems${unit}`, (ASIDE + wide) / 2, HIGH - 6);
  context.save();
  context.translate(13, (HIGH - BELOW + ABOVE) / 2);
  context.rotate(-Math.PI / 2);
  context.fillText(`Spread${unit}`, 0, 0);
  context.restore();
  Object.assign(context, { fillStyle: colour("accent"), globalAlpha: 0.55 });
  for (const point of points) {
    context.beginPath();
    context.arc(map.left(point.x), map.top(point.y), 4, 0, 2 * Math.PI);
    context.fill();
  }
}

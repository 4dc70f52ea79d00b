/** How the scores of each system are spread over the tracks: a shape, the quartiles and the median. */

import { section, el, svg, tip } from "./dom.js";
import { formatter, niceTicks, shortName, tickFormatter, titleOf } from "./format.js";
import { rankSystems } from "./leaderboard.js";
import { shade } from "./colours.js";
import { endsOf, include, quantile } from "./reduce.js";
import { addChips, rangeAround, readShown } from "./filter.js";
import { letBrush } from "./brush.js";

const [LEFT, WIDTH, ROW, BINS, MARGIN] = [0, 640, 30, 48, 4];
/** Up to so many different values are counted. */
const COUNTED = 5;
/** Up to so many scores are shown one by one. */
const FEW = 40;

export async function drawDistributions(state) {
  const { systems, tracks } = state.now;
  const numbers = await readShown(state);
  const included = include(numbers, state.policy);
  const rows = (await rankSystems(state)).map((system) => {
    const name = systems[system];
    const values = [];
    for (let cell = system * tracks.length; cell < (system + 1) * tracks.length; cell++) {
      if (included.counts[cell]) values.push(included.value[cell]);
    }
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
      return svg("rect", { x: LEFT + (WIDTH * before) / Math.max(1, values.length), width: (WIDTH * many) / Math.max(1, values.length), y: 5, height: ROW - 8, fill: tone(place) });
    });
    const text = [name, ...counts.map((many, place) => `${write(different[place])}: ${many} of ${values.length}`)];
    return el("div", { class: "row" }, el("span", { class: "name", title: name }, short), svg("svg", {
      viewBox: `${-MARGIN} 0 ${WIDTH + 2 * MARGIN} ${ROW + 2}`, preserveAspectRatio: "none", role: "img", "aria-label": text.join(", "),
      onpointermove: (event) => tip(text, event.clientX, event.clientY), onpointerleave: () => tip(null) }, ...parts));
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
  const place = (value) => LEFT + WIDTH * share(value);
  const bins = new Float64Array(BINS);
  for (const value of values) bins[Math.min(BINS - 1, Math.floor(BINS * share(value)))] += 1;
  const smooth = bins.map((one, at) => (one * 2 + (bins[at - 1] ?? one) + (bins[at + 1] ?? one)) / 4);
  const top = Math.max(...smooth, 1);
  const points = Array.from(smooth, (one, at) => `${(LEFT + (WIDTH * (at + 0.5)) / BINS).toFixed(1)},${(ROW - 4 - (ROW - 8) * (one / top)).toFixed(1)}`);
  const [q1, q2, q3] = [0.25, 0.5, 0.75].map((share) => quantile(values, share));
  const text = [name, `median ${write(q2)}`, `middle half ${write(q1)} to ${write(q3)}`,
    `from ${write(values[0])} to ${write(values[values.length - 1])}`, `n ${values.length}`];
  const box = values.length ? [
    values.length > FEW ? svg("polygon", { points: `${LEFT},${ROW - 4} ${points.join(" ")} ${LEFT + WIDTH},${ROW - 4}`, class: "shape" }) :
      Array.from(values, (value) => svg("ellipse", { cx: place(value), cy: ROW - 17, rx: 3, ry: 3, class: "one" })),
    svg("line", { x1: place(values[0]), x2: place(values[values.length - 1]), y1: ROW - 4, y2: ROW - 4, class: "whisker" }),
    // Between -Infinity and Infinity there is no quartile.
    ...([q1, q3].some(Number.isNaN) ? [] :
      [svg("rect", { x: place(q1), width: Math.max(1, place(q3) - place(q1)), y: ROW - 7, height: 6, class: "box" })]),
    ...(Number.isNaN(q2) ? [] :
      [svg("line", { x1: place(q2), x2: place(q2), y1: ROW - 10, y2: ROW + 2, class: "middle" })])] : [];
  const grid = niceTicks(...range).map((value) => svg("line", { x1: place(value), x2: place(value), y1: 0, y2: ROW + 2, class: "rail" }));
  return svg("svg", { viewBox: `${-MARGIN} 0 ${WIDTH + 2 * MARGIN} ${ROW + 2}`, preserveAspectRatio: "none", role: "img", "aria-label": text.join(", "),
    onpointermove: (event) => tip(text, event.clientX, event.clientY), onpointerleave: () => tip(null) }, ...grid, ...box);
}

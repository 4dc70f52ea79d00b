/** Charts of scores: of each system over the tracks, of each track over the systems, and of a metric over a parameter that was swept. */

import { dotColour, shade } from "./colours.js";
import { el, hover, letBrush, section, svg, table, th } from "./dom.js";
import { addChips, rangeAround, readShown } from "./filter.js";
import { rankSystems, valuesOf } from "./leaderboard.js";
import { acrossSystems, endsOf, formatter, include, niceTicks, quantile, shortName, tickFormatter, titleOf, unitOf } from "./numbers.js";

const [WIDTH, ROW, BINS, MARGIN] = [640, 30, 48, 4];
/** Different values up to which they are counted, and scores up to which they are shown one by one. */
const [COUNTED, FEW] = [5, 40];

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
  const valueAt = (share) => range[0] + (range[1] - range[0]) * Math.max(0, Math.min(1, (share * (WIDTH + 2 * MARGIN) - MARGIN) / WIDTH));
  const lines = rows.map((row) => {
    const node = drawRow(row, range, write);
    letBrush(node, ({ left, right }) => {
      const ends = [left, right].map((x) => valueAt(x / node.clientWidth));
      state.change((now) => addChips(now, ["score", state.about.name, `system ${row.name}`, ...rangeAround(...ends)]));
    }, true);
    return el("div", { class: "row" }, el("span", { class: "name", title: row.name }, row.short), node);
  });
  const ticks = niceTicks(...range);
  const writeTick = tickFormatter(state.about, state.percent, ticks);
  const labels = ticks.map((value) => {
    const label = el("span", { "data-value": value }, writeTick(value));
    label.style.left = `${(100 * (MARGIN + WIDTH * shareOf(value, range))) / (WIDTH + 2 * MARGIN)}%`;
    return label;
  });
  return section("distributions", "Distributions over tracks",
    `${titleOf(state.about)} of each track: the shape, the middle half, and the median. Drag along a row to see the tracks with such scores.`,
    el("div", { class: "ridges" }, ...lines, el("div", { class: "row" }, el("span", { class: "name" }), el("span", { class: "ticks" }, labels))));
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
    [q1, q3].some(Number.isNaN) ? null : svg("rect", { x: place(q1), width: Math.max(1, place(q3) - place(q1)), y: ROW - 7, height: 6, class: "box" }),
    Number.isNaN(q2) ? null : svg("line", { x1: place(q2), x2: place(q2), y1: ROW - 10, y2: ROW + 2, class: "middle" })] : [];
  const grid = niceTicks(...range).map((value) => svg("line", { x1: place(value), x2: place(value), y1: 0, y2: ROW + 2, class: "rail" }));
  return rowOf(text, ...grid, ...box);
}

/** Margins of a chart with two scales, at whose right there is room for names. */
const [LEFT, TOP, BELOW] = [56, 22, 36];

/** Two scales with their lines and numbers: what gives the place of a value, and the elements. */
function axesOf([wide, high, right], [xs, writeX, titleX], [ys, writeY, titleY]) {
  const place = ([low, end], from, to) => (value) => from + ((to - from) * (value - low)) / (end - low);
  const [x, y] = [place(xs, LEFT, wide - right), place(ys, high - BELOW, TOP)];
  const ticks = ([low, end]) => niceTicks(low, end, 6).filter((tick) => tick >= low && tick <= end);
  const [across, up] = [ticks(xs), ticks(ys)];
  const [showX, showY] = [writeX(across), writeY(up)];
  const line = (x1, y1, x2, y2) => svg("line", { x1, y1, x2, y2, class: "rail" });
  return { x, y, grid: [across.map((tick) => [line(x(tick), TOP, x(tick), high - BELOW), svg("text", { x: x(tick), y: high - BELOW + 16, class: "tick" }, showX(tick))]),
    up.map((tick) => [line(LEFT, y(tick), wide - right, y(tick)), svg("text", { x: LEFT - 6, y: y(tick) + 4, class: "tick end" }, showY(tick))]),
    svg("text", { x: (LEFT + wide - right) / 2, y: high - 3, class: "tick" }, titleX), svg("text", { x: 0, y: 12, class: "tick begin" }, titleY)] };
}

const chart = ([width, height], label, ...marks) => svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", class: "curves", "aria-label": label }, ...marks);

/** Size of the chart of tracks, and room at its right. */
const MAP = [640, 320, 14];

/** A card of tracks by mean and spread; null of one system. */
export async function drawDifficulty(state, open) {
  const { systems, tracks } = state.now;
  if (state.shownSystems.length < 2 || state.shownTracks.length < 2) return null;
  const { mean, spread } = acrossSystems(await readShown(state), systems.length, tracks.length);
  const points = tracks.map((name, track) => ({ name, track, x: mean[track], y: spread[track] })).filter(({ x, y }) => Number.isFinite(x) && Number.isFinite(y));
  if (!points.length) return null;
  const write = formatter(state.about, state.percent);
  const range = (values) => {
    const [low, high] = endsOf(values);
    return low < high ? [low - 0.03 * (high - low), high + 0.03 * (high - low)] : [low - 0.5, low + 0.5];
  };
  const ticks = (values) => tickFormatter(state.about, state.percent, values);
  const unit = unitOf(state.about, state.percent);
  const { x, y, grid } = axesOf(MAP, [range(mean), ticks, `Mean of ${titleOf(state.about)} over the systems${unit}`], [range(spread), ticks, `Spread${unit}`]);
  const dots = points.map((point, at) => svg("circle", { cx: x(point.x), cy: y(point.y), r: 4, class: "dot", "data-point": at }));
  const node = chart(MAP, "Tracks by the mean of the systems and by the difference of best and worst; the list of tracks has the same numbers", grid, dots);
  const pointAt = ({ target }) => points[target.dataset.point];
  hover(node, (event) => {
    const found = pointAt(event);
    return found && [found.name, `mean ${write(found.x)}`, `spread ${write(found.y)}`];
  }, (event) => { if (pointAt(event)) open(pointAt(event).track, "tracks"); });
  letBrush(node, ({ left, right, top, bottom }) => {
    const scale = node.getBoundingClientRect().width / MAP[0];
    const inside = points.filter((point) => x(point.x) * scale >= left && x(point.x) * scale <= right && y(point.y) * scale >= top && y(point.y) * scale <= bottom);
    if (!inside.length) return;
    const chips = [["mean", "x"], ["spread", "y"]].map(([of, axis]) => ["score", state.about.name, of, ...rangeAround(...endsOf(inside.map((point) => point[axis])))]);
    state.change((now) => addChips(now, ...chips));
  });
  const [good, poor] = state.about.sign < 0 ? ["Left", "right"] : ["Right", "left"];
  const meaning = state.about.sign ? `${good}: every system does well. High: the systems differ. Low at the ${poor}: all of them fail alike, so that the reference may be wrong. ` : "";
  return section("difficulty", "Difficulty of the tracks", `Each dot is a track. ${meaning}Drag over dots to see these tracks alone.`, node);
}

/** Least values of a parameter, systems with a colour, and pixels between names of lines. */
const [LEAST, COLOURED, APART] = [3, 6, 14];
/** Size of the chart over a parameter, and room at its right. */
const CURVES = [720, 270, 150];

const bareOf = ({ name }) => name.split(/[@(]/)[0];

/** The metrics that differ from the chosen one in one parameter alone, a number, in its order; null for fewer than three. */
function sweepOf({ now, about }) {
  const family = now.metrics.map((_, place) => place).filter((place) => bareOf(now.metrics[place]) === bareOf(about));
  for (const [parameter, value] of about.parameters) {
    if (typeof value !== "number") continue;
    const rest = ({ parameters }) => JSON.stringify(parameters.filter(([name]) => name !== parameter));
    const own = (place) => now.metrics[place].parameters.find(([name]) => name === parameter)?.[1];
    const places = family.filter((place) => rest(now.metrics[place]) === rest(about) && typeof own(place) === "number").sort((a, b) => own(a) - own(b));
    if (places.length >= LEAST) return { words: parameter.replaceAll("_", " "), places, at: places.map(own) };
  }
  return null;
}

/** A card of a metric over a parameter, a line for each system, and its values; null where the chosen one was not swept. */
export async function drawTolerance(state) {
  const sweep = sweepOf(state);
  if (!sweep) return null;
  const { now, about } = state;
  const { words, at } = sweep;
  const columns = await Promise.all(sweep.places.map((place) => valuesOf(state, place, state.aggregate)));
  const lines = (await rankSystems(state)).map((system, rank) => ({ name: now.systems[system], colour: rank < COLOURED ? dotColour(rank) : null,
    values: columns.map((column) => column[system].value) }));
  const write = formatter(about, state.percent);
  const rows = lines.map(({ name, values }) => el("tr", {}, el("th", { scope: "row", title: name }, name),
    values.map((value) => el("td", { class: "number", "data-value": value }, write(value)))));
  let [low, high] = endsOf(lines.flatMap(({ values }) => values));
  if (low === high) [low, high] = [low - 0.05, high + 0.05];
  return section("tolerance", `${titleOf({ ...about, name: bareOf(about) })}${unitOf(about, state.percent)} over ${words}`, lines.length > COLOURED ? `Grey: all but the ${COLOURED} best systems.` : null,
    low > high ? el("p", { class: "note" }, "There are no values.") : curvesOf(sweep, lines, [low, high], about, state.percent), el("details", {}, el("summary", {}, "Values"),
      table([th("System", "who"), at.map((value) => th(`${words} ${value}`, "number"))], rows, { label: "Values over the parameter" })));
}

function curvesOf({ at, words }, lines, range, about, percent) {
  const { x, y, grid } = axesOf(CURVES, [[at[0], at.at(-1)], () => (value) => String(Number(value.toPrecision(6))), words], [range, (ticks) => tickFormatter(about, percent, ticks), ""]);
  const drawn = lines.map((line) => {
    const points = line.values.map((value, place) => [x(at[place]), y(value)]).filter(([, height]) => Number.isFinite(height));
    return { ...line, points, end: points.at(-1)?.[1] };
  }).filter(({ points }) => points.length);
  const named = drawn.filter(({ colour }) => colour).sort((a, b) => a.end - b.end);
  named.forEach((line, place) => { line.place = Math.max(line.end, place ? named[place - 1].place + APART : 0); });
  const line = ({ colour, points, name }) => svg("g", { class: colour ? null : "rest", fill: colour, stroke: colour }, svg("title", {}, name),
    svg("polyline", { points: points.map((point) => point.join(",")).join(" "), fill: "none" }), points.map(([cx, cy]) => svg("circle", { cx, cy, r: 2.5 })));
  return chart(CURVES, `${about.title} over ${words} of ${lines.length} systems; the values are in the table below`, grid, drawn.filter(({ colour }) => !colour).map(line), named.map(line),
    named.map(({ name, place }) => svg("text", { x: CURVES[0] - CURVES[2] + 8, y: place + 4 }, name.length > 20 ? `${name.slice(0, 19)}…` : name)));
}

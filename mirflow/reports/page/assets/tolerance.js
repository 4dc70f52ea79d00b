/** A metric over a parameter that was swept, such as the tolerance of a hit: a line for each system, and its values. */

import { dotColour } from "./colours.js";
import { el, section, svg, table, th } from "./dom.js";
import { rankSystems, valuesOf } from "./leaderboard.js";
import { endsOf, formatter, niceTicks, tickFormatter, titleOf, unitOf } from "./numbers.js";

const [LEAST, COLOURED] = [3, 6];
const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [720, 260, 56, 150, 8, 34];
/** Names of lines are so far from each other. */
const APART = 14;

const bareOf = ({ name }) => name.split(/[@(]/)[0];

/** The metrics that differ from the chosen one in one parameter alone, a number, in its order; null for fewer than three. */
function sweepOf({ now, about }) {
  const family = now.metrics.map((_, place) => place).filter((place) => bareOf(now.metrics[place]) === bareOf(about));
  for (const [parameter, value] of about.parameters) {
    if (typeof value !== "number") continue;
    const rest = ({ parameters }) => JSON.stringify(parameters.filter(([name]) => name !== parameter));
    const own = (place) => (now.metrics[place].parameters.find(([name]) => name === parameter) ?? [])[1];
    const places = family.filter((place) => rest(now.metrics[place]) === rest(about) && typeof own(place) === "number").sort((a, b) => own(a) - own(b));
    if (places.length >= LEAST) return { parameter, places, at: places.map(own) };
  }
  return null;
}

/** A card of a metric over a parameter; null where the chosen one was not swept. */
export async function drawTolerance(state) {
  const sweep = sweepOf(state);
  if (!sweep) return null;
  const { now, about } = state;
  const columns = await Promise.all(sweep.places.map((place) => valuesOf(state, place, state.aggregate)));
  const order = await rankSystems(state);
  const lines = order.map((system, rank) => ({ name: now.systems[system], colour: rank < COLOURED ? dotColour(rank) : null,
    values: columns.map((column) => column[system].value) }));
  const write = formatter(about, state.percent);
  const title = titleOf({ ...about, name: bareOf(about) });
  const words = sweep.parameter.replaceAll("_", " ");
  const heads = [th("System", "who"), sweep.at.map((value) => th(`${words} ${value}`, "number"))];
  const rows = lines.map(({ name, values }) => el("tr", {}, el("th", { scope: "row", title: name }, name),
    values.map((value) => el("td", { class: "number", "data-value": value }, write(value)))));
  return section("tolerance", `${title}${unitOf(about, state.percent)} over ${words}`, lines.length > COLOURED ? `Grey: all but the ${COLOURED} best systems.` : null,
    chartOf(sweep, lines, about, state.percent, words), el("details", {}, el("summary", {}, "Values"), table(heads, rows, { label: "Values over the parameter" })));
}

function chartOf({ at }, lines, about, percent, words) {
  let [low, high] = endsOf(lines.flatMap(({ values }) => values));
  if (low > high) return el("p", { class: "note" }, "There are no values.");
  if (low === high) [low, high] = [low - 0.05, high + 0.05];
  const x = (value) => LEFT + ((WIDTH - LEFT - RIGHT) * (value - at[0])) / (at.at(-1) - at[0]);
  const y = (value) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - (value - low) / (high - low));
  const ticks = niceTicks(low, high);
  const write = tickFormatter(about, percent, ticks);
  const steps = niceTicks(at[0], at.at(-1), 6);
  const grid = [ticks.map((tick) => [svg("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(tick), y2: y(tick), class: "rail" }),
    svg("text", { x: LEFT - 6, y: y(tick) + 4, class: "tick end" }, write(tick))]),
  steps.map((step) => svg("text", { x: x(step), y: HEIGHT - BOTTOM + 16, class: "tick" }, String(Number(step.toPrecision(6))))),
  svg("text", { x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 3, class: "tick" }, words)];
  const drawn = lines.map(({ name, colour, values }) => {
    const points = values.map((value, place) => [x(at[place]), y(value)]).filter(([, height]) => Number.isFinite(height));
    return { name, colour, points, end: points.at(-1)?.[1] };
  }).filter(({ points }) => points.length);
  const named = drawn.filter(({ colour }) => colour).sort((a, b) => a.end - b.end);
  named.forEach((line, place) => { line.place = Math.max(line.end, place ? named[place - 1].place + APART : 0); });
  const line = ({ colour, points, name }) => svg("g", { class: colour ? null : "rest", fill: colour, stroke: colour }, svg("title", {}, name),
    svg("polyline", { points: points.map((point) => point.join(",")).join(" "), fill: "none" }), points.map(([cx, cy]) => svg("circle", { cx, cy, r: 2.5 })));
  return svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", class: "curves", "aria-label": `${about.title} over ${words} of ${lines.length} systems; the values are in the table below` },
    grid, drawn.filter(({ colour }) => !colour).map(line), named.map(line),
    named.map(({ name, place }) => svg("text", { x: WIDTH - RIGHT + 8, y: place + 4 }, name.length > 20 ? `${name.slice(0, 19)}…` : name)));
}

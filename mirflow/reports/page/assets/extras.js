/** Metrics with extra dims: a table for one of them, a map of the chosen system for two. */

import { tint } from "./colours.js";
import { readFloats, readJson } from "./data.js";
import { choice, colour, el, moveBy, onRequest, section, sharpen, sortHead, table, th } from "./dom.js";
import { byName, byNumber, endsOf, formatter } from "./numbers.js";

/** A card of them; null where there are none. */
export async function drawExtras(state) {
  const { extras, systems } = state.now;
  if (!extras.length) return null;
  if (state.shown) return section("extras", extras[state.extra.metric].title, "Not shown with a filter: the page has these values of all tracks together only.");
  const { metric: at, system } = state.extra;
  const choose = (name, label, names, value) => choice(label, names.map((own, place) => [place, own]), value, (picked) => state.change((now) => {
    now.extra = { ...now.extra, [{ extra: "metric" }[name] ?? name]: Number(picked), ...(name === "extra" && { rate: 0, sorted: "" }) };
  }), name);
  const one = extras[at];
  const known = one.value !== undefined;
  const classes = one.classes.length ? await drawClasses(state, one.classes, choose) : null;
  const bar = [extras.length > 1 ? choose("extra", "Metric", extras.map(({ name }) => name), at) : null,
    known && one.dims.length === 2 ? choose("system", "System", systems, system) : null].filter(Boolean);
  const note = known ? `${one.name}: ${one.aggregate} over the tracks (${one.missing})${one.unit ? `, in ${one.unit}` : ""}.` : one.why;
  const made = known ? await drawValues(state, one, system) : null;
  return section("extras", one.title, note, classes, bar.length ? el("div", { class: "bar" }, bar) : null, made);
}

async function drawValues(state, one, system) {
  const values = await readFloats(one.value);
  const write = formatter(one, state.percent);
  if (one.dims.length === 2) return map(one, values, system, write);
  const { systems } = state.now;
  const [[dim, labels]] = one.dims;
  const body = labels.map((label, row) => el("tr", {}, el("th", { scope: "row" }, label), systems.map((_, system) => {
    const value = values[system * labels.length + row];
    return el("td", { class: "number", "data-value": value }, write(value));
  })));
  return table([th(dim, "who"), systems.map((name) => th(name, "number"))], body, { label: dim, box: "scroll tall" });
}

/** The values of the map of the chosen system, for a specification; null where there is no map. */
export async function readMap({ now, extra: { metric, system } }) {
  const { dims = [], value, unit, title, name } = now.extras[metric];
  if (value === undefined || dims.length !== 2) return null;
  const values = await readFloats(value);
  const [[down, labels], [across, columns]] = dims;
  const start = system * labels.length * columns.length;
  return { down, across, unit: unit || title, name, rows: labels.flatMap((label, y) => columns.map((other, x) => ({ [down]: label, [across]: other, value: values[start + y * columns.length + x] }))) };
}

/** A matrix: of counts each row by its shares, of scores the scores themselves. */
function map({ dims: [[down, rows], [across, columns]], score, unit }, values, system, write) {
  const from = system * rows.length * columns.length;
  const value = (y, x) => values[from + y * columns.length + x];
  const totals = rows.map((_, y) => columns.reduce((sum, _column, x) => sum + (value(y, x) || 0), 0));
  const share = (y, x) => (score ? value(y, x) : value(y, x) / totals[y]);
  const [low, high] = score ? scaleOf(values) : [0, 1];
  const tone = (y, x) => (score ? (share(y, x) - low) / (high - low) : Math.sqrt(share(y, x)));
  const named = (dim) => dim.replace(/^ref_/, "reference ").replace(/^est_/, "estimated ").replaceAll("_", " ");
  const confused = !score && down.startsWith("ref_") && across.startsWith("est_");
  const plain = (one) => (Number.isInteger(one) ? one.toLocaleString("en") : write(one));
  const shown = (y, x) => (score || !value(y, x) ? "" : confused ? String(Math.round(100 * share(y, x)) || "") : plain(value(y, x)));
  const at = [0, 0];
  const canvas = el("canvas", { tabindex: "0", role: "application", "aria-roledescription": "matrix",
    "aria-label": `${rows.length} by ${columns.length} values; arrow keys move` });
  const readout = el("p", { class: "readout", role: "status" }, `Rows: ${named(down)}. Columns: ${named(across)}. ` +
    (score ? `Colours from ${write(low)} to ${write(high)}.` : `${confused ? `Numbers are percent of a row, ${plain(totals.reduce((sum, one) => sum + one, 0))}${unit ? ` ${unit}` : ""} in all; colours` :
      "Colours"} are square roots of the shares of a row, so that the rare is seen.`));
  const layout = measure(rows, columns);
  const say = () => {
    const [y, x] = at;
    const part = !score && totals[y] > 0 ? ` (${(100 * share(y, x)).toFixed(1)} % of ${rows[y]})` : "";
    readout.textContent = `${named(down)} ${rows[y]}, ${named(across)} ${columns[x]}: ${write(value(y, x))}${unit ? ` ${unit}` : ""}${part}`;
    paint(canvas, layout, rows, columns, tone, at, shown);
  };
  listen(canvas, layout, rows.length, columns.length, at, say);
  paint(canvas, layout, rows, columns, tone, null, shown);
  return el("div", {}, el("div", { class: rows.length > 40 ? "scroll tall" : "scroll" }, canvas), readout);
}

/** Colours are the same for all systems: from 0 to 1 for ratios, else between the ends. */
function scaleOf(values) {
  const [low, high] = endsOf(values);
  return low > high || (low >= 0 && high <= 1) ? [0, 1] : [low, high > low ? high : low + 1];
}

/** Sizes of a cell and of the labels' room. */
function measure(rows, columns) {
  const context = el("canvas", {}).getContext("2d");
  context.font = "12px system-ui, sans-serif";
  const room = (labels) => Math.min(130, Math.max(0, ...labels.map((label) => context.measureText(label.slice(0, 40)).width)) + 8);
  const cell = Math.max(5, Math.min(30, Math.floor(900 / Math.max(1, columns.length))));
  return cell < 11 ? { cell, left: 0, top: 0 } : { cell, left: room(rows), top: room(columns) };
}

function paint(canvas, { cell, left, top }, rows, columns, tone, at, shown) {
  const context = sharpen(canvas, left + cell * columns.length + 2, top + cell * rows.length + 2);
  const [nothing, ink, paper, full] = ["nothing", "ink", "paper", "good"].map(colour);
  rows.forEach((_, y) => columns.forEach((_column, x) => {
    const part = tone(y, x);
    context.fillStyle = Number.isFinite(part) ? tint(part, paper, full) : nothing;
    context.fillRect(left + x * cell, top + y * cell, cell - (cell > 8 ? 1 : 0), cell - (cell > 8 ? 1 : 0));
  }));
  if (cell >= 20) {
    context.font = "10px system-ui, sans-serif";
    context.textAlign = "center";
    context.textBaseline = "middle";
    rows.forEach((_, y) => columns.forEach((_column, x) => {
      context.fillStyle = tone(y, x) > 0.8 ? paper : ink;
      context.fillText(shown(y, x), left + (x + 0.5) * cell, top + (y + 0.5) * cell, cell - 2);
    }));
  }
  context.strokeStyle = colour("line");
  context.strokeRect(left, top, cell * columns.length, cell * rows.length);
  context.fillStyle = ink;
  context.font = `${Math.min(12, cell - 2)}px system-ui, sans-serif`;
  context.textBaseline = "middle";
  if (left) {
    context.textAlign = "right";
    rows.forEach((label, y) => context.fillText(label.slice(0, 40), left - 6, top + (y + 0.5) * cell, left - 8));
    context.textAlign = "left";
    columns.forEach((label, x) => {
      context.save();
      context.translate(left + (x + 0.5) * cell, top - 6);
      context.rotate(-Math.PI / 2);
      context.fillText(label.slice(0, 40), 0, 0, top - 8);
      context.restore();
    });
  }
  if (!at) return;
  context.lineWidth = 2;
  context.strokeStyle = ink;
  context.strokeRect(left + at[1] * cell, top + at[0] * cell, cell, cell);
}

function listen(canvas, { cell, left, top }, rows, columns, at, say) {
  const put = (y, x) => {
    at[0] = Math.max(0, Math.min(rows - 1, y));
    at[1] = Math.max(0, Math.min(columns - 1, x));
    say();
  };
  if (!rows || !columns) return;
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    put(Math.floor((event.clientY - box.top - top) / cell), Math.floor((event.clientX - box.left - left) / cell));
  });
  canvas.addEventListener("focus", () => put(at[0], at[1]));
  moveBy(canvas, (x, y) => put(at[0] + y, at[1] + x));
}

/** Columns by which rows can be sorted before those of systems. */
const [LABEL, NUMBER] = ["class", "n"];

const capitalised = (text) => text.replaceAll("_", " ").replace(/^./, (first) => first.toUpperCase());
const writeRate = (value) => (value === null ? "–" : value.toFixed(3));
const many = (value) => (Number.isInteger(value) ? value.toLocaleString("en") : value.toFixed(1));

async function drawClasses(state, classes, choose) {
  const at = Math.min(state.extra.rate, classes.length - 1);
  const [kind, words, part] = classes[at];
  const holder = await onRequest(part, "Compute the intervals", async () => {
    const found = await readJson(part);
    return found.why ? [el("p", { class: "note" }, found.why)] : classTable(state, found);
  });
  const bar = classes.length > 1 ? el("div", { class: "bar" }, choose("rate", "Value", classes.map(([name]) => capitalised(name)), at)) : null;
  return el("div", { id: "classes" }, el("h3", {}, "By class"), el("p", { class: "note" }, `${capitalised(kind)}: ${words}.`), bar, holder);
}

function classTable(state, { dim, labels, n, count, how, value, low, high }) {
  const { systems } = state.now;
  const [column, turned] = state.extra.sorted.startsWith("-") ? [state.extra.sorted.slice(1), true] : [state.extra.sorted, false];
  const place = systems.indexOf(column);
  const sign = turned ? 1 : -1;
  const rows = labels.map((_, row) => row).filter((row) => value.some((own) => own[row] !== null) || n[row] > 0);
  if (column === LABEL) rows.sort((a, b) => -sign * byName(labels[a], labels[b]));
  else if (column === NUMBER) rows.sort((a, b) => byNumber(n[a], n[b], sign));
  else if (place >= 0) rows.sort((a, b) => byNumber(value[place][a], value[place][b], sign));
  const sorter = (name, text, cell) => {
    const current = name === column;
    return sortHead(name, text, cell, current ? (turned !== (name === LABEL) ? "ascending" : "descending") : "",
      () => state.change((now) => { now.extra = { ...now.extra, sorted: current && !turned ? `-${name}` : name }; }));
  };
  const heads = [sorter(LABEL, capitalised(dim), "who"), sorter(NUMBER, count, "number"),
    state.shownSystems.map((system) => sorter(systems[system], systems[system], "number"))];
  const body = rows.map((row) => el("tr", {}, el("th", { scope: "row", title: labels[row] }, labels[row]), el("td", { class: "number quiet" }, many(n[row])),
    state.shownSystems.map((system) => {
      const [own, from, to] = [value[system][row], low[system][row], high[system][row]];
      return el("td", { class: "number", "data-value": own ?? NaN, title: own === null ? null : `${own}${from === null ? "" : ` [${from}, ${to}]`}` }, writeRate(own),
        from === null ? null : el("span", { class: "interval" }, ` [${writeRate(from)}, ${writeRate(to)}]`));
    })));
  return [table(heads, body, { label: "Values by class", box: rows.length > 20 ? "scroll tall" : "scroll" }), how ? el("p", { class: "note" }, how) : null].filter(Boolean);
}

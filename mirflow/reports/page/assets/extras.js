/** Metrics with extra dims: a table for one of them, a matrix of the chosen system for two. */

import { shade } from "./colours.js";
import { readFloats, readJson } from "./data.js";
import { choice, colour, el, hover, onRequest, section, sortHead, table, th, tintedCell } from "./dom.js";
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
  if (one.dims.length === 2) return matrix(one, values, system, write);
  const { systems } = state.now;
  const [[dim, labels]] = one.dims;
  const body = labels.map((label, row) => el("tr", {}, el("th", { scope: "row" }, label), systems.map((_, system) => {
    const value = values[system * labels.length + row];
    return el("td", { class: "number", "data-value": value }, write(value));
  })));
  return table([th(dim, "who"), systems.map((name) => th(name, "number"))], body, { label: dim, box: "scroll tall" });
}

const DENSE = 60;

/** A matrix of the chosen system: counts are coloured by square roots of the shares of their row, scores by themselves, alike for all systems. */
function matrix({ dims: [[down, rows], [across, columns]], score, unit }, values, system, write) {
  const value = (y, x) => values[(system * rows.length + y) * columns.length + x];
  const totals = rows.map((_, y) => columns.reduce((sum, _column, x) => sum + (value(y, x) || 0), 0));
  const named = (dim) => dim.replace(/^ref_/, "reference ").replace(/^est_/, "estimated ").replaceAll("_", " ");
  const confused = !score && down.startsWith("ref_") && across.startsWith("est_");
  const plain = (one) => (Number.isInteger(one) ? one.toLocaleString("en") : write(one));
  const [least, most] = endsOf(values);
  const [low, high] = least > most || (least >= 0 && most <= 1) ? [0, 1] : [least, most > least ? most : least + 1];
  const share = (y, x) => (score ? (value(y, x) - low) / (high - low) : value(y, x) / totals[y]);
  const tone = (y, x) => (score ? share(y, x) : Math.sqrt(share(y, x)));
  const words = (y, x) => `${named(down)} ${rows[y]}, ${named(across)} ${columns[x]}: ${write(value(y, x))}${unit ? ` ${unit}` : ""}` +
    (!score && totals[y] > 0 ? ` (${(100 * share(y, x)).toFixed(1)} % of ${rows[y]})` : "");
  const shown = (y, x) => (score || !value(y, x) ? "" : confused ? Math.round(100 * share(y, x)) || "" : plain(value(y, x)));
  const label = `${named(down)} by ${named(across)}`;
  const made = columns.length > DENSE ? dense(label, rows.length, columns.length, tone, words) :
    table([th(named(down), "who"), columns.map((column) => th(el("span", {}, column)))], rows.map((row, y) => el("tr", {}, el("th", { scope: "row" }, row), columns.map((_, x) => tintedCell(value(y, x), tone(y, x), shown(y, x), { title: words(y, x) })))),
      { label, class: "matrix tinted", box: rows.length > 40 ? "scroll tall" : "scroll" });
  const total = totals.reduce((sum, one) => sum + one, 0);
  return el("div", {}, made, el("p", { class: "readout" }, `Rows: ${named(down)}. Columns: ${named(across)}. `, score ? `Colours from ${write(low)} to ${write(high)}.` :
    `${confused ? `Numbers are percent of a row, ${plain(total)}${unit ? ` ${unit}` : ""} in all; colours` : "Colours"} are square roots of the shares of a row, so that the rare is seen.`));
}

/** A pixel for each of very many values, enlarged. */
function dense(label, high, wide, tone, words) {
  const canvas = el("canvas", { class: "dense", role: "img", "aria-label": label, width: wide, height: high });
  const context = canvas.getContext("2d");
  for (let y = 0; y < high; y++) {
    for (let x = 0; x < wide; x++) {
      context.fillStyle = Number.isFinite(tone(y, x)) ? shade(tone(y, x)) : colour("nothing");
      context.fillRect(x, y, 1, 1);
    }
  }
  return hover(canvas, ({ offsetX, offsetY }) => [words(Math.min(high - 1, Math.floor((offsetY / canvas.clientHeight) * high)), Math.min(wide - 1, Math.floor((offsetX / canvas.clientWidth) * wide)))]);
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

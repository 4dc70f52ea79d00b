/** What goes wrong: the errors of a system by kind, each of which leads to its places, what each system loses by them, and values by class. */

import { paintShares } from "./colours.js";
import { onRequest, readFloats, readJson } from "./data.js";
import { choice, el, hinted, hover, moreButton, opener, section, sortHead, svg, table, th, tintedCell, walk } from "./dom.js";
import { rankSystems, valuesOf } from "./leaderboard.js";
import { byName, byNumber, count, endsOf, formatter, shortName, titleOf } from "./numbers.js";
import { isSuspect } from "./references.js";

const shown = { most: 12 };
/** Seconds that are seen before and after a place, and the length of the longest bar. */
const [AROUND, WIDTH] = [4, 200];

const nameOf = (state) => (state.metric < 0 ? "" : state.about.name);
/** The metric that judges, the chosen one if it does, and the part of the page with the errors by it. */
const entryOf = (state) => { const { errors = [] } = state.now; return errors.find(([rule]) => rule === nameOf(state)) || errors[0] || []; };
const rankedOf = (state) => (state.metric < 0 ? state.shownSystems : rankSystems(state));
/** The system whose errors are listed: by itself the best of those that are judged. */
const systemOf = ({ wrong }, { systems }, ranked) => (ranked.includes(wrong.of) ? wrong.of : ranked.find((place) => systems[place]?.judged) ?? ranked[0]);

/** The places of a kind, the largest first: the track, and when; those that another system has right, if one is chosen.
 * What a suspect reference makes wrong comes last. */
function placesOf(state, found, kind) {
  const { now, wrong, shown: left } = state;
  let track = 0;
  const kept = left && new Set(left.tracks);
  const places = kind.track.map((step, at) => {
    track += step;
    const length = kind.length ? kind.length[at] / 10 : 0;
    return { track: now.tracks.indexOf(found.tracks[track]), start: kind.start ? kind.start[at] / 10 : null, length,
      size: kind.count ? kind.count[at] : length, right: kind.right[at] };
  });
  return places.filter((one) => !kept || kept.has(one.track)).filter(({ right }) => wrong.right < 0 || Math.floor(right / 2 ** wrong.right) % 2 === 1)
    .map((one) => ({ ...one, doubted: isSuspect(state, now.tracks[one.track]) })).sort((a, b) => a.doubted - b.doubted || b.size - a.size);
}

/** A place as the state of a timeline. */
const momentOf = ({ track, start, length }, system) => (start === null ? { track, ear: system } :
  { track, time: start, seen: [Math.max(0, start - AROUND), start + length + AROUND], ear: system });

/** What a timeline that was opened from here goes through; null where the page has no such kind. */
export async function listPlaces(state) {
  const [, part] = entryOf(state);
  const found = part === undefined ? null : errorsOfShown(await readJson(part), state);
  const system = found ? systemOf(state, found, await rankedOf(state)) : -1;
  const kind = found?.systems[system]?.kinds.find(({ name }) => name === state.wrong.kind);
  const places = kind ? placesOf(state, found, kind) : [];
  if (!places[state.wrong.place]) return null;
  return { members: places.map((one) => momentOf(one, system)), words: `${state.now.systems[system]}: ${kind.name}, the largest first`, what: "place" };
}

/** An amount for people; what it counts is said beside it. */
const write = (value) => (value >= 100 || Number.isInteger(value) ? Math.round(value).toLocaleString("en") : value.toFixed(1));
const percent = (part, whole) => `${((100 * part) / whole).toFixed(1)} %`;
const wordOf = ({ unit }, amount) => (unit === "s" ? `${write(amount)} s` : `${write(amount)} ${unit}`);

/** A card of the errors of a system; null where nothing is judged. */
export async function drawErrors(state, open) {
  // Not every metric judges single items; a server does not know yet which does.
  const [rule, part] = entryOf(state);
  if (part === undefined) return null;
  const holder = await onRequest(part, "List what goes wrong", async () => {
    const found = errorsOfShown(await readJson(part), state);
    const ranked = await rankedOf(state);
    return found && found.systems.some((one) => one) ? listOf(state, found, systemOf(state, found, ranked), ranked, open) : [el("p", { role: "status" }, "Nothing here is judged item by item.")];
  });
  const judge = state.now.metrics.find(({ name }) => name === rule);
  return section("errors", `What goes wrong${!rule || rule === nameOf(state) ? "" : ` (by ${judge ? titleOf(judge) : rule})`}`, null, holder);
}

function listOf(state, found, system, ranked, open) {
  const { systems, metrics, trackCount, timeline } = state.now;
  const own = found.systems[system];
  const { right } = state.wrong;
  const choose = (name, label, options, value) => choice(label, options, value, (picked) => state.change((now) => { now.wrong = { ...now.wrong, [name]: Number(picked) }; }), name);
  const named = ranked.map((place) => [place, shortName(state.now, "systems", place)]);
  const others = named.filter(([place]) => place !== system && found.systems[place]);
  const compared = own && own.instead.length > 0 && others.length > 0 && found.comparable;
  const bar = el("div", { class: "bar" }, choose("of", "Errors of", named, system),
    compared ? choose("right", "Of these, what is right in", [[-1, "everything"], ...others], right) : null);
  if (!own || !own.judged) return [bar, el("p", { class: "note" }, `None of its estimates${found.narrowed ? " of these tracks" : ""} is judged.`)];
  const metric = metrics.find(({ name }) => name === found.rule);
  const chosen = compared && right >= 0 && right !== system ? right : -1;
  const both = found.unit === "s" || !["events", "notes", "hits", "boundaries"].includes(found.unit) ? "" : " of reference and estimate";
  const told = chosen < 0 ? `${percent(own.wrong, own.judged)} of ${wordOf(found, own.judged)}${both}` :
    `${wordOf(found, own.instead[chosen])} that ${systems[chosen]} has right: ${own.wrong ? percent(own.instead[chosen], own.wrong) : "0 %"} of its errors`;
  // Not all tracks in a large evaluation, nor those without it.
  const many = `${timeline.sampled && !found.narrowed ? "the " : ""}${own.tracks.toLocaleString("en")}${timeline.sampled && !found.narrowed ? " hardest" : ""}`;
  const extent = found.narrowed || own.tracks !== trackCount ? `${many} of ${count(trackCount, "track")}` : trackCount > 1 ? `all ${count(trackCount, "track")}` : "the one track";
  const suspect = found.narrowed ? 0 : state.now.causes?.suspect;
  const note = el("p", { class: "note" }, hinted(`${systems[system]}: ${told}${chosen < 0 ? (found.unit === "s" ? " is wrong" : " are wrong") : ""}, ` +
    `by ${metric ? titleOf(metric) : found.rule} on ${extent}. Click a kind to hear its longest case${timeline.hardest ? " among the tracks that have a timeline" : ""}; N and P step through the others.${
      state.shown && state.shown.tracks.length < trackCount && !found.narrowed ? ` These totals are of ${timeline.sampled ? "those" : "all"} tracks; the filter limits the places.` : ""}${suspect ? ` The reference of ${count(suspect, "track")} is suspect; what is judged by it counts here, and comes last of each kind.` : ""}`));
  const kinds = own.kinds.map((kind) => ({ ...kind, size: chosen < 0 ? kind.amount : kind.instead[chosen] })).filter(({ size }) => size > 0)
    .sort((a, b) => b.size - a.size);
  return [bar, note, kinds.length ? tableOf(state, found, system, kinds, chosen, open) : el("p", { class: "note" }, "None.")];
}

function tableOf(state, found, system, kinds, chosen, open) {
  const own = found.systems[system];
  const total = chosen < 0 ? own.wrong : own.instead[chosen];
  const [left, rest] = own.left;
  const drawn = kinds.slice(0, shown.most);
  const unit = found.unit === "s" ? "Seconds" : found.unit[0].toUpperCase() + found.unit.slice(1);
  const heads = [th(drawn.some(({ name }) => name.includes(" → ")) ? "Error: reference → system" : "Error", "who"), th(el("span", { class: "unseen" }, "chart"), "chart"), th(unit, "number"), th("Of the errors", "number"),
    chosen < 0 ? th("Tracks", "number") : null, th(found.narrowed ? "Places listed" : "Places", "number")];
  const body = drawn.map((kind) => {
    const places = placesOf(state, found, kind);
    const look = () => {
      state.wrong = { ...state.wrong, kind: kind.name, place: 0 };
      const { track, ...at } = momentOf(places[0], system);
      open(track, "errors", at);
    };
    const wide = Math.max(1, (WIDTH * kind.size) / kinds[0].size);
    return el("tr", places.length ? { class: "open", onclick: look } : {}, el("th", { scope: "row" }, places.length ? opener(kind.name, kind.name, look, { onkeydown: walk }) : kind.name),
    el("td", { class: "chart" }, svg("svg", { viewBox: `0 0 ${WIDTH} 16`, preserveAspectRatio: "none", "aria-hidden": "true", class: "amount" },
      svg("rect", { x: 0, y: 3, width: wide, height: 10 }))),
    el("td", { class: "number", "data-value": kind.size }, write(kind.size)), el("td", { class: "number quiet" }, percent(kind.size, total)),
    chosen < 0 ? el("td", { class: "number" }, kind.tracks.toLocaleString("en")) : null,
    el("td", { class: "number quiet" }, (chosen < 0 && !found.narrowed ? kind.places : places.length).toLocaleString("en")));
  });
  const more = moreButton(drawn.length, kinds.length, () => { shown.most += 50; state.notify(); });
  const others = left && chosen < 0 ? el("p", { class: "note" }, `${found.narrowed ? "Other kinds" : count(left, "more kind")}: ${wordOf(found, rest)}, ${percent(rest, own.wrong)} of the errors. ` +
    "Of each kind, the largest places are here.") : null;
  return el("div", {}, table(heads, body, { label: "Kinds of errors" }), more, others);
}

const sumOf = (values) => values.reduce((sum, value) => sum + value, 0);

/** What is wrong in the tracks that are shown; in all tracks where the page has no totals by track, and where only what another system has right is asked
 * for. */
function errorsOfShown(found, { now, shown, wrong }) {
  if (!found?.byTrack || wrong.right >= 0 || !shown || shown.tracks.length === now.tracks.length) return found;
  const names = new Set(shown.tracks.map((track) => now.tracks[track]));
  const kept = new Set(found.tracks.keys().filter((track) => names.has(found.tracks[track])));
  const amountsOf = ([steps, amounts]) => {
    let track = 0;
    return amounts.filter((_, at) => kept.has(track += steps[at]));
  };
  const systems = found.systems.map((own, place) => {
    if (!own) return own;
    const totals = found.byTrack[place];
    const judged = totals.judged.filter((amount, track) => amount !== null && kept.has(track));
    const kinds = own.kinds.map((kind, at) => {
      const amounts = amountsOf(totals.kinds[at]);
      return { ...kind, amount: sumOf(amounts), tracks: amounts.length };
    });
    const left = sumOf(amountsOf(totals.left));
    return { ...own, tracks: judged.length, judged: sumOf(judged), wrong: left + sumOf(kinds.map(({ amount }) => amount)), kinds, left: [left ? own.left[0] : 0, left] };
  });
  return { ...found, systems, narrowed: true };
}

const parameterOf = (metric, name) => (metric.parameters.find(([own]) => own === name) ?? [null, ""])[1];

/** The metric whose losses the evaluation has, or undefined. */
export function lossOf({ now: { metrics } }) {
  const first = metrics.find((metric) => parameterOf(metric, "kind"));
  return first && parameterOf(first, "of");
}

/** A card of what each system loses; null where the evaluation has no losses. */
export async function drawLosses(state) {
  const { systems, metrics } = state.now;
  const of = lossOf(state);
  const places = metrics.map((_, place) => place).filter((place) => of && parameterOf(metrics[place], "of") === of);
  const whole = metrics.findIndex(({ name }) => name === of);
  if (whole < 0) return null;
  const about = metrics[whole];
  const title = "Losses by kind of errors";
  if (!metrics[places[0]].policies.includes(state.missing)) {
    return section("losses", title, "A missing estimate has no errors to split its loss among: choose another treatment of missing scores.");
  }
  const columns = await Promise.all([whole, ...places].map((place) => valuesOf(state, place, about.standard_aggregate)));
  const rows = state.shownSystems.map((system) => ({ name: systems[system], values: columns.map((one) => one[system].value) }));
  rows.sort((a, b) => byNumber(a.values[0], b.values[0], -(about.sign || 1)));
  const note = `${titleOf(about)} of each system, and what it loses by each kind of errors: Shapley values of mending the kinds. ` +
    (about.sign < 0 ? "The shares sum to the score." : "Score and shares sum to the score of the references by themselves.");
  const write = formatter(about, state.percent);
  const most = Math.max(...rows.flatMap(({ values }) => values.slice(1)).map(Math.abs).filter(Number.isFinite)) || 1;
  const heads = [th("System", "who"), th(titleOf(about), "number"), places.map((place) => th(parameterOf(metrics[place], "kind").replaceAll("_", " "), "number"))];
  const body = rows.map(({ name, values: [score, ...shares] }) => el("tr", {}, el("th", { scope: "row", title: name }, name),
    el("td", { class: "number strong", "data-value": score }, write(score)), shares.map((value) => tintedCell(value, Math.abs(value) / most, write(value)))));
  return section("losses", title, note, table(heads, body, { label: "Losses", class: "tinted" }));
}

/** A card of metrics with extra dims: a table for one of them, a matrix of the chosen system for two; null where there are none. */
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
  const made = !known ? null : (one.dims.length === 2 ? matrix : columnsOf)(state, one, await readFloats(one.value), formatter(one, state.percent));
  return section("extras", one.title, note, classes, bar.length ? el("div", { class: "bar" }, bar) : null, made);
}

function columnsOf({ now: { systems } }, { dims: [[dim, labels]] }, values, write) {
  const body = labels.map((label, row) => el("tr", {}, el("th", { scope: "row" }, label), systems.map((_, system) => {
    const value = values[system * labels.length + row];
    return el("td", { class: "number", "data-value": value }, write(value));
  })));
  return table([th(dim, "who"), systems.map((name) => th(name, "number"))], body, { label: dim, box: "scroll tall" });
}

const DENSE = 60;

/** A matrix of the chosen system: counts are coloured by square roots of the shares of their row, scores by themselves, alike for all systems. */
function matrix({ extra: { system } }, { dims: [[down, rows], [across, columns]], score, unit }, values, write) {
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
  // A pixel for each of very many values, enlarged.
  const canvas = el("canvas", { class: "dense", role: "img", "aria-label": label, width: columns.length, height: rows.length });
  if (columns.length > DENSE) paintShares(canvas, (x, y) => (Number.isFinite(tone(y, x)) ? tone(y, x) : NaN));
  const at = (offset, size, number) => Math.min(number - 1, Math.floor((offset / size) * number));
  const made = columns.length > DENSE ? hover(canvas, ({ offsetX, offsetY }) => [words(at(offsetY, canvas.clientHeight, rows.length), at(offsetX, canvas.clientWidth, columns.length))]) :
    table([th(named(down), "who"), columns.map((column) => th(el("span", {}, column)))], rows.map((row, y) => el("tr", {}, el("th", { scope: "row" }, row), columns.map((_, x) => tintedCell(value(y, x), tone(y, x), shown(y, x), { title: words(y, x) })))),
      { label, class: "matrix tinted", box: rows.length > 40 ? "scroll tall" : "scroll" });
  const total = totals.reduce((sum, one) => sum + one, 0);
  return el("div", {}, made, el("p", { class: "readout" }, `Rows: ${named(down)}. Columns: ${named(across)}. `, score ? `Colours from ${write(low)} to ${write(high)}.` :
    `${confused ? `Numbers are percent of a row, ${plain(total)}${unit ? ` ${unit}` : ""} in all; colours` : "Colours"} are square roots of the shares of a row, so that the rare is seen.`));
}

/** Columns by which rows can be sorted before those of systems. */
const [LABEL, NUMBER] = ["class", "n"];

const capitalised = (text) => text.replaceAll("_", " ").replace(/^./, (first) => first.toUpperCase());
const writeRate = (value) => (value === null ? "–" : value.toFixed(3));
const many = (value) => (Number.isInteger(value) ? value.toLocaleString("en") : value.toFixed(1));

async function drawClasses(state, classes, choose) {
  const at = Math.min(state.extra.rate, classes.length - 1);
  const [kind, words, part] = classes[at];
  const holder = await onRequest(part, "Compute the intervals", async () => classTable(state, await readJson(part)));
  const bar = classes.length > 1 ? el("div", { class: "bar" }, choose("rate", "Value", classes.map(([name]) => capitalised(name)), at)) : null;
  return el("div", { id: "classes" }, el("h3", {}, "By class"), el("p", { class: "note" }, `${capitalised(kind)}: ${words}.`), bar, holder);
}

function classTable(state, { dim, labels, n, count, how, value, low, high, why }) {
  if (why) return [el("p", { class: "note" }, why)];
  const { systems } = state.now;
  const [column, turned] = state.extra.sorted.startsWith("-") ? [state.extra.sorted.slice(1), true] : [state.extra.sorted, false];
  const place = systems.indexOf(column);
  const sign = turned ? 1 : -1;
  const rows = labels.map((_, row) => row).filter((row) => value.some((own) => own[row] !== null) || n[row] > 0);
  if (column === LABEL) rows.sort((a, b) => -sign * byName(labels[a], labels[b]));
  else if (column === NUMBER) rows.sort((a, b) => byNumber(n[a], n[b], sign));
  else if (place >= 0) rows.sort((a, b) => byNumber(value[place][a], value[place][b], sign));
  const sorter = (name, text, cell) => sortHead(name, text, cell, { column, turned },
    (turn) => state.change((now) => { now.extra = { ...now.extra, sorted: turn ? `-${name}` : name }; }), name === LABEL);
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

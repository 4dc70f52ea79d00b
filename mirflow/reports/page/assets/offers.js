/** What each part of the report gives to take away: its table, a picture, the specification of its chart, and the command that makes it. */

import { linkTo } from "./address.js";
import { changesOf, pairOf } from "./compare.js";
import { lossOf } from "./errors.js";
import { expressionOf, labelOf, readShown, shownOf } from "./filter.js";
import { rankSystems } from "./leaderboard.js";
import { acrossSystems, include, titleOf, unitOf } from "./numbers.js";
import { FETCHED } from "./source.js";
import { SYSTEM, forestSpec, readForest, scale, specOf, takeMenu } from "./take.js";
import { orderTracks } from "./tracks.js";

const shell = (text) => (/^[\w./@+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** Most systems of which the page has the test of each two, as in data.py. */
const PAIRED = 24;

const storesOf = ({ contents }) => contents.stores.map(({ name }) => shell(`${name || contents.name}.zarr`)).join(" ");
const fileOf = (...words) => words.join("-").replace(/[^\w-]+/g, "_");

/** Options of commands for the tracks and systems that are shown: an expression, or names where no expression is the same. */
function selectionOf(state, bySystem) {
  const { contents, now, shown, filter } = state;
  const own = shown ? expressionOf(state) : "";
  const both = [contents.where, own].filter(Boolean);
  const where = both.length ? ` --where ${shell(both.length > 1 ? both.map((one) => `(${one})`).join(" and ") : both[0])}` : "";
  const named = (option, names) => names.map((name) => ` ${option} ${shell(name)}`).join("");
  const systems = bySystem && filter.some(([kind]) => kind === "systems") ? named("--systems", state.shownSystems.map((system) => now.systems[system])) : "";
  return where + systems + (own === null ? named("--tracks", shown.tracks.map((track) => now.tracks[track])) : "");
}

const mappedOf = ({ now, extra }) => now.systems[extra.system];

/** Commands about all tracks together, or about annotations. */
const WHOLE = new Map([
  ["doubts", (store, group) => `mirflow consensus ${store} -g ${group}`],
  ["causes", (store, group) => `mirflow diagnose ${store} -g ${group}`],
  ["coverage", (store, group) => `mirflow problems ${store} -g ${group}`],
  ["extras", (store, group, state) => {
    const { name, dims = [] } = state.now.extras[state.extra.metric];
    return dims.length === 2 && dims[0][0].startsWith("ref_") ? `mirflow plot ${store} confusion -g ${group} -m ${shell(name)} -s ${shell(mappedOf(state))} -o confusion.pdf` :
      `mirflow query ${store} -g ${group} -m ${shell(name)}`;
  }],
]);

const FIGURES = { distributions: "distributions", heatmap: "heatmap", alike: "agreement", tolerance: "tolerance" };

/** The command whose result a part shows; nothing where there is none. */
function commandOf(id, state) {
  const { now, about, contents } = state;
  const [store, group] = [storesOf(state), shell(now.name)];
  const whole = WHOLE.get(id);
  if (whole) return state.shown || (id === "coverage" && contents.stores.length > 1) ? "" : whole(store, group, state);
  if (state.metric < 0) return "";
  const named = `-g ${group} -m ${shell(about.name)}`;
  // The mean of a track is over the systems that have it.
  if (id === "tracks" || id === "difficulty") return `mirflow query ${store} ${named}${selectionOf(state, true)} --missing skip --by track --pivot system`;
  const selected = (bySystem) => `${selectionOf(state, bySystem)}${state.missing === state.policies[0] ? "" : ` --missing ${state.missing}`}`;
  const asked = (bySystem = true) => `${named}${selected(bySystem)}`;
  const aggregate = state.aggregate === about.standard_aggregate ? "" : ` --aggregate ${state.aggregate}`;
  if (id === "tolerance") return `mirflow plot ${store} tolerance -g ${group} -m ${shell(about.name.split(/[@(]/)[0])}${selected(true)}${aggregate} -o tolerance.pdf`;
  if (FIGURES[id]) return `mirflow plot ${store} ${FIGURES[id]} ${asked()} -o ${FIGURES[id]}.pdf`;
  if (id === "losses") return `mirflow budget ${store} -g ${group} -m ${shell(lossOf(state))}${selected(true)}`;
  if (id === "gains") {
    const [of, against] = ["of", "against"].map((name) => shell(document.querySelector(`#gains select[name=${name}] option:checked`)?.textContent || ""));
    // The page corrects for all pairs of systems; with a filter it tests the two alone.
    const pair = state.shown || now.systems.length > PAIRED ? ` -s ${of} -s ${against}` : " --all-pairs";
    return of === against ? "" : `mirflow compare ${store} ${asked(false)}${aggregate}${pair}`;
  }
  if (id !== "standings" && id !== "leaderboard") return "";
  const query = `mirflow query ${store} ${asked()}${aggregate}`;
  const groups = id === "leaderboard" && state.by ? `\n${query} --by ${shell(state.by)}` : "";
  return `${query} --ci --significance${groups}`;
}

/** The numbers of a table, as rows of what its rows are, what its columns are, and `value`. */
function cellsOf(selector, [down, across]) {
  const { tHead, tBodies } = document.querySelector(selector);
  const heads = [...tHead.rows[0].cells].map((cell) => cell.textContent.replace(/ [↑↓]$/, "").trim());
  return [...tBodies[0].rows].flatMap((row) => [...row.cells].flatMap((cell, place) =>
    (Number.isFinite(Number(cell.dataset.value ?? NaN)) && cell.dataset.value !== "" ?
      [{ [down]: row.cells[0].title || row.querySelector("th").title || row.querySelector("th").textContent, [across]: heads[place], value: Number(cell.dataset.value) }] : [])));
}

/** The rows of the table of systems, as a chart of values and intervals has them. */
const readBoard = (board) => [...board.tBodies[0].rows].map((row) => {
  const number = (text) => (text !== undefined && Number.isFinite(Number(text)) ? Number(text) : null);
  const { low, high } = row.querySelector(".interval")?.dataset ?? {};
  const relation = row.className ? "worse" : row.querySelector(".rank").textContent === "1" ? "leader" : "not told apart";
  return { system: row.querySelector("th").title, value: number(row.querySelector(".strong").dataset.value), low: number(low), high: number(high),
    relation: row.querySelector(".letters") ? relation : "" };
});

async function scoreRows(state, across) {
  const { systems, tracks } = state.now;
  const { value, counts } = include(await readShown(state), state.policy);
  const [rows, columns] = [await rankSystems(state), await orderTracks(state, across)];
  return rows.flatMap((system) => columns.map((track) => ({ system: systems[system], track: tracks[track], cell: system * tracks.length + track })))
    .filter(({ cell }) => counts[cell]).map(({ system, track, cell }) => ({ system, track, value: value[cell] }));
}

const nominal = (field) => ({ field, type: "nominal", sort: null, title: null });
const quantity = (field, title) => ({ field, type: "quantitative", title });
const bare = (field) => ({ ...nominal(field), axis: { labels: false, ticks: false } });
const tinted = (title, axis, rows, [x, y], rest = {}) => specOf(title, rows, { width: { step: 28 }, height: { step: 28 }, mark: "rect",
  encoding: { x: nominal(x), y: nominal(y), color: { ...quantity("value", axis), scale: { scheme: "cividis", ...rest } } } });
const dotted = (title, axis, rows, step, y) => specOf(title, rows, { height: { step }, mark: { type: "point", filled: true, size: 70 }, encoding: { y: nominal(y), x: scale("value", axis), color: SYSTEM } });

/** Specifications of the charts, by the part that has them. */
const SPECS = new Map([
  ["standings", (state, title, axis) => forestSpec(title, axis, readForest(document.querySelector("#standings .forest")))],
  ["leaderboard", (state, title, axis) => {
    if (!state.by) return forestSpec(title, axis, readBoard(document.querySelector("#leaderboard .board")));
    // Heads have the number of tracks, too.
    const names = new Map([...document.querySelectorAll("#groups thead th")].map((cell) => [cell.textContent.trim(), cell.querySelector("button")?.firstChild.textContent]));
    return dotted(`${title}, by ${state.by}`, axis, cellsOf("#groups", ["system", "group"]).map((row) => ({ ...row, group: names.get(row.group) })), 24, "group");
  }],
  ["tolerance", (state, title, axis) => {
    const cells = cellsOf("#tolerance table", ["system", "head"]);
    return specOf(title, cells.map(({ system, head, value }) => ({ system, parameter: Number(head.split(" ").at(-1)), value })), { width: 560, height: 260, mark: { type: "line", point: true },
      encoding: { x: quantity("parameter", cells[0].head.replace(/ \S+$/, "")), y: scale("value", axis), color: SYSTEM } });
  }],
  ["losses", (state, title) => specOf(title, cellsOf("#losses table", ["system", "part"]), { height: { step: 24 }, mark: "bar",
    encoding: { y: SYSTEM, x: quantity("value", null), color: nominal("part"), order: { field: "index", type: "quantitative" } }, transform: [{ window: [{ op: "row_number", as: "index" }] }] })],
  ["errors", (state, title) => {
    const rows = cellsOf("#errors table", ["kind", "unit"]);
    return specOf(title, rows, { height: { step: 20 }, mark: { type: "bar", color: "#b84508" }, encoding: { y: { ...nominal("kind"), axis: { labelLimit: 300 } }, x: quantity("value", rows[0].unit) } });
  }],
  ["alike", (state, title) => tinted(title, "Pearson’s correlation", cellsOf("#alike table", ["system", "other"]), ["other", "system"])],
  ["extras", (state, title) => {
    const { dims = [], unit, title: words } = state.now.extras[state.extra.metric];
    if (dims.length !== 2 || !document.querySelector("#extras .matrix")) return dotted(title, null, cellsOf("#extras table", ["class", "system"]), 20, "class");
    const fields = dims.map(([dim]) => dim);
    return tinted(`${title}, ${mappedOf(state)}`, unit || words, cellsOf("#extras .matrix", fields), fields.toReversed(), { type: "sqrt" });
  }],
  ["distributions", async (state, title, axis) => specOf(title, await scoreRows(state, "name"), { height: { step: 28 }, mark: { type: "boxplot", extent: "min-max" },
    encoding: { y: SYSTEM, x: scale("value", axis) } })],
  ["heatmap", async (state, title, axis) => specOf(title, await scoreRows(state, state.across), { width: 900, height: { step: 20 }, mark: "rect",
    encoding: { x: bare("track"), y: SYSTEM, color: { ...quantity("value", axis), scale: { scheme: "cividis" } } } })],
  ["gains", async (state, title, axis) => {
    const { systems, tracks } = state.now;
    const [of, against] = await pairOf(state);
    const gains = changesOf(include(await readShown(state), state.policy), of, against, tracks.length, state.about.sign);
    return specOf(`${systems[of]} against ${systems[against]}`, gains.map(([track, gain]) => ({ track: tracks[track], gain })), { width: 900, mark: "bar",
      encoding: { x: bare("track"), y: quantity("gain", `gain in ${axis}`), color: { condition: { test: "datum.gain > 0", value: "#0067a3" }, value: "#b84508" } } });
  }],
  ["difficulty", async (state, title, axis) => {
    const { systems, tracks } = state.now;
    const { mean, spread } = acrossSystems(await readShown(state), systems.length, tracks.length);
    return specOf(title, tracks.map((track, at) => ({ track, mean: mean[at], spread: spread[at] })), { width: 640, height: 320, mark: "point",
      encoding: { x: scale("mean", `Mean of ${axis} over the systems`), y: scale("spread", "Spread"), tooltip: [{ field: "track", type: "nominal" }] } });
  }],
]);

/** A reference for what is shown: the software, and which numbers it computed. */
function citationOf({ contents, now, metric, shown }) {
  // The signature is of all tracks.
  const found = shown ? null : now.inference.find(([one]) => one === metric);
  const signature = found && found[1].signature ? `, ${found[1].signature}` : "";
  return contents.citation.replace(/\}$/, `  note = {Results of ${contents.name}, ${now.name}${signature}},\n}`);
}

/** HTML that shows a part alone, by its place in the page that has it. */
function frameOf(state, { id, offsetHeight }, title) {
  const before = state.part;
  state.part = id;
  const address = linkTo(state);
  state.part = before;
  const [source, name] = [address, title].map((text) => text.replaceAll("&", "&amp;").replaceAll('"', "&quot;"));
  return `<iframe src="${source}" title="${name}" width="100%" height="${offsetHeight + 60}" style="border: 0"></iframe>`;
}

/** What a part has that draws numbers. */
const CHARTS = ".forest, .ridges, .heatframe, .gains, .board, .curves, .amount, [style*='--share'], #extras td[data-value]";

export function offerCopies(state) {
  const { contents, now } = state;
  const axis = state.metric < 0 ? "" : `${titleOf(state.about)}${unitOf(state.about, false)}`;
  const filtered = state.shown ? ` Only ${shownOf(state)}: ${state.filter.map((chip) => labelOf(state, chip)).join("; ")}.` : "";
  for (const part of document.querySelectorAll("#main section, #standings")) {
    part.querySelector(":scope > details.take")?.remove();
    const heading = part.querySelector("h2")?.textContent || axis;
    // What can be clicked in a page cannot in a picture.
    const notes = [...part.querySelectorAll(":scope > .note, :scope > .lead, :scope > .forest > caption")].map((note) => [...note.childNodes].map((one) => (one instanceof Element && one.matches(".hint") ? "" : one.textContent)).join("").trim());
    const spec = SPECS.get(part.id);
    const title = `${heading}: ${now.name}, ${contents.name}`;
    const menu = takeMenu(part, { title, caption: notes.join(" ") + filtered, source: `mirflow ${contents.mirflow}`, name: fileOf(now.name, part.id),
      spec: spec && part.querySelector(CHARTS) ? () => spec(state, title, axis) : null,
      command: commandOf(part.id, state), citation: citationOf(state), frame: FETCHED ? null : () => frameOf(state, part, title) });
    if (menu) part.append(menu);
  }
}

/** The menu of the timeline of a track, whose visible lanes are what is taken. */
export function timelineMenu({ state, track, found, chosen }, view) {
  const { contents, now } = state;
  const name = now.tracks[track];
  const judged = found.rules[chosen.rule];
  const ends = () => [view.from, Math.min(view.to, view.whole)].map((time) => Number(time.toFixed(3)));
  const command = contents.stores.length > 1 ? "" : () => `mirflow plot ${storesOf(state)} timeline -g ${shell(now.name)}${judged ? ` -m ${shell(judged)}` : ""} -t ${shell(name)} ` +
    `--from ${ends()[0]} --to ${ends()[1]} -o ${shell(`${fileOf(name)}.pdf`)}`;
  return takeMenu(view.node, { title: `${name}: ${now.name}, ${contents.name}`, caption: "", source: `mirflow ${contents.mirflow}`,
    name: fileOf(now.name, name), command, citation: citationOf(state) });
}

/** Chips: conditions on tracks and systems, the numbers of those for which all of them hold, and the form that adds one. */

import { readScores } from "./data.js";
import { choice, el } from "./dom.js";
import { MISSING, POLICIES, acrossSystems, byName, count, formatter, niceTicks, titleOf } from "./numbers.js";

/*
 * A chip is an array, as links have it:
 *   ["find", text]                       names or metadata contain a text
 *   ["is", coordinate, values]           one of some values; "" is none
 *   ["from", coordinate, low, high]      a number between two, null where there is no end
 *   ["score", metric, of, low, high]     of: mean or spread over the systems that are shown, or "system NAME"
 *   ["tracks", names], ["systems", names]
 */

const column = ({ trackCoords }, name) => trackCoords.find(([own]) => own === name)?.[1];
const isList = (values) => Array.isArray(values) && values.length > 0 && values.every((one) => typeof one === "string");
const isRange = (low, high) => [low, high].every((end) => end === null || Number.isFinite(end)) && !(low === null && high === null) && (low === null || high === null || low <= high);

const FITS = new Map([
  ["find", (_, text) => typeof text === "string" && text !== ""],
  ["is", (now, name, values) => column(now, name) !== undefined && isList(values)],
  ["from", (now, name, low, high) => column(now, name)?.some((one) => typeof one === "number") && isRange(low, high)],
  ["score", (now, metric, of, low, high) => now.metrics.some(({ name }) => name === metric) &&
    ["mean", "spread", ...now.systems.map((name) => `system ${name}`)].includes(of) && isRange(low, high)],
  ["tracks", (now, names) => isList(names) && names.some((name) => now.tracks.includes(name))],
  ["systems", (now, names) => isList(names) && names.some((name) => now.systems.includes(name))],
]);

/** Whether a chip means something in an evaluation; where scores by track are not shown, none does. */
export const fits = (now, chip) => now.tracks.length > 0 && Array.isArray(chip) && Boolean(FITS.get(chip[0])?.(now, ...chip.slice(1)));

/** What a chip is about: another one about the same takes its place. */
const subjectOf = ([kind, ...rest]) => JSON.stringify([kind === "is" ? "from" : kind, ...rest.slice(0, { is: 1, from: 1, score: 2, find: 1 }[kind] ?? 0)]);

/** Add chips, each in the place of one about the same. */
export function addChips(state, ...chips) {
  for (const chip of chips) {
    const place = state.filter.findIndex((own) => subjectOf(own) === subjectOf(chip));
    state.filter = place < 0 ? [...state.filter, chip] : state.filter.with(place, chip);
  }
}

/** The chip of a group of tracks, by its value as groups are named. */
export const groupChip = (by, value) => ["is", by, [value === "(none)" ? "" : String(value)]];

/** A range whose ends have few digits, and which holds what is between two values. */
export function rangeAround(low, high) {
  const digits = Math.max(0, Math.min(12, 3 - Math.floor(Math.log10(Math.max(high - low, 1e-9)))));
  const factor = 10 ** digits;
  return [Math.floor(low * factor + 1e-6) / factor, Math.ceil(high * factor - 1e-6) / factor];
}

const between = (low, high, write = String) => (low === null ? `at most ${write(high)}` : high === null ? `at least ${write(low)}` :
  low === high ? write(low) : `${write(low)} to ${write(high)}`);

export function labelOf(state, [kind, ...rest]) {
  const named = (name) => name.replaceAll("_", " ");
  if (kind === "find") return `“${rest[0]}”`;
  if (kind === "is") return `${named(rest[0])}: ${rest[1].map((value) => value || "(none)").join(" or ")}`;
  if (kind === "from") return `${named(rest[0])}: ${between(rest[1], rest[2])}`;
  if (kind === "systems") return `${state.shownSystems.length} of ${count(state.now.systems.length, "system")}`;
  if (kind === "tracks") return `${count(rest[0].length, "track")} by name`;
  const [metric, of, low, high] = rest;
  const about = state.now.metrics.find(({ name }) => name === metric);
  const whose = of.startsWith("system ") ? of.slice(7) : `${of} over systems`;
  const write = (value) => formatter(about, state.percent)(value).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
  return `${titleOf(about)}, ${whose}: ${between(low, high, write)}`;
}

async function marksOf(now, systems, [kind, ...rest]) {
  const within = (values, low, high) => now.tracks.map((_, track) => typeof values[track] === "number" &&
    !(values[track] < (low ?? -Infinity) || values[track] > (high ?? Infinity) || Number.isNaN(values[track])));
  if (kind === "find") {
    const wanted = rest[0].toLowerCase();
    return now.tracks.map((name, track) => name.toLowerCase().includes(wanted) ||
      now.trackCoords.some(([, values]) => String(values[track] ?? "").toLowerCase().includes(wanted)));
  }
  if (kind === "is") return column(now, rest[0]).map((value) => rest[1].includes(String(value ?? "")));
  if (kind === "from") return within(column(now, rest[0]), rest[1], rest[2]);
  if (kind === "tracks") {
    const names = new Set(rest[0]);
    return now.tracks.map((name) => names.has(name));
  }
  const [metric, of, low, high] = rest;
  const place = now.metrics.findIndex(({ name }) => name === metric);
  const numbers = await readScores(now, place);
  if (of.startsWith("system ")) {
    const start = now.systems.indexOf(of.slice(7)) * now.tracks.length;
    return within(numbers.score.subarray(start, start + now.tracks.length), low, high);
  }
  const cells = mask(now, numbers, systems, now.tracks.map((_, track) => track));
  return within(acrossSystems(cells, now.systems.length, now.tracks.length)[of], low, high);
}

export async function applyFilter(state) {
  const { now, filter, evaluation } = state;
  const key = JSON.stringify([evaluation, filter]);
  if (state.shown?.key === key) return;
  if (!filter.length) return void (state.shown = null);
  const named = filter.find(([kind]) => kind === "systems");
  const systems = now.systems.map((_, system) => system).filter((system) => !named || named[1].includes(now.systems[system]));
  const marks = await Promise.all(filter.filter(([kind]) => kind !== "systems").map((chip) => marksOf(now, systems, chip)));
  const tracks = now.tracks.map((_, track) => track).filter((track) => marks.every((own) => own[track]));
  state.shown = { key, systems, tracks, numbers: new Map() };
}

/** What the numbers are of, in a phrase: "31 of 912 tracks, 4 of 12 systems"; nothing where there is no filter. */
export function shownOf({ shown, now }) {
  if (!shown) return "";
  const parts = [[shown.tracks, now.tracks, "track"], [shown.systems, now.systems, "system"]];
  return parts.filter(([own, all], place) => !place || own.length < all.length)
    .map(([own, all, word]) => `${own.length.toLocaleString("en")} of ${count(all.length, word)}`).join(", ");
}

/** Scores, weights and flags of a metric; cells that the filter hides have none and count under no policy. */
export async function readShown(state, metric = state.metric, aggregate = "") {
  const { now, shown } = state;
  const numbers = await readScores(now, metric, aggregate);
  if (!shown) return numbers;
  if (!shown.numbers.has(numbers)) shown.numbers.set(numbers, mask(now, numbers, shown.systems, shown.tracks));
  return shown.numbers.get(numbers);
}

function mask({ tracks: names, policies }, { score, weight, duration, flags }, systems, tracks) {
  const found = { score: new Float64Array(score.length).fill(NaN), weight, duration, flags: new Uint8Array(flags.length) };
  const common = policies.includes("common") ? 1 << (POLICIES + policies.indexOf("common")) : 0;
  for (const track of tracks) {
    // Under `common` a track counts if all systems have it: these, not those that are hidden.
    const shared = systems.every((system) => !(flags[system * names.length + track] & MISSING));
    for (const system of systems) {
      const cell = system * names.length + track;
      found.score[cell] = score[cell];
      found.flags[cell] = flags[cell] & ~common | (shared && !Number.isNaN(score[cell]) ? common : 0);
    }
  }
  return found;
}

/** Characters of an expression that commands take. */
const LONGEST = 10_000;
/** Words that are no names in an expression. */
const KEYWORDS = new Set(["and", "or", "not", "in", "is", "None", "True", "False", "if", "else", "for", "from", "class", "def", "import", "lambda", "with", "as", "pass", "return", "while", "global", "col"]);
const quoted = (text) => JSON.stringify(text);
const spelled = (name) => (/^[A-Za-z_]\w*$/.test(name) && !KEYWORDS.has(name) ? name : `col(${quoted(name)})`);
/** Chips that an expression says, too. */
const isTyped = ([kind]) => ["is", "from", "tracks"].includes(kind);

function partOf(now, [kind, name, ...rest]) {
  if (kind === "tracks") return `track in [${name.map(quoted).join(", ")}]`;
  if (kind === "from") return [rest[0], spelled(name), rest[1]].filter((one) => one !== null).join(" <= ");
  const [, values, truth] = now.trackCoords.find(([own]) => own === name);
  const write = !truth && values.some((value) => typeof value === "string") ? quoted : String;
  const named = rest[0].filter((value) => value !== "");
  return [named.length ? `${spelled(name)} in [${named.map(write).join(", ")}]` : "",
    named.length < rest[0].length ? `${spelled(name)} is None` : ""].filter(Boolean).join(" or ");
}

/** All chips about tracks as an expression of `--where`; null where they cannot be one. */
export function expressionOf({ now, filter }) {
  const parts = filter.filter(isTyped).map((chip) => partOf(now, chip));
  const whole = parts.length > 1 ? parts.map((part) => `(${part})`).join(" and ") : parts.join("");
  return whole.length <= LONGEST && filter.every((chip) => isTyped(chip) || chip[0] === "systems") ? whole : null;
}

/** Whether the form is open, and what it is about. */
const draft = { open: false, field: "find" };
/** Values of a coordinate up to which they can be ticked; of more, a text finds them. */
const TICKED = 60;

export function drawFilter(state) {
  const change = (action) => state.change(action).then(() => document.querySelector("[name='add filter']")?.focus());
  const chips = state.filter.map((chip, place) => {
    const label = labelOf(state, chip);
    return el("li", {}, el("span", {}, label), el("button", { type: "button", "aria-label": `Remove the filter ${label}`,
      onclick: () => change((now) => { now.filter = now.filter.filter((_, at) => at !== place); }) }, "×"));
  });
  const box = el("details", { class: "counted", name: "bar", open: draft.open, ontoggle: () => {
    draft.open = box.open;
    box.querySelector("form")?.remove();
    if (!box.open) return;
    box.append(formOf(state, change));
    box.querySelector("select").focus();
  }, onkeydown: (event) => {
    if (event.key !== "Escape") return;
    box.open = false;
    box.firstElementChild.focus();
  } }, el("summary", { class: "size", name: "add filter", title: "Filter the tracks and systems" }, count(state.now.trackCount, "track")));
  const without = state.dropped.length ? ` Without ${state.dropped.join("; ")}: this evaluation has no such tracks or systems.` : "";
  const words = state.shown ? `${shownOf(state)} shown. The numbers below are of ${state.shown.tracks.length === 1 ? "this track" : "these tracks"}.${state.now.errors?.some(([, , byTrack]) => !byTrack) ? " The totals of errors are of all tracks." : ""}` : "";
  return el("div", { id: "filter", role: "group", "aria-label": "Filter" }, box, chips.length ? el("ul", { class: "filters", "aria-label": "Filters" }, chips) : null,
    chips.length > 1 ? el("button", { type: "button", onclick: () => change((now) => { now.filter = []; }) }, "Remove all") : null,
    el("span", { class: "status", role: "status" }, `${words}${without}`.trim()));
}

const isNumeric = (values) => values.some((value) => typeof value === "number");
const distinct = (values) => [...new Set(values.map((value) => String(value ?? "")))].sort(byName);

function formOf(state, change) {
  const { now } = state;
  const coords = now.trackCoords.filter(([, values]) => isNumeric(values) || distinct(values).length <= TICKED).map(([name]) => [`coord ${name}`, name.replaceAll("_", " ")]);
  const fields = [["find", "Name or metadata"], ...coords, ["score", "Score"], ...(now.systems.length > 1 ? [["systems", "Systems"]] : [])];
  if (!fields.some(([name]) => name === draft.field)) draft.field = "find";
  const wrong = el("span", { class: "status", role: "alert" });
  const inputs = el("span", { class: "inputs" });
  let read = () => null;
  const fill = () => {
    const [kind, name] = [draft.field.split(" ")[0], draft.field.slice(6)];
    const values = kind === "coord" ? now.trackCoords.find(([own]) => own === name)[1] : [];
    const text = el("input", { type: "search", name: "filter text" });
    const made = kind === "find" ? { nodes: [el("label", { class: "choice" }, el("span", {}, "Contains"), text)],
      read: () => (text.value.trim() ? ["find", text.value.trim()] : "Enter a text.") } : kind === "score" ? scoreInputs(state) : kind === "systems" ?
      ticks("Systems", now.systems.map((own) => [own, own]), (names) => ["systems", names], chosenOf(state, "systems")[0]) : isNumeric(values) ?
        rangeInputs(values.filter((value) => value !== null), 1, (low, high) => ["from", name, low, high]) :
        ticks(name, distinct(values).map((value) => [value, `${value || "(none)"} (${values.filter((own) => String(own ?? "") === value).length})`]),
          (chosen) => ["is", name, chosen], chosenOf(state, "is", name)[0]);
    inputs.replaceChildren(...made.nodes);
    wrong.textContent = "";
    read = made.read;
  };
  fill();
  return el("form", { onsubmit: (event) => {
    event.preventDefault();
    const chip = read();
    if (typeof chip === "string") wrong.textContent = chip;
    else {
      draft.open = false;
      change((one) => addChips(one, chip));
    }
  } }, choice("Filter by", fields, draft.field, (value) => {
    draft.field = value;
    fill();
  }, "filter field"), inputs, el("button", { type: "submit", class: "play" }, "Apply"), wrong);
}

/** What is chosen by a chip already. */
const chosenOf = (state, kind, name = null) => (state.filter.find((chip) => chip[0] === kind && (name === null || chip[1] === name)) ?? []).slice(name === null ? 1 : 2);

function ticks(legend, options, make, chosen = []) {
  const boxes = options.map(([value, text]) => [value, text, el("input", { type: "checkbox", checked: chosen.includes(value) })]);
  const ticked = () => boxes.filter(([, , box]) => box.checked).map(([value]) => value);
  return { nodes: [el("fieldset", {}, el("legend", {}, legend), boxes.map(([, text, box]) => el("label", {}, box, el("span", {}, text))))],
    read: () => (ticked().length ? make(ticked()) : "Tick at least one.") };
}

/** Two ends in the numbers that the page shows; `factor` times the stored ones. */
function rangeInputs(values, factor, make) {
  const shown = niceTicks(Math.min(...values) * factor, Math.max(...values) * factor, 3);
  const [from, to] = [shown[0], shown.at(-1)].map((placeholder) => el("input", { type: "number", step: "any", placeholder }));
  const endOf = (input) => (input.value === "" ? null : Number(input.value) / factor);
  return { nodes: [["At least", from], ["At most", to]].map(([label, input]) => el("label", { class: "choice" }, el("span", {}, label), input)),
    read: () => {
      const [low, high] = [endOf(from), endOf(to)];
      if (low === null && high === null) return "Enter at least one number.";
      return low !== null && high !== null && low > high ? "The first number is larger than the second." : make(low, high);
    } };
}

function scoreInputs(state) {
  const { now } = state;
  const metric = choice("Metric", now.metrics.map((about) => [about.name, titleOf(about)]), state.about.name, () => {});
  const several = now.systems.length > 1 ? [["mean", "mean over systems"], ["spread", "spread over systems"]] : [];
  const of = choice("Of", [...several, ...now.systems.map((name) => [`system ${name}`, name])], "mean", () => {});
  const [name, whose] = [metric, of].map((made) => made.querySelector("select"));
  const factor = () => (state.percent && now.metrics.find((about) => about.name === name.value).unit === "" ? 100 : 1);
  const ends = rangeInputs([0, factor()], 1, (low, high) => ["score", name.value, whose.value, ...[low, high].map((end) => (end === null ? null : end / factor()))]);
  return { nodes: [metric, of, ...ends.nodes], read: ends.read };
}

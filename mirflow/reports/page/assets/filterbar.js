/** The chips of the filter, what they leave, and the form that adds one. */

import { choice, el } from "./dom.js";
import { byName, niceTicks, titleOf } from "./format.js";
import { addChips, labelOf, shownOf } from "./filter.js";

/** Whether the form is open, and what it is about. */
const draft = { open: false, field: "find" };
/** Values of a coordinate up to which they can be ticked; of more, a text finds them. */
const TICKED = 60;

/** @param {import("./state.js").State} state */
export function drawFilter(state) {
  const focus = (name) => document.querySelector(`#filter [name="${name}"]`)?.focus();
  const change = (action) => state.change(action).then(() => focus("add filter"));
  const chips = state.filter.map((chip, place) => {
    const label = labelOf(state, chip);
    return el("li", {}, el("span", {}, label), el("button", { type: "button", "aria-label": `Remove the filter ${label}`,
      onclick: () => change((now) => { now.filter = now.filter.filter((_, at) => at !== place); }) }, "×"));
  });
  const holder = el("div", { id: "filter", role: "group", "aria-label": "Filter" });
  const toggle = (open) => {
    draft.open = open;
    holder.replaceWith(drawFilter(state));
    focus(open ? "filter field" : "add filter");
  };
  const without = state.dropped.length ? ` Without ${state.dropped.join("; ")}: this evaluation has no such tracks or systems.` : "";
  const words = state.shown ? `${shownOf(state)} shown. The numbers below are of ${state.shown.tracks.length === 1 ? "this track" : "these tracks"}.${state.now.errors?.some(([, , byTrack]) => !byTrack) ? " The totals of errors are of all tracks." : ""}` : "";
  holder.append(...[chips.length ? el("ul", { class: "filters", "aria-label": "Filters" }, chips) : null,
    el("button", { type: "button", name: "add filter", "aria-expanded": String(draft.open), onclick: () => toggle(!draft.open) }, "Filter …"),
    chips.length > 1 ? el("button", { type: "button", onclick: () => change((now) => { now.filter = []; }) }, "Remove all") : null,
    el("span", { class: "status", role: "status" }, `${words}${without}`.trim()),
    draft.open ? formOf(state, toggle, change) : null].filter(Boolean));
  return holder;
}

/** Kinds of conditions that the evaluation has: [value, text]. */
function fieldsOf({ now }) {
  const coords = now.trackCoords.filter(([, values]) => isNumeric(values) || distinct(values).length <= TICKED)
    .map(([name]) => [`coord ${name}`, name.replaceAll("_", " ")]);
  return [["find", "Name or metadata"], ...coords, ["score", "Score"], ...(now.systems.length > 1 ? [["systems", "Systems"]] : [])];
}

const isNumeric = (values) => values.some((value) => typeof value === "number");
const distinct = (values) => [...new Set(values.map((value) => String(value ?? "")))].sort(byName);

function formOf(state, toggle, change) {
  const { now } = state;
  const fields = fieldsOf(state);
  if (!fields.some(([name]) => name === draft.field)) draft.field = "find";
  const wrong = el("span", { class: "status", role: "alert" });
  const inputs = el("span", { class: "inputs" });
  let read = () => null;
  const fill = () => {
    const [kind, name] = [draft.field.split(" ")[0], draft.field.slice(6)];
    const values = kind === "coord" ? now.trackCoords.find(([own]) => own === name)[1] : [];
    const made = kind === "find" ? textInput() : kind === "score" ? scoreInputs(state) : kind === "systems" ?
      ticks("Systems", now.systems.map((own) => [own, own]), (names) => ["systems", names], chosenOf(state, "systems")[0]) : isNumeric(values) ?
        rangeInputs(values.filter((value) => value !== null), 1, (low, high) => ["from", name, low, high]) :
        ticks(name, distinct(values).map((value) => [value, `${value || "(none)"} (${values.filter((own) => String(own ?? "") === value).length})`]),
          (chosen) => ["is", name, chosen], chosenOf(state, "is", name)[0]);
    inputs.replaceChildren(...made.nodes);
    wrong.textContent = "";
    read = made.read;
  };
  fill();
  const field = choice("Filter by", fields, draft.field, (value) => {
    draft.field = value;
    fill();
  });
  field.querySelector("select").setAttribute("name", "filter field");
  return el("form", { onsubmit: (event) => {
    event.preventDefault();
    const chip = read();
    if (typeof chip === "string") wrong.textContent = chip;
    else {
      draft.open = false;
      change((one) => addChips(one, chip));
    }
  }, onkeydown: (event) => { if (event.key === "Escape") toggle(false); } }, field, inputs, el("button", { type: "submit", class: "play" }, "Apply"),
  el("button", { type: "button", onclick: () => toggle(false) }, "Close"), wrong);
}

/** What is chosen by a chip already. */
const chosenOf = (state, kind, name = null) => (state.filter.find((chip) => chip[0] === kind && (name === null || chip[1] === name)) ?? []).slice(name === null ? 1 : 2);

function textInput() {
  const input = el("input", { type: "search", name: "filter text" });
  return { nodes: [el("label", { class: "choice" }, el("span", {}, "Contains"), input)],
    read: () => (input.value.trim() ? ["find", input.value.trim()] : "Enter a text.") };
}

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

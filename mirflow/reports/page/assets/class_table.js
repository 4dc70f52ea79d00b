/** Values of classes and tags with their intervals: a row for each class, a column for each system. */

import { choice, el, onRequest, table } from "./dom.js";
import { byName, byNumber } from "./format.js";
import { readJson } from "./data.js";

/** Columns by which rows can be sorted before those of systems. */
const [LABEL, NUMBER] = ["class", "n"];

const title = (text) => text.replaceAll("_", " ").replace(/^./, (first) => first.toUpperCase());
const write = (value) => (value === null ? "–" : value.toFixed(3));
const many = (value) => (Number.isInteger(value) ? value.toLocaleString("en") : value.toFixed(1));

/**
 * @param {import("./state.js").State} state
 * @param {any[][]} classes names, words and parts of the values
 * @param {(name: string, made: HTMLElement) => HTMLElement} named gives a choice its name
 * @param {(value: string) => void} choose another value
 */
export async function drawClasses(state, classes, named, choose) {
  const at = Math.min(state.extra.rate, classes.length - 1);
  const [kind, words, part] = classes[at];
  const holder = await onRequest(part, "Compute the intervals", async () => {
    const found = await readJson(part);
    return found.why ? [el("p", { class: "note" }, found.why)] : tableOf(state, found);
  });
  const bar = classes.length > 1 ? el("div", { class: "bar" }, named("rate", choice("Value", classes.map(([name], place) => [place, title(name)]), at, choose))) : null;
  return el("div", { id: "classes" }, el("h3", {}, "By class"), el("p", { class: "note" }, `${title(kind)}: ${words}.`), bar, holder);
}

function tableOf(state, { dim, labels, n, count, how, value, low, high }) {
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
    const turn = () => state.change((now) => { now.extra = { ...now.extra, sorted: current && !turned ? `-${name}` : name }; })
      .then(() => document.querySelector(`#classes [data-sort="${CSS.escape(name)}"]`)?.focus());
    return el("th", { scope: "col", class: cell, "aria-sort": current ? (turned !== (name === LABEL) ? "ascending" : "descending") : "none" },
      el("button", { type: "button", "data-sort": name, onclick: turn }, `${text}${current ? (turned !== (name === LABEL) ? " ↑" : " ↓") : ""}`));
  };
  const heads = [sorter(LABEL, title(dim), "who"), sorter(NUMBER, count, "number"),
    state.shownSystems.map((system) => sorter(systems[system], systems[system], "number"))];
  const body = rows.map((row) => el("tr", {}, el("th", { scope: "row", title: labels[row] }, labels[row]), el("td", { class: "number quiet" }, many(n[row])),
    state.shownSystems.map((system) => {
      const [own, from, to] = [value[system][row], low[system][row], high[system][row]];
      return el("td", { class: "number", "data-value": own ?? NaN, title: own === null ? null : `${own}${from === null ? "" : ` [${from}, ${to}]`}` }, write(own),
        from === null ? null : el("span", { class: "interval" }, ` [${write(from)}, ${write(to)}]`));
    })));
  return [table(heads, body, { label: "Values by class", box: rows.length > 20 ? "scroll tall" : "scroll" }), how ? el("p", { class: "note" }, how) : null].filter(Boolean);
}

/** Charts with a table of their numbers, as specifications of Vega-Lite: the cells are the data. */

import { SYSTEM, scale, specOf } from "./specs.js";

/** The numbers of a table, as rows of what its rows are, what its columns are, and `value`. */
function cellsOf(table, [down, across]) {
  const heads = [...table.tHead.rows[0].cells].map((cell) => cell.textContent.replace(/ [↑↓]$/, "").trim());
  return [...table.tBodies[0].rows].flatMap((row) => [...row.cells].flatMap((cell, place) =>
    (Number.isFinite(Number(cell.dataset.value ?? NaN)) && cell.dataset.value !== "" ?
      [{ [down]: row.cells[0].title || row.querySelector("th").title || row.querySelector("th").textContent, [across]: heads[place], value: Number(cell.dataset.value) }] : [])));
}

/** The rows of the table of systems, as a chart of values and intervals has them. */
export const readBoard = (board) => [...board.tBodies[0].rows].map((row) => {
  const number = (text) => (text !== undefined && Number.isFinite(Number(text)) ? Number(text) : null);
  const { low, high } = row.querySelector(".interval")?.dataset ?? {};
  const relation = row.className ? "worse" : row.querySelector(".rank").textContent === "1" ? "leader" : "not told apart";
  return { system: row.querySelector("th").title, value: number(row.querySelector(".strong").dataset.value), low: number(low), high: number(high),
    relation: row.querySelector(".letters") ? relation : "" };
});

const nominal = (field) => ({ field, type: "nominal", sort: null, title: null });
const table = (part) => document.querySelector(`#${part} table`);
const tinted = (title, axis, rows, [x, y], rest = {}) => specOf(title, rows, { width: { step: 28 }, height: { step: 28 }, mark: "rect",
  encoding: { x: nominal(x), y: nominal(y), color: { field: "value", type: "quantitative", title: axis, scale: { scheme: "cividis", ...rest } } } });

/** Values over a parameter that was swept. */
export function toleranceSpec(title, axis) {
  const cells = cellsOf(table("tolerance"), ["system", "head"]);
  const words = cells[0].head.replace(/ \S+$/, "");
  const rows = cells.map(({ system, head, value }) => ({ system, parameter: Number(head.split(" ").at(-1)), value }));
  return specOf(title, rows, { width: 560, height: 260, mark: { type: "line", point: true }, encoding: { x: { field: "parameter", type: "quantitative", title: words },
    y: scale("value", axis), color: SYSTEM } });
}

/** Scores and what is lost by each kind of errors. */
export const lossesSpec = (title) => specOf(title, cellsOf(table("losses"), ["system", "part"]), { height: { step: 24 }, mark: "bar",
  encoding: { y: SYSTEM, x: { field: "value", type: "quantitative", title: null }, color: nominal("part"), order: { field: "index", type: "quantitative" } },
  transform: [{ window: [{ op: "row_number", as: "index" }] }] });

/** Kinds of errors. */
export const errorsSpec = (title) => {
  const rows = cellsOf(table("errors"), ["kind", "unit"]);
  return specOf(title, rows, { height: { step: 20 }, mark: { type: "bar", color: "#b84508" },
    encoding: { y: { ...nominal("kind"), axis: { labelLimit: 300 } }, x: { field: "value", type: "quantitative", title: rows[0].unit } } });
};

/** Correlations of systems. */
export const alikeSpec = (title) => tinted(title, "Pearson’s correlation", cellsOf(table("alike"), ["system", "other"]), ["other", "system"]);

/** Values of groups of tracks, whose heads have their number of tracks. */
export function groupsSpec(title, axis) {
  const numbers = new Map([...document.querySelectorAll("#groups thead th")].map((cell) => [cell.textContent.trim(), cell.querySelector("button")?.firstChild.textContent]));
  const rows = cellsOf(document.querySelector("#groups"), ["system", "group"]).map((row) => ({ ...row, group: numbers.get(row.group) }));
  return specOf(title, rows, { height: { step: 24 }, mark: { type: "point", filled: true, size: 70 }, encoding: { y: nominal("group"), x: scale("value", axis), color: SYSTEM } });
}

/** Values of a metric with extra dims: of two, `value`s of rows and columns. */
export const matrixSpec = (title, { rows, down, across, unit }) => tinted(title, unit, rows, [across, down], { type: "sqrt" });

/** Values with one extra dim, or of classes. */
export const classesSpec = (title) => specOf(title, cellsOf(document.querySelector("#extras table"), ["class", "system"]), { height: { step: 20 }, mark: { type: "point", filled: true },
  encoding: { y: nominal("class"), x: scale("value", null), color: SYSTEM } });

/** Charts as specifications of Vega-Lite, with their data. */

const SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json";
export const SYSTEM = { field: "system", type: "nominal", sort: null, title: null };
const TRACK = { field: "track", type: "nominal", sort: null, title: null };

/** Numbers that JSON has no word for are null. */
export const specOf = (title, values, rest) => JSON.stringify({ $schema: SCHEMA, title, data: { values }, ...rest }, null, 1);
export const scale = (field, title) => ({ field, type: "quantitative", title, scale: { zero: false } });

/** Values with intervals, as rows of `system`, `value`, `low`, `high`, `relation`. */
export function forestSpec(title, axis, rows) {
  const relation = { field: "relation", type: "nominal", title: null, sort: ["leader", "not told apart", "worse"] };
  return specOf(title, rows, { height: { step: 24 }, encoding: { y: SYSTEM, color: relation }, layer: [
    { mark: "rule", encoding: { x: scale("low", axis), x2: { field: "high" } } },
    { mark: { type: "point", filled: true, size: 70 }, encoding: { x: scale("value", axis) } }] });
}

/** The rows of a chart of standings in a page. */
export function readForest(table) {
  const number = (text) => (text === undefined || text === "" ? null : Number(text));
  return [...table.querySelectorAll("tbody tr:not(.rest)")].map((row) => {
    const [value, ends] = [row.querySelector("td.strong data"), row.querySelector("td.ends")];
    const shown = value ? value.dataset.value ?? value.textContent : row.querySelector("td.strong").textContent;
    // Ends of differences are drawn from the leader's value on.
    const end = (text) => (number(text) === null ? null : number(text) + Number(ends.dataset.from ?? 0));
    return { system: row.querySelector("th").title || row.querySelector("th").textContent, value: Number.isNaN(Number(shown)) ? null : number(shown),
      low: end(ends?.dataset.low), high: end(ends?.dataset.high), relation: row.querySelector("td.test")?.firstChild?.textContent || "" };
  });
}

/** Scores as rows of `system`, `track`, `value`: their spread. */
export const spreadSpec = (title, axis, rows) => specOf(title, rows, { height: { step: 28 }, mark: { type: "boxplot", extent: "min-max" },
  encoding: { y: SYSTEM, x: scale("value", axis) } });

/** The same as a map of colours. */
export const mapSpec = (title, axis, rows) => specOf(title, rows, { width: 900, height: { step: 20 }, mark: "rect", encoding: {
  x: { ...TRACK, axis: { labels: false, ticks: false } }, y: SYSTEM,
  color: { field: "value", type: "quantitative", title: axis, scale: { scheme: "cividis" } } } });

/** Gains of tracks, as rows of `track`, `gain`. */
export const gainsSpec = (title, axis, rows) => specOf(title, rows, { width: 900, mark: "bar", encoding: {
  x: { ...TRACK, axis: { labels: false, ticks: false } }, y: { field: "gain", type: "quantitative", title: axis },
  color: { condition: { test: "datum.gain > 0", value: "#0067a3" }, value: "#b84508" } } });

/** Tracks by mean and spread. */
export const difficultySpec = (title, axis, rows) => specOf(title, rows, { width: 640, height: 320, mark: "point", encoding: {
  x: scale("mean", `Mean of ${axis} over the systems`), y: scale("spread", "Spread"), tooltip: [{ field: "track", type: "nominal" }] } });

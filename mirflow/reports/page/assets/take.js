/** Tables and charts to take away: as text, as pictures, as a specification, or by the command that makes them. */

import { copyText, el, linkNote, notice, save } from "./dom.js";
import { takePicture, toPng, toSvg } from "./picture.js";

const LONG = 150;

/** What a cell says: the exact number behind it, or its text. */
function textOf(cell, exact) {
  const number = cell.matches("[data-value]") ? cell : cell.querySelector("data[data-value]");
  if (exact && number) return number.dataset.value;
  if (cell.matches("[data-name]")) return cell.dataset.name;
  const copy = cell.cloneNode(true);
  for (const part of copy.querySelectorAll("[data-name]")) part.textContent = part.dataset.name;
  for (const part of copy.querySelectorAll("svg, small, select, .often")) part.remove();
  return copy.textContent.replace(/\s+/g, " ").trim();
}

/** The rows of a table without columns that only draw, each as [cell, text]. */
function cellRows(table, exact = false) {
  const rows = [...table.querySelectorAll("tr")].map((row) => [...row.children].filter((cell) => !cell.classList.contains("chart"))
    .map((cell) => [cell, textOf(cell, exact)]));
  // An arrow in a head says which way it is sorted.
  return rows.map((row, place) => (place ? row : row.map(([cell, text]) => [cell, text.replace(/ [↑↓]$/, "")])));
}

export const quotedCsv = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

const SPECIAL = new Map([["\\", "\\textbackslash{}"], ["~", "\\textasciitilde{}"], ["^", "\\textasciicircum{}"], ["–", "--"], ["−", "$-$"], ["∞", "$\\infty$"]]);
const escapedLatex = (text) => text.replace(/[\\~^–−∞]|[&%$#_{}]/g, (one) => SPECIAL.get(one) || `\\${one}`);

const isBold = ([cell, text]) => text !== "" && cell.matches("td") && Number(getComputedStyle(cell).fontWeight) >= 600;

/** Forms of a table as text. */
const FORMS = {
  // The ends of an interval have a column each.
  CSV: (table) => {
    const [head, ...body] = cellRows(table, true);
    const bounded = head.map((_, place) => body.some((row) => row[place]?.[0].dataset.low !== undefined));
    const heads = head.flatMap(([, text], place) => (bounded[place] ? [`${text}, low`, `${text}, high`] : [text]));
    const rows = body.map((row) => row.flatMap(([{ dataset }, text], place) => (bounded[place] ? [dataset.low ?? "", dataset.high ?? ""] : [text])));
    return [heads, ...rows].map((row) => row.map(quotedCsv).join(",")).join("\n");
  },
  Markdown: (table) => {
    const [head, ...body] = cellRows(table).map((row) => `| ${row.map(([, text]) => text.replaceAll("|", "\\|")).join(" | ")} |`);
    return [head, head.replace(/[^|]+/g, "---"), ...body].join("\n");
  },
  LaTeX: (table, caption) => {
    const rows = cellRows(table);
    // A column that is bold throughout tells no row from another.
    const telling = rows[0].map((_, place) => rows.slice(1).some((row) => row[place] && !isBold(row[place])));
    const write = (one, place) => (telling[place] && isBold(one) ? `\\textbf{${escapedLatex(one[1])}}` : escapedLatex(one[1]));
    const [head, ...body] = rows.map((row) => `${row.map(write).join(" & ")} \\\\`);
    const columns = [...table.querySelectorAll("thead tr:first-child > *")].filter((cell) => !cell.classList.contains("chart"))
      .map((cell) => (cell.classList.contains("number") ? "r" : "l")).join("");
    return ["\\begin{table}", "\\centering", `\\caption{${escapedLatex(caption)}}`, `\\begin{tabular}{${columns}}`, "\\toprule", head, "\\midrule", ...body,
      "\\bottomrule", "\\end{tabular}", "\\end{table}"].join("\n");
  },
};

/** The menu of what can be taken of a part of a page; null where there is nothing to take. */
export function takeMenu(part, { title, caption, source, name, spec = null, command = "", citation = "", frame = null }) {
  const tables = () => [...part.querySelectorAll("table")];
  const pictured = part.querySelectorAll("tr").length <= LONG && part.querySelector("table, svg, canvas") !== null;
  if (!command && !tables().length && !pictured) return null;
  const status = notice();
  const picture = () => takePicture(part, { title, caption, source });
  const button = (label, action, what) => el("button", { type: "button", title: what, onclick: action }, label);
  const copies = (label, make, what, saying) => button(label, async () => copyText(await make(), status, saying), what);
  const keep = (data, ending, type) => {
    save(data, `${name}.${ending}`, type);
    status.say(`Saved ${name}.${ending}`);
  };
  const items = [
    ...(tables().length ? Object.entries(FORMS).map(([label, write]) => copies(label, () => tables().map((table) => write(table, title)).join("\n\n"), `Copy the table as ${label}`, `Copied as ${label}`)) : []),
    pictured && button("SVG", () => keep(toSvg(picture()), "svg", "image/svg+xml"), "Save as a picture with lines and text"),
    pictured && button("PNG", async () => keep(await toPng(picture()), "png", "image/png"), "Save as a picture of pixels"),
    spec && copies("Vega-Lite", spec, "Copy the chart as a specification of Vega-Lite with its data", "Copied as Vega-Lite"),
    frame && copies("Embed", frame, "Copy HTML that shows it inside of another page", `Copied as HTML${linkNote()}`),
    command && copies("Command", typeof command === "string" ? () => command : command, "Copy the command that makes it", "Copied the command"),
    citation && copies("Cite", () => citation, "Copy a reference in BibTeX", "Copied as BibTeX")];
  return el("details", { class: "take", name: "take", onkeydown: (event) => { if (event.key === "Escape") event.currentTarget.open = false; } }, el("summary", { title: "Copy or save" }, el("span", { class: "unseen" }, "Copy or save"), el("span", { "aria-hidden": "true" }, "⤓")), el("span", { class: "bar" }, items.filter(Boolean), status.node));
}

const SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json";
export const SYSTEM = { field: "system", type: "nominal", sort: null, title: null };

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

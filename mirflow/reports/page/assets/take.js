/** Tables and charts to take away: as text, as pictures, as a specification, or by the command that makes them. */

import { el } from "./dom.js";
import { takePicture, toPng, toSvg } from "./picture.js";

/** Rows above which a table has no picture. */
const LONG = 150;

/** What a cell says: the exact number behind it, or its text. */
function textOf(cell, exact) {
  const number = cell.matches("[data-value]") ? cell : cell.querySelector("data[data-value]");
  if (exact && number) return number.dataset.value;
  if (exact && cell.dataset.low !== undefined) return `[${cell.dataset.low}, ${cell.dataset.high}]`;
  const copy = cell.cloneNode(true);
  for (const part of copy.querySelectorAll("svg, small")) part.remove();
  return copy.textContent.replace(/\s+/g, " ").trim();
}

/** The rows of a table without columns that only draw. */
function rowsOf(table, exact) {
  const rows = [...table.querySelectorAll("tr")].map((row) => [...row.children].filter((cell) => !cell.classList.contains("chart"))
    .map((cell) => textOf(cell, exact)));
  // An arrow in a head says which way it is sorted.
  return rows.map((row, place) => (place ? row : row.map((text) => text.replace(/ [↑↓]$/, ""))));
}

const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
const csv = (table) => rowsOf(table, true).map((row) => row.map(quoted).join(",")).join("\n");

function markdown(table) {
  const [head, ...body] = rowsOf(table, false).map((row) => `| ${row.map((text) => text.replaceAll("|", "\\|")).join(" | ")} |`);
  return [head, head.replace(/[^|]+/g, "---"), ...body].join("\n");
}

const SPECIAL = new Map([["\\", "\\textbackslash{}"], ["~", "\\textasciitilde{}"], ["^", "\\textasciicircum{}"], ["–", "--"], ["−", "$-$"], ["∞", "$\\infty$"]]);
const escaped = (text) => text.replace(/[\\~^–−∞]|[&%$#_{}]/g, (one) => SPECIAL.get(one) || `\\${one}`);

function latex(table) {
  const [head, ...body] = rowsOf(table, false).map((row) => `${row.map(escaped).join(" & ")} \\\\`);
  const columns = [...table.querySelectorAll("thead tr:first-child > *")].filter((cell) => !cell.classList.contains("chart"))
    .map((cell) => (cell.classList.contains("number") ? "r" : "l")).join("");
  return [`\\begin{tabular}{${columns}}`, "\\toprule", head, "\\midrule", ...body, "\\bottomrule", "\\end{tabular}"].join("\n");
}

const FORMS = [["CSV", csv], ["Markdown", markdown], ["LaTeX", latex]];

/** Save a file that was made here. */
function save(data, name, type) {
  const address = URL.createObjectURL(new Blob([data], { type }));
  el("a", { href: address, download: name }).click();
  window.setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/**
 * The menu of what can be taken of a part of a page.
 * @param {Element} part
 * @param {{title: string, caption: string, source: string, name: string, spec?: (() => string|Promise<string>)|null, command?: string|(() => string), citation?: string, frame?: (() => string)|null}} about
 * @returns {Element|null} null where there is nothing to take
 */
export function takeMenu(part, { title, caption, source, name, spec = null, command = "", citation = "", frame = null }) {
  const tables = () => [...part.querySelectorAll("table")];
  const pictured = part.querySelectorAll("tr").length <= LONG && part.querySelector("table, svg, canvas") !== null;
  if (!command && !tables().length && !pictured) return null;
  const status = el("span", { class: "status", role: "status" });
  const field = el("textarea", { readonly: true, rows: 4, "aria-label": "Text to copy", hidden: true });
  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
      status.textContent = "Copied";
      window.setTimeout(() => { status.textContent = ""; }, 2000);
    } catch {
      field.hidden = false;
      field.value = text;
      field.select();
    }
  };
  const picture = () => takePicture([part], { title, caption, source });
  const button = (label, action, what) => el("button", { type: "button", title: what, onclick: action }, label);
  const copies = (label, make, what) => button(label, async () => copy(await make()), what);
  const items = [
    ...(tables().length ? FORMS.map(([label, write]) => copies(label, () => tables().map(write).join("\n\n"), `Copy the table as ${label}`)) : []),
    pictured && button("SVG", () => save(toSvg(picture()), `${name}.svg`, "image/svg+xml"), "Save as a picture with lines and text"),
    pictured && button("PNG", async () => save(await toPng(picture()), `${name}.png`, "image/png"), "Save as a picture of pixels"),
    spec && copies("Vega-Lite", spec, "Copy the chart as a specification of Vega-Lite with its data"),
    frame && copies("Embed", frame, "Copy HTML that shows it inside of another page"),
    command && copies("Command", typeof command === "string" ? () => command : command, "Copy the command that makes it"),
    citation && copies("Cite", () => citation, "Copy a reference in BibTeX")];
  return el("details", { class: "take" }, el("summary", {}, "Take away"), el("span", { class: "bar" }, items.filter(Boolean), status), field);
}

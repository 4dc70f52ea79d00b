/** Tables and charts to take away: as text, as pictures, as a specification, or by the command that makes them. */

import { el, linkNote, notice } from "./dom.js";
import { takePicture, toPng, toSvg } from "./picture.js";

/** Rows above which a table has no picture. */
const LONG = 150;

/** What a cell says: the exact number behind it, or its text. */
function textOf(cell, exact) {
  const number = cell.matches("[data-value]") ? cell : cell.querySelector("data[data-value]");
  if (exact && number) return number.dataset.value;
  if (cell.matches("[data-name]")) return cell.dataset.name;
  const copy = cell.cloneNode(true);
  for (const part of copy.querySelectorAll("[data-name]")) part.textContent = part.dataset.name;
  for (const part of copy.querySelectorAll("svg, small, select")) part.remove();
  return copy.textContent.replace(/\s+/g, " ").trim();
}

/** The rows of a table without columns that only draw, each as [cell, text]. */
function rowsOf(table, exact = false) {
  const rows = [...table.querySelectorAll("tr")].map((row) => [...row.children].filter((cell) => !cell.classList.contains("chart"))
    .map((cell) => [cell, textOf(cell, exact)]));
  // An arrow in a head says which way it is sorted.
  return rows.map((row, place) => (place ? row : row.map(([cell, text]) => [cell, text.replace(/ [↑↓]$/, "")])));
}

const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** The ends of an interval have a column each. */
function csv(table) {
  const [head, ...body] = rowsOf(table, true);
  const bounded = head.map((_, place) => body.some((row) => row[place]?.[0].dataset.low !== undefined));
  const heads = head.flatMap(([, text], place) => (bounded[place] ? [`${text}, low`, `${text}, high`] : [text]));
  const rows = body.map((row) => row.flatMap(([{ dataset }, text], place) => (bounded[place] ? [dataset.low ?? "", dataset.high ?? ""] : [text])));
  return [heads, ...rows].map((row) => row.map(quoted).join(",")).join("\n");
}

function markdown(table) {
  const [head, ...body] = rowsOf(table).map((row) => `| ${row.map(([, text]) => text.replaceAll("|", "\\|")).join(" | ")} |`);
  return [head, head.replace(/[^|]+/g, "---"), ...body].join("\n");
}

const SPECIAL = new Map([["\\", "\\textbackslash{}"], ["~", "\\textasciitilde{}"], ["^", "\\textasciicircum{}"], ["–", "--"], ["−", "$-$"], ["∞", "$\\infty$"]]);
const escaped = (text) => text.replace(/[\\~^–−∞]|[&%$#_{}]/g, (one) => SPECIAL.get(one) || `\\${one}`);

const isBold = ([cell, text]) => text !== "" && cell.matches("td") && Number(getComputedStyle(cell).fontWeight) >= 600;

function latex(table, caption) {
  const rows = rowsOf(table);
  // A column that is bold throughout tells no row from another.
  const telling = rows[0].map((_, place) => rows.slice(1).some((row) => row[place] && !isBold(row[place])));
  const write = (one, place) => (telling[place] && isBold(one) ? `\\textbf{${escaped(one[1])}}` : escaped(one[1]));
  const [head, ...body] = rows.map((row) => `${row.map(write).join(" & ")} \\\\`);
  const columns = [...table.querySelectorAll("thead tr:first-child > *")].filter((cell) => !cell.classList.contains("chart"))
    .map((cell) => (cell.classList.contains("number") ? "r" : "l")).join("");
  return ["\\begin{table}", "\\centering", `\\caption{${escaped(caption)}}`, `\\begin{tabular}{${columns}}`, "\\toprule", head, "\\midrule", ...body,
    "\\bottomrule", "\\end{tabular}", "\\end{table}"].join("\n");
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
  const { node: status, say } = notice();
  const field = el("textarea", { readonly: true, rows: 4, "aria-label": "Text to copy", hidden: true });
  const copy = async (text, saying) => {
    try {
      await navigator.clipboard.writeText(text);
      field.hidden = true;
      say(saying);
    } catch {
      field.hidden = false;
      field.value = text;
      field.select();
    }
  };
  const picture = () => takePicture([part], { title, caption, source });
  const button = (label, action, what) => el("button", { type: "button", title: what, onclick: action }, label);
  const copies = (label, make, what, saying) => button(label, async () => copy(await make(), saying), what);
  const keep = (data, ending, type) => {
    save(data, `${name}.${ending}`, type);
    say(`Saved ${name}.${ending}`);
  };
  const items = [
    ...(tables().length ? FORMS.map(([label, write]) => copies(label, () => tables().map((table) => write(table, title)).join("\n\n"), `Copy the table as ${label}`, `Copied as ${label}`)) : []),
    pictured && button("SVG", () => keep(toSvg(picture()), "svg", "image/svg+xml"), "Save as a picture with lines and text"),
    pictured && button("PNG", async () => keep(await toPng(picture()), "png", "image/png"), "Save as a picture of pixels"),
    spec && copies("Vega-Lite", spec, "Copy the chart as a specification of Vega-Lite with its data", "Copied as Vega-Lite"),
    frame && copies("Embed", frame, "Copy HTML that shows it inside of another page", `Copied as HTML${linkNote()}`),
    command && copies("Command", typeof command === "string" ? () => command : command, "Copy the command that makes it", "Copied the command"),
    citation && copies("Cite", () => citation, "Copy a reference in BibTeX", "Copied as BibTeX")];
  return el("details", { class: "take" }, el("summary", { title: "Copy or save" }, el("span", { class: "unseen" }, "Copy or save"), el("span", { "aria-hidden": "true" }, "⤓")), el("span", { class: "bar" }, items.filter(Boolean), status), field);
}

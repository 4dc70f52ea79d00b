/** Menus that copy what a part of a page shows: its tables as text, the command that makes it, a frame with it, a reference. */

import { copier, el, linkNote } from "./dom.js";

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

/** The menu of what can be copied of a part of a page; null where there is nothing. */
export function takeMenu(part, { title = "", command = "", citation, frame = null }) {
  if (!command && !part.querySelector("table, svg, canvas")) return null;
  const { node, copy } = copier();
  // Those that are there when something is copied: a list may have been sorted, or made longer.
  const tables = () => [...part.querySelectorAll("table")];
  const forms = tables().length ? Object.entries(FORMS).map(([label, write]) =>
    [label, `Copy the table as ${label}`, () => tables().map((table) => write(table, title)).join("\n\n"), `Copied as ${label}`]) : [];
  const items = [...forms,
    frame && ["Embed", "Copy HTML that shows it inside of another page", frame, `Copied as HTML${linkNote()}`],
    command && ["Command", "Copy the command that makes it", typeof command === "string" ? () => command : command, "Copied the command"],
    ["Cite", "Copy a reference in BibTeX", () => citation, "Copied as BibTeX"]];
  return el("details", { class: "take", name: "take", onkeydown: (event) => { if (event.key === "Escape") event.currentTarget.open = false; } },
    el("summary", { title: "Copy" }, el("span", { class: "unseen" }, "Copy"), el("span", { "aria-hidden": "true" }, "⤓")),
    el("span", { class: "bar" }, items.filter(Boolean).map(([label, title, make, saying]) =>
      el("button", { type: "button", title, onclick: () => copy(make(), saying) }, label)), node));
}

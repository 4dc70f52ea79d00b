/** Tables to take away: as CSV, Markdown or LaTeX, or the command that makes them. */

import { el } from "./dom.js";
import { expressionOf } from "./filter.js";

/** What a cell says: the exact number behind it, or its text. */
function textOf(cell, exact) {
  const number = cell.matches("[data-value]") ? cell : cell.querySelector("data[data-value]");
  if (exact && number) return number.dataset.value;
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

const shell = (text) => (/^[\w./@+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** Options of commands for the tracks and systems that are shown: an expression, or names where no expression is the same. */
function selectionOf(state) {
  const { contents, now, shown, filter } = state;
  const own = shown ? expressionOf(state) : "";
  const both = [contents.where, own].filter(Boolean);
  const where = both.length ? ` --where ${shell(both.length > 1 ? both.map((one) => `(${one})`).join(" and ") : both[0])}` : "";
  const named = (option, names) => names.map((name) => ` ${option} ${shell(name)}`).join("");
  const systems = filter.some(([kind]) => kind === "systems") ? named("--systems", state.shownSystems.map((system) => now.systems[system])) : "";
  return where + systems + (own === null ? named("--tracks", shown.tracks.map((track) => now.tracks[track])) : "");
}

/** The command whose result a section shows; nothing where there is none. */
function commandOf(id, state) {
  if (state.metric < 0) return "";
  const { now, about } = state;
  const kind = { standings: "query", leaderboard: "query", distributions: "plot", heatmap: "plot", gains: "compare" }[id];
  if (!kind) return "";
  const store = state.contents.stores.map(({ name }) => shell(`${name || state.contents.name}.zarr`)).join(" ");
  const asked = `-g ${shell(now.name)} -m ${shell(about.name)}${selectionOf(state)}`;
  if (kind === "plot") return `mirflow plot ${store} ${id} ${asked} -o ${id}.pdf`;
  if (kind === "compare") return `mirflow compare ${store} ${asked} --best 5 --worst 5 --baseline ${shell(document.querySelector("#gains select[name=against] option:checked")?.textContent || "")}`;
  const aggregate = state.aggregate === about.standard_aggregate ? "" : ` --aggregate ${state.aggregate}`;
  return `mirflow query ${store} ${asked}${aggregate}${state.missing === state.policies[0] ? "" : ` --missing ${state.missing}`} --ci 0.95 --significance`;
}

/** Give a section a menu of what can be copied of it. */
function offer(part, state) {
  const command = commandOf(part.id, state);
  const tables = () => [...part.querySelectorAll("table")];
  if (!command && !tables().length) return;
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
  const button = (label, make) => el("button", { type: "button", onclick: () => copy(make()) }, label);
  const forms = tables().length ? FORMS.map(([label, write]) => button(label, () => tables().map(write).join("\n\n"))) : [];
  part.append(el("details", { class: "take" }, el("summary", {}, "Take away"), el("span", { class: "bar" }, forms,
    command ? button("Command", () => command) : null, status), field));
}

/** @param {import("./state.js").State} state */
export function offerCopies(state) {
  for (const part of document.querySelectorAll("#main section, #standings")) {
    part.querySelector(":scope > details.take")?.remove();
    offer(part, state);
  }
}

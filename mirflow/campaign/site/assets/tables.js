// Tables that are sorted by their heads, long ones that are cut, and one menu below each table and chart of what can be copied.

import { el } from "./dom.js";
import { takeMenu } from "./take.js";

const LONG = 120, SHOWN = 100;

/** What a cell is sorted by: its time, number or text; null for nothing. */
function valueOf(cell) {
  const time = cell.querySelector("time"), text = cell.textContent.trim();
  if (time) return time.dateTime;
  if (/^[-–]?$/.test(text)) return null;
  if (cell.tagName === "TH") return text;
  const number = text.replace("−", "-").match(/^\[?([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)(?=[\s,\]*%–-]|$)/i);
  return number ? Number(number[1]) : /^[+-]?(∞|inf)$/.test(text) ? (text[0] === "-" ? -Infinity : Infinity) : text;
}

const compare = (a, b) => typeof a === "number" && typeof b === "number" ? a - b
  : String(a).localeCompare(String(b), "en", { numeric: true });

for (const table of document.querySelectorAll(".table > table")) {
  const body = table.tBodies[0], heads = [...(table.tHead?.rows[0]?.cells ?? [])];
  const rows = [...(body?.rows ?? [])];
  if (rows.length < 2 || table.tHead?.rows.length !== 1 || rows.some((row) => row.cells.length !== heads.length)) continue;
  let whole = rows.length <= LONG;
  const place = (ordered) => {
    ordered.forEach((row, at) => { row.hidden = !whole && at >= SHOWN; });
    body.append(...ordered);
  };

  const sort = (head, column) => {
    const numeric = rows.some((row) => typeof valueOf(row.cells[column]) === "number");
    const orders = numeric ? ["descending", "ascending", null] : ["ascending", "descending", null];
    const order = orders[(orders.indexOf(head.getAttribute("aria-sort")) + 1) % 3];
    heads.forEach((one) => one.removeAttribute("aria-sort"));
    if (!order) { place(rows); return; }
    head.setAttribute("aria-sort", order);
    const sign = order === "descending" ? -1 : 1;
    place(rows.map((row) => [valueOf(row.cells[column]), row])
      .sort(([a], [b]) => a === null || b === null ? (a === null) - (b === null) : sign * compare(a, b))
      .map(([, row]) => row));
  };

  heads.forEach((head, column) => {
    if (!head.textContent.trim() || head.querySelector("a, svg")) return;
    head.append(el("button", { type: "button", class: "sort", onclick: () => sort(head, column) }, [...head.childNodes]));
  });

  if (whole) continue;
  const more = el("button", { type: "button", class: "more", onclick: () => {
    whole = true;
    const first = body.rows[SHOWN];
    place([...body.rows]);
    more.remove();
    first.querySelector("a")?.focus();
  } }, `Show all ${rows.length} rows`);
  place(rows);
  table.parentElement.after(more);
}

const main = document.getElementById("main");
const heading = main.querySelector("h1")?.textContent.trim().replace(/\s+/g, " ") || document.title;

for (const part of main.querySelectorAll("#standings, .table:has(> table > thead)")) {
  const title = [heading, part.getAttribute("aria-label") || part.dataset.axis].filter(Boolean).join(": ");
  const { command, signature } = part.dataset;
  // A reference has the signature of the numbers, where it is known.
  const citation = main.dataset.citation.replace(/\}$/, `  note = {Results of ${heading}${signature ? `, ${signature}` : ""}},\n}`);
  const menu = takeMenu(part, { title, command, citation });
  if (part.id === "standings") part.append(menu);
  else part.after(menu);
}

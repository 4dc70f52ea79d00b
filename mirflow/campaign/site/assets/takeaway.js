// What can be copied of the tables and charts of a page: one menu below each.

import { takeMenu } from "./take.js";

const main = document.getElementById("main");
const heading = main.querySelector("h1")?.textContent.trim().replace(/\s+/g, " ") || document.title;

/** A reference with the signature of the numbers, where it is known. */
function cite({ signature = "" }) {
  const of = `Results of ${heading}${signature && `, ${signature}`}`;
  return main.dataset.citation.replace(/\}$/, `  note = {${of}},\n}`);
}

for (const part of main.querySelectorAll("#standings, .table:has(> table > thead)")) {
  const title = [heading, part.getAttribute("aria-label") || part.dataset.axis].filter(Boolean).join(": ");
  const menu = takeMenu(part, { title, command: part.dataset.command, citation: cite(part.dataset) });
  if (menu && part.id === "standings") part.append(menu);
  else if (menu) part.after(menu);
}

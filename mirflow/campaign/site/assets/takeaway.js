// What can be copied of the tables and charts of a page: one menu below each.

import { takeMenu } from "./take.js";

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

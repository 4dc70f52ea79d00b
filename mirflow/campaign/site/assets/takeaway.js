// What can be taken away of the tables and charts of a page: one menu below each.

import { forestSpec, readForest, takeMenu } from "./take.js";

const main = document.getElementById("main");
const heading = main.querySelector("h1")?.textContent.trim().replace(/\s+/g, " ") || document.title;

/** A reference with the signature of the numbers, where it is known. */
function cite({ signature = "" }) {
  const of = `Results of ${heading}${signature && `, ${signature}`}`;
  return main.dataset.citation.replace(/\}$/, `  note = {${of}},\n}`);
}

for (const part of main.querySelectorAll("#standings, .table:has(> table > thead)")) {
  const forest = part.querySelector(".forest");
  const label = part.getAttribute("aria-label") || part.dataset.axis || "";
  const title = [heading, label].filter(Boolean).join(": ");
  const caption = part.querySelector(".lead")?.textContent.trim().replace(/\s+/g, " ") || "";
  const menu = takeMenu(part, { title, caption, source: `mirflow ${main.dataset.version}`, name: title.replace(/[^\w-]+/g, "_").slice(0, 60),
    spec: forest && (() => forestSpec(title, part.dataset.axis, readForest(forest))), command: part.dataset.command, citation: cite(part.dataset) });
  if (menu && part.id === "standings") part.append(menu);
  else if (menu) part.after(menu);
}

/** Verdicts on references and the reader's name, kept in this browser where it lets the page do so. */

import { el } from "./dom.js";

const STORED = "mirflow verdicts";

export const kept = { author: "", verdicts: {} };
try {
  Object.assign(kept, JSON.parse(localStorage.getItem(STORED) || "{}"));
} catch {
  // Nothing is kept.
}

export function keep() {
  try {
    localStorage.setItem(STORED, JSON.stringify(kept));
  } catch {
    // The page works all the same until it is closed.
  }
}

/** A choice of a verdict, by the key of what it is about; its cell copies as what is chosen. */
export function verdictOn(key, label, options) {
  const chosen = kept.verdicts[key] || "";
  const cell = el("td", { "data-name": chosen && options.find(([value]) => value === chosen)?.[1] });
  const select = el("select", { "aria-label": label, onchange: () => {
    kept.verdicts[key] = select.value;
    cell.dataset.name = select.value && select.selectedOptions[0].textContent;
    keep();
  } }, options.map(([value, text]) => el("option", { value, selected: value === chosen }, text)));
  cell.append(select);
  return cell;
}

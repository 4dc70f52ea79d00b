/** Keyboard shortcuts of the grader's page; they never override keys used by the focused control. */

import { kept } from "./grade-queue.js";

const SWITCH = "mirflow-grading-keys";
const PARTS = ["f", "m", "l"];
const WRITES = "input[type=number], input[type=text], textarea, select";
const ACTS = "a, button, summary, input, select, textarea, [contenteditable]";

/** `tick` turns the keys on and off; `actions`: query, toggle, part, move, broad and fine, with a number where there are several. */
export function listen(tick, actions) {
  tick.checked = kept.getItem(SWITCH) !== "off";
  tick.addEventListener("change", () => kept.setItem(SWITCH, tick.checked ? "on" : "off"));
  document.addEventListener("keydown", (event) => {
    if (!tick.checked || event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
    const target = event.target instanceof Element ? event.target : document.body;
    const action = actionOf(event, target);
    if (!action) return;
    event.preventDefault();
    actions[action[0]](...action.slice(1));
  });
}

/** What a key means where it was pressed: [name, argument], or nothing. */
function actionOf(event, target) {
  if (target.closest(WRITES)) return null;
  const key = event.key.toLowerCase();
  if (key === "q" && !event.repeat) return ["query"];
  if (PARTS.includes(key) && !event.repeat) return ["part", PARTS.indexOf(key)];
  if (key === "j" || key === "k") return ["move", key === "j" ? 1 : -1];
  if (["1", "2", "3"].includes(key)) return ["broad", Number(key) - 1];
  if (target.closest(ACTS)) return null;
  if (key === " " && !event.repeat) return ["toggle"];
  const step = { arrowleft: -1, arrowright: 1 }[key];
  return step ? ["fine", step * (event.shiftKey ? 10 : 1)] : null;
}

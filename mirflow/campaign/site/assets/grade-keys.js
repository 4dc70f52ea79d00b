/** Keyboard shortcuts of the grader's page; they never override keys used by the focused control. */

const SWITCH = "mirflow-grading-keys";
const PARTS = ["f", "m", "l"];
const WRITES = "input[type=number], input[type=text], textarea, select";
const ACTS = "a, button, summary, input, select, textarea, [contenteditable]";

/**
 * @param {HTMLInputElement} tick turns the keys on and off
 * @param {{toggle: () => void, query: () => void, part: (number: number) => void, move: (by: number) => void,
 *   broad: (place: number) => void, fine: (by: number) => void}} actions
 */
export function listen(tick, actions) {
  tick.checked = read() !== "off";
  tick.addEventListener("change", () => write(tick.checked ? "on" : "off"));
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

function read() {
  try {
    return localStorage.getItem(SWITCH);
  } catch {
    return null;
  }
}

function write(state) {
  try {
    localStorage.setItem(SWITCH, state);
  } catch {
    // The choice lasts as long as the page.
  }
}

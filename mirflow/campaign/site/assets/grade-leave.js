/** Logging out deletes unsaved changes in the browser, after confirmation. */

import { kept, keysBelow } from "./grade-queue.js";

for (const form of document.querySelectorAll('form[action$="/logout"]')) {
  const rounds = new URL("grading/", form.action).pathname;
  const said = document.createElement("p");
  said.setAttribute("role", "status");
  form.append(said);
  form.addEventListener("submit", (event) => {
    const waiting = keysBelow(rounds);
    if (waiting.length && !said.textContent) {
      event.preventDefault();
      said.textContent = "Some judgements are not saved yet: open Grade to save them, or log out once more and lose them.";
    } else for (const key of waiting) kept.removeItem(key);
  });
}

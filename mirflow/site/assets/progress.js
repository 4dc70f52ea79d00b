// Progress of a submission by server-sent events. Without this script the page loads itself again.

const shown = document.getElementById("progress");
const [words, stage, done] = ["words", "stage", "done"].map((id) => document.getElementById(id));

/** @param {{state: string, words: string, stage: string, before: number, done: number, total: number}} now */
function show(now) {
  words.textContent = now.words[0].toUpperCase() + now.words.slice(1);
  const parts = [now.stage && `: ${now.stage}`, now.before > 0 && `; ${now.before} before it`];
  stage.textContent = parts.filter(Boolean).join("");
  done.hidden = !now.total;
  done.max = now.total || 1;
  done.value = now.done;
  for (const step of document.querySelectorAll(".steps li")) {
    const isNow = step.dataset.states.split(" ").includes(now.state);
    if (isNow) step.setAttribute("aria-current", "step");
    else step.removeAttribute("aria-current");
  }
}

const events = new EventSource(shown.dataset.events);
events.addEventListener("progress", (event) => show(JSON.parse(event.data)));
events.addEventListener("end", () => {
  events.close();
  location.reload();
});
// A browser gives up after an answer that is no stream, such as that of a server that is just starting again.
events.addEventListener("error", () => {
  if (events.readyState === EventSource.CLOSED) setTimeout(() => location.reload(), 5000);
});

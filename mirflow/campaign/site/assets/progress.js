// Progress of a submission by server-sent events. Without this script the page reloads itself.

const shown = document.getElementById("progress");
const [words, stage, done] = ["words", "stage", "done"].map((id) => document.getElementById(id));

function show(now) {
  words.textContent = now.words[0].toUpperCase() + now.words.slice(1);
  stage.textContent = (now.stage ? `: ${now.stage}` : "") + (now.before > 0 ? `; ${now.before} before it` : "");
  done.hidden = !now.total;
  done.max = now.total || 1;
  done.value = now.done;
  const steps = [...document.querySelectorAll(".steps li")];
  const reached = steps.findIndex((step) => step.dataset.states.split(" ").includes(now.state));
  if (reached < 0) return;
  steps.forEach((step, at) => {
    step.ariaCurrent = at === reached ? "step" : null;
    const words = at === reached ? "now" : at < reached ? "done" : "to come";
    step.className = words.replace(" ", "-");
    step.querySelector("small").textContent = words;
  });
}

const events = new EventSource(shown.dataset.events);
events.addEventListener("progress", (event) => show(JSON.parse(event.data)));
events.addEventListener("end", () => {
  events.close();
  location.reload();
});
// A browser gives up after a response that is not a stream, for example while the server restarts.
events.addEventListener("error", () => {
  if (events.readyState === EventSource.CLOSED) setTimeout(() => location.reload(), 5000);
});

/** The grader's page: each change of a judgement is stored here and sent immediately. */

import { make, makePlayers } from "./grade-player.js";
import { Events, Queue, kept } from "./grade-queue.js";

const form = /** @type {HTMLFormElement} */ (document.getElementById("grading"));
const { dataset } = form;
const csrf = form.elements.namedItem("csrf").value;
/** What the ends and the middle of the scale mean in this campaign. */
const words = JSON.parse(dataset.words);
/** A name for this window that no other has; there may be no `crypto.randomUUID` without TLS. */
const client = Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, "0")).join("");
const enough = Number(dataset.listen);
const status = document.getElementById("status");
const say = (text) => {
  if (status.textContent !== text) status.textContent = text;
};

class Candidate {
  constructor(section) {
    const { assignment, name, heard = 0 } = section.dataset;
    Object.assign(this, { section, name, id: Number(assignment), before: Number(heard), toldHeard: Number(heard), player: null,
      broad: [...section.querySelectorAll("input[type=radio]")], fine: section.querySelector("input[type=number]"),
      flags: [...section.querySelectorAll("input[type=checkbox]")] });
    [this.hint, this.kept, this.ask] = [".told", ".kept", ".ask"].map((kind) => section.querySelector(kind));
    // A slider beside the number; without a judgement it shows no thumb, which would suggest one.
    const { min, max, step } = this.fine;
    this.slider = make("input", { type: "range", min, max, step, ariaLabel: `Fine judgement of candidate ${name}` });
    const ends = [min, (Number(min) + Number(max)) / 2, max].map((number, at) => make("span", {}, make("b", { textContent: String(number) }), words[at]));
    this.fine.before(make("span", { className: "rail" }, this.slider, make("span", { className: "ends", ariaHidden: "true" }, ...ends)));
    this.showSlider();
    this.slider.addEventListener("input", () => {
      this.fine.value = Number(this.slider.value).toFixed(1);
      this.showSlider();
    });
    // The position of the slider is a judgement only once the grader has touched it.
    this.slider.addEventListener("pointerup", () => {
      if (this.fine.value === "") this.setFine(Number(this.slider.value));
    });
    // Typing or dragging in progress is not a change yet, and a response to an earlier one must not revert it.
    this.editing = false;
    section.addEventListener("input", ({ target }) => { this.editing = target === this.fine || target === this.slider; });
    section.addEventListener("focusout", () => { this.editing = false; });
    section.addEventListener("change", (event) => this.changed(event.target));
    for (const kind of ["focusin", "click"]) section.addEventListener(kind, () => choose(this));
  }

  showSlider() {
    const judged = this.fine.value !== "";
    this.slider.value = judged ? this.fine.value : String(Number(this.fine.max) / 2);
    this.slider.classList.toggle("empty", !judged);
    this.slider.setAttribute("aria-valuetext", judged ? `${this.fine.value} of ${this.fine.max}` : "not judged");
  }

  get heard() {
    return Math.max(this.before, this.player ? this.player.heard(enough) : 0);
  }

  changed(control) {
    if (control === this.player?.position) return;
    this.editing = false;
    if (control === this.fine && !this.fine.reportValidity()) return;
    // Enter takes a control as it is shown, even if nothing was chosen by it.
    if (control === this.slider) this.fine.value = Number(control.value).toFixed(1);
    const field = control.type === "radio" ? "broad" : control.dataset.field ?? "fine";
    this.save({ [field]: field === "broad" ? control.value : this.state[field] });
    this.showSlider();
  }

  setFine(value) {
    this.fine.value = Math.min(Math.max(value, Number(this.fine.min)), Number(this.fine.max)).toFixed(1);
    this.showSlider();
    this.save({ fine: Number(this.fine.value) });
  }

  get state() {
    return {
      broad: this.broad.find((radio) => radio.checked)?.value ?? null,
      fine: this.fine.value === "" ? null : Number(this.fine.value),
      ...Object.fromEntries(this.flags.map((flag) => [flag.dataset.field, flag.checked])),
    };
  }

  show(values) {
    if ("broad" in values) for (const radio of this.broad) radio.checked = radio.value === values.broad;
    if ("fine" in values) this.fine.value = values.fine === null ? "" : Number(values.fine).toFixed(1);
    for (const flag of this.flags) if (flag.dataset.field in values) flag.checked = values[flag.dataset.field];
    this.showSlider();
    this.showHint();
  }

  save(values) {
    this.toldHeard = this.heard;
    this.kept.textContent = "";
    queue.add(this.id, values, Math.round(this.toldHeard * 10) / 10);
    this.showHint();
  }

  /** Say once when a candidate that was judged before has been heard. */
  listened() {
    const { broad, fine } = this.state;
    if ((broad !== null || fine !== null) && this.toldHeard < enough && this.heard >= enough) this.save({});
    else this.showHint();
  }

  showHint() {
    const { broad, fine, unplayable } = this.state;
    const left = Math.ceil(enough - this.heard);
    const judged = broad !== null || fine !== null;
    let text = this.heard >= enough ? "heard" : this.heard > 0 ? `heard ${Math.floor(this.heard)} s` : "not yet heard";
    if (unplayable) text = "cannot be heard";
    else if (left > 0 && judged) text = `counts when you have listened for ${left} s more`;
    if (this.hint.textContent !== text) this.hint.textContent = text;
    this.section.classList.toggle("unheard", judged && left > 0 && !unplayable);
  }
}

let current = null;
function choose(candidate) {
  current?.section.classList.remove("current");
  current = candidate;
  current.section.classList.add("current");
}

const events = new Events({ address: dataset.events, csrf, client, page: Number(dataset.page) });
const candidates = [...form.querySelectorAll("[data-assignment]")].map((section) => new Candidate(section));
const byId = new Map(candidates.map((candidate) => [candidate.id, candidate]));
let unsaved = false;

const queue = new Queue({ address: dataset.judgements, csrf, owner: dataset.grader, client }, {
  saved(change, answer) {
    unsaved = false;
    const time = new Date(answer.saved).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
    const candidate = byId.get(change.assignment);
    let elsewhere = false;
    if (candidate && !queue.changes.some((one) => one.assignment === change.assignment && one.number !== change.number)) {
      const shown = candidate.state;
      elsewhere = !candidate.editing && Object.entries(shown).some(([field, value]) => answer.state[field] !== value);
      if (elsewhere) candidate.show(answer.state);
      candidate.kept.textContent = "saved";
      candidate.ask.textContent = answer.ask ?? "";
      candidate.ask.hidden = !answer.ask;
    }
    say(elsewhere ? `saved ${time}; candidate ${candidate.name} was changed in another window, this is the newest` : `saved ${time}`);
    const { done, total } = answer.progress;
    Object.assign(document.getElementById("progress"), { max: total, value: done });
    document.getElementById("done").textContent = `${done} of ${total} judged on this page`;
  },
  waiting(count, why) {
    unsaved = true;
    say(`not saved yet: ${why}. ${count === 1 ? "1 change is" : `${count} changes are`} kept in this browser and will be sent again.`);
  },
  taken(assignments) {
    for (const id of assignments) byId.get(id)?.save({});
  },
  refused(change, why) {
    unsaved = change === null;
    say(change ? `not saved: ${why}` : `not saved: ${why} What is not saved yet is kept in this browser.`);
  },
});

let queryPlayer;
const players = makePlayers(form, (kind, which) => {
  const section = which.box.closest("[data-assignment]");
  events.add(kind, section ? Number(section.dataset.assignment) : null, which.audio.currentTime);
});
for (const player of players) {
  const candidate = byId.get(Number(player.box.closest("[data-assignment]")?.dataset.assignment));
  if (candidate) {
    candidate.player = player;
    player.onheard = () => candidate.listened();
    // A lost connection is no reason to give up a candidate; an earlier choice can be undone.
    const [unplayable] = candidate.flags.filter(({ dataset: { field } }) => field === "unplayable");
    player.onreach = () => { if (unplayable) unplayable.disabled = player.away && !unplayable.checked; };
    candidate.showHint();
  } else queryPlayer = player;
}

/** What keys do, with a number where there are several. */
const actions = {
  query: () => queryPlayer?.toggle(),
  toggle: () => (current?.player ?? queryPlayer)?.toggle(),
  part: (number) => (players.find((player) => player.playing) ?? current?.player ?? queryPlayer)?.playPart(number),
  move(by) {
    const at = candidates.indexOf(current);
    const next = candidates[at < 0 ? (by > 0 ? 0 : candidates.length - 1) : Math.min(Math.max(at + by, 0), candidates.length - 1)];
    next?.section.focus();
  },
  broad: (place) => current?.broad[place]?.click(),
  fine(by) {
    if (!current) return;
    const value = current.fine.value === "" ? Number(current.fine.max) / 2 : Number(current.fine.value) + by * Number(current.fine.step);
    current.setFine(value);
  },
};

const SWITCH = "mirflow-grading-keys";
const PARTS = ["f", "m", "l"];
const WRITES = "input[type=number], input[type=text], textarea, select";
const ACTS = "a, button, summary, input, select, textarea, [contenteditable]";

/** What a key means where it was pressed: [name, argument], or nothing; keys that the focused control uses are left to it. */
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

const tick = document.getElementById("keys");
tick.checked = kept.getItem(SWITCH) !== "off";
tick.addEventListener("change", () => kept.setItem(SWITCH, tick.checked ? "on" : "off"));
document.addEventListener("keydown", (event) => {
  if (!tick.checked || event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
  const [name, number] = actionOf(event, event.target instanceof Element ? event.target : document.body) ?? [];
  if (!name) return;
  event.preventDefault();
  actions[name](number);
});

// Show changes stored by closed windows, and send them first.
for (const change of queue.changes) byId.get(change.assignment)?.show(change.values);
queue.retry();

// Without scripts the form saves everything at once; here everything is already saved on submission.
form.classList.add("live");
form.querySelectorAll("button.plain").forEach((button) => button.remove());
form.addEventListener("keydown", (event) => {
  // In a form of one page Enter would go on to the next query.
  if (event.key !== "Enter" || !(event.target instanceof HTMLInputElement)) return;
  event.preventDefault();
  event.target.dispatchEvent(new Event("change", { bubbles: true }));
});
form.addEventListener("formdata", (event) => {
  for (const name of [...event.formData.keys()]) if (!["csrf", "page", "go"].includes(name)) event.formData.delete(name);
});
form.addEventListener("submit", (event) => {
  if (!queue.changes.length) return;
  event.preventDefault();
  say("not everything is saved yet; this goes on when it is");
  queue.retry();
  const wait = window.setInterval(() => {
    if (queue.changes.length && !queue.stopped) return;
    window.clearInterval(wait);
    if (!queue.stopped) form.requestSubmit(event.submitter);
  }, 300);
});

window.addEventListener("beforeunload", (event) => {
  if (unsaved && queue.stopped) event.preventDefault();
});
document.documentElement.dataset.loaded = "";

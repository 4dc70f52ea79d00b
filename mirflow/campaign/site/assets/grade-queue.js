/** What a grader does on its way to the server: changes, kept in the browser until saved, sent in order, and retried; other actions, which may be lost. */

const PREFIX = "mirflow-grading:";
/** Where this browser keeps what is to outlive the page. */
export const kept = storage();
const WAITS = [1, 2, 4, 8, 15];
const PATIENCE = 20_000;

/** The browser's own storage; where it is forbidden, the window's memory. */
function storage() {
  try {
    localStorage.setItem(`${PREFIX}try`, "");
    localStorage.removeItem(`${PREFIX}try`);
    return localStorage;
  } catch {
    return Object.create({
      getItem(key) { return this[key] ?? null; },
      setItem(key, text) { this[key] = text; },
      removeItem(key) { delete this[key]; },
    });
  }
}

/** Keys for all rounds and graders of a server; other servers on this host have other paths. */
const keysBelow = (folder) => Object.keys(kept).filter((key) => key.startsWith(PREFIX + folder));

const post = (address, csrf, body, options) => fetch(address, { method: "POST", body: JSON.stringify(body),
  headers: { "Content-Type": "application/json", Accept: "application/json", "X-CSRF-Token": csrf }, ...options });

/** Changes are `assignment`, `client`, `number`, `values` and `heard`, in seconds; a listener has `saved`, `waiting`, `taken` and `refused`. */
export class Queue {
  // The owner is who judges in the round.
  constructor(where, listener) {
    Object.assign(this, where, { listener, number: 0, failures: 0, timer: 0, sending: "", stopped: false });
    /** Keys of this window's own changes that wait, with their assignments. */
    this.own = new Map();
    window.addEventListener("online", () => this.retry());
  }

  get prefix() {
    return `${new URL(this.address, document.baseURI).pathname}:${this.owner}:`;
  }

  /** Keys of unsaved changes, oldest first, including those of closed windows. */
  get keys() {
    return keysBelow(this.prefix).sort();
  }

  get changes() {
    return this.keys.map((key) => this.read(key)).filter((change) => change !== null);
  }

  read(key) {
    try {
      return JSON.parse(kept.getItem(key) ?? "null");
    } catch {
      kept.removeItem(key);
      return null;
    }
  }

  /** Store a change and send it; it replaces an unsent one of the same fields. */
  add(assignment, values, heard) {
    const number = ++this.number;
    const last = this.keys.at(-1);
    if (last && last !== this.sending) {
      const before = this.read(last);
      const same = before && before.client === this.client && before.assignment === assignment
        && Object.keys(before.values).join() === Object.keys(values).join();
      if (same) this.drop(last);
    }
    const order = `${String(Date.now()).padStart(15, "0")}:${this.client}:${String(number).padStart(8, "0")}`;
    const key = PREFIX + this.prefix + order;
    kept.setItem(key, JSON.stringify({ assignment, client: this.client, number, values, heard }));
    this.own.set(key, assignment);
    this.send();
  }

  retry() {
    window.clearTimeout(this.timer);
    this.timer = 0;
    this.failures = 0;
    this.send();
  }

  async send() {
    if (this.sending || this.stopped || this.timer) return;
    let key;
    while (!this.stopped && (key = this.keys[0])) {
      const change = this.read(key);
      if (!change) continue;
      this.sending = key;
      const done = await this.post(change);
      this.sending = "";
      if (!done) return;
      this.drop(key);
      this.failures = 0;
    }
    // Each window sends the changes of all windows, and asks whether those taken by another one are saved.
    const taken = [...new Set(this.own.values())];
    this.own.clear();
    if (taken.length && !this.stopped) this.listener.taken(taken);
  }

  drop(key) {
    kept.removeItem(key);
    this.own.delete(key);
  }

  async post(change) {
    let answer;
    try {
      answer = await post(this.address, this.csrf, change, { signal: AbortSignal.timeout(PATIENCE) });
      if (answer.ok) this.listener.saved(change, await answer.json());
    } catch {
      return this.later("no connection");
    }
    if (answer.ok) return true;
    const why = (await answer.json().catch(() => ({}))).error ?? "";
    if (answer.status === 401) return this.later("you are logged out: open your personal link in another window");
    if (answer.status === 429 || answer.status >= 500) return this.later("the server is busy");
    if (answer.status === 403 || answer.status === 409) {
      this.stopped = true;
      this.listener.refused(null, why || "load this page again");
      return false;
    }
    this.listener.refused(change, why || `refused (${answer.status})`);
    return true;
  }

  later(why) {
    const seconds = WAITS[Math.min(this.failures++, WAITS.length - 1)];
    this.listener.waiting(this.keys.length, why);
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      this.send();
    }, seconds * 1000);
    return false;
  }
}

/** Actions that wait at most, milliseconds between two messages, and actions of one. */
const [MOST, EVERY, BATCH] = [400, 8_000, 50];

/** A grader's actions other than judging, sent from time to time. */
export class Events {
  constructor(where) {
    Object.assign(this, where);
    this.kept = [];
    this.number = 0;
    this.add("came");
    window.setInterval(() => this.flush(), EVERY);
    document.addEventListener("visibilitychange", () => {
      this.add(document.hidden ? "went" : "came");
      if (document.hidden) this.flush();
    });
    window.addEventListener("pagehide", () => {
      if (!document.hidden) this.add("went");
      this.flush();
    });
  }

  add(kind, assignment = null, position = null) {
    const last = this.kept.at(-1);
    // Dragging a slider is one search.
    if (kind === "seeked" && last?.kind === kind && last.assignment === assignment) this.kept.pop();
    this.kept.push({ number: ++this.number, kind, assignment, position: position === null ? null : Math.round(position * 100) / 100, at: Date.now() });
    if (this.kept.length > MOST) this.kept.shift();
    if (this.kept.length >= BATCH) this.flush();
  }

  async flush() {
    const events = this.kept.splice(0, BATCH);
    if (!events.length) return;
    const now = Date.now();
    const body = { client: this.client, page: this.page, events: events.map(({ at, ...event }) => ({ ...event, ago: (now - at) / 1000 })) };
    // A server that is not reached is like one that is busy.
    const { ok, status } = await post(this.address, this.csrf, body, { keepalive: true }).catch(() => ({ ok: false, status: 503 }));
    if (!ok && (status >= 500 || status === 429)) this.kept.unshift(...events);
    if (this.kept.length > MOST) this.kept.splice(0, this.kept.length - MOST);
  }
}

// Logging out deletes unsaved changes in the browser, after confirmation.
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

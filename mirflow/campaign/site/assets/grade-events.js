/** A grader's actions other than judging, sent from time to time; unlike judgements they may be lost. */

const MOST = 400;
const EVERY = 8_000;
const BATCH = 50;

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
    const body = JSON.stringify({ client: this.client, page: this.page, events: events.map(({ at, ...event }) => ({ ...event, ago: (now - at) / 1000 })) });
    try {
      const answer = await fetch(this.address, {
        method: "POST", keepalive: true, body, headers: { "Content-Type": "application/json", "X-CSRF-Token": this.csrf },
      });
      if (!answer.ok && (answer.status >= 500 || answer.status === 429)) this.kept.unshift(...events);
    } catch {
      this.kept.unshift(...events);
    }
    if (this.kept.length > MOST) this.kept.splice(0, this.kept.length - MOST);
  }
}

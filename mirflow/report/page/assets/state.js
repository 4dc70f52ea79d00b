/** What is chosen, and who wants to know when that changes. */

/**
 * @typedef {object} Chosen
 * @property {number} evaluation
 * @property {number} metric
 * @property {string} aggregate
 * @property {string} by a coordinate of tracks, or nothing
 * @property {string} asked what shall be done about missing scores, or nothing
 * @property {boolean} percent
 */

export class State {
  /** @param {any} contents */
  constructor(contents) {
    this.contents = contents;
    this.listeners = [];
    this.percent = false;
    this.asked = "";
    this.by = "";
    this.turn = 0;
    this.take(0);
  }

  get now() {
    return this.contents.evaluations[this.evaluation];
  }

  get about() {
    return this.now.metrics[this.metric];
  }

  /** What can be done about missing scores here, what is usual first. */
  get policies() {
    return this.now.policies.filter((name) => name !== "zero" || this.metric < 0 || this.about.orientation !== "lower");
  }

  /** What is done about them. */
  get missing() {
    return this.policies.includes(this.asked) ? this.asked : this.policies[0];
  }

  /** Look at an evaluation. */
  take(evaluation) {
    this.evaluation = evaluation;
    this.by = "";
    this.takeMetric(this.now.main.length ? this.now.main[0] : -1);
  }

  takeMetric(metric) {
    this.metric = metric;
    this.aggregate = metric < 0 ? "" : this.about.standard_aggregate;
  }

  /** Change what is chosen and tell everybody. */
  change(action) {
    action(this);
    return this.tell();
  }

  onChange(listener) {
    this.listeners.push(listener);
  }

  async tell() {
    // Numbers are unpacked on the way: a later choice must not be overtaken by an earlier one.
    this.turn += 1;
    const turn = this.turn;
    for (const listener of this.listeners) {
      await listener(this);
      if (turn !== this.turn) return;
    }
  }

  /** The coordinates that can group tracks: with at least two values, and not one for each track. */
  get groupable() {
    return this.now.trackCoords.filter(([, values]) => {
      const distinct = new Set(values).size;
      return distinct > 1 && distinct <= 60 && distinct < values.length;
    }).map(([name]) => name);
  }

  /** Groups of tracks by the chosen coordinate, as [value, positions]. */
  get groups() {
    const found = this.now.trackCoords.find(([name]) => name === this.by);
    if (!found) return [];
    const groups = new Map();
    found[1].forEach((value, track) => {
      const key = value === null || value === "" ? "(none)" : value;
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(track);
    });
    return [...groups].sort(([a], [b]) => (typeof a === "number" && typeof b === "number" ? a - b :
      String(a).localeCompare(String(b), "en", { numeric: true })));
  }
}

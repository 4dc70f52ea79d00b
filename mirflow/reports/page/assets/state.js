/** What is chosen, and who wants to know when that changes. */

import { fits, labelOf } from "./filter.js";

/**
 * @typedef {object} Chosen
 * @property {number} evaluation
 * @property {number} metric
 * @property {string} aggregate
 * @property {string} by a coordinate of tracks, or nothing
 * @property {string} asked what shall be done about missing scores, or nothing
 * @property {boolean} percent
 * @property {string} baseline the system with which the scorecard compares; empty: the best of each evaluation
 * @property {boolean} unfolded whether the table of systems is shown below the chart
 * @property {{column: string, turned: boolean}} ranking order of the table of systems
 * @property {string|number} across order of the heat map's tracks: a word, or the number of a system
 * @property {string} tones what the colours of the heat map are by: value or rank
 * @property {{by: string}} listing order of the list of tracks
 * @property {any[][]} filter chips: all numbers are of the tracks and systems that they leave; see filter.js
 * @property {{systems: number[], tracks: number[]}|null} shown positions of these; null where there is no filter
 * @property {{of: number, against: number}} pair two systems, track by track; -1 for the two best
 * @property {{of: number, right: number, kind: string, place: number}} wrong whose errors are listed (-1: the best system's), only those that
 *   another system has right (-1: all); the kind whose places a timeline goes through, and which one is open
 * @property {string} tab which parts of the page are shown; see tabs.js
 * @property {string} spread how the scores of all tracks are shown: heatmap or distributions
 * @property {string} part the only one that is shown, in a frame of another page; empty for all
 * @property {string} cells filter of the cells without a score
 * @property {{metric: number, system: number, rate: number, sorted: string}} extra the metric with extra dims and the system of its map;
 *   of its classes the value, and the column by which they are sorted, with a - in front from below
 * @property {{track: number, list: string, time: number, seen: number[]|null, loop: number[]|null, mix: number[], slow: boolean, ear: number,
 *   beside: number, rule: number, reference: number}} timeline
 *   `track`: -1 where none is open; `list`: where it was opened from: `tracks`, `heatmap` or `errors`; `seen`: the stretch of time, null for all of it; `loop`: what is
 *   repeated; `mix`: volumes of the recording, the reference and the system in percent; `ear`: the chosen system, -1 for the best; `beside`: the one with which
 *   it is compared, whose lane is next to its own, or -1; `rule`: -1 for the
 *   one of the chosen metric
 */

/** Evaluations from which on what is about all of them comes first. */
export const LISTED = 3;

/** What a reader asks, and the sections that answer it. */
export const TABS = [
  ["overview", "Overview", ["overview"]],
  ["ranking", "Ranking", ["ranking", "leaderboard", "tolerance"]],
  ["compare", "Compare", ["gains", "alike"]],
  ["tracks", "Tracks", ["tracks", "difficulty", "heatmap", "distributions"]],
  ["errors", "Errors", ["errors", "losses", "extras"]],
  ["references", "References", ["causes", "doubts"]],
  ["about", "About", ["coverage", "provenance"]],
];

/** What a section needs: systems and tracks. One that lacks them is left out, which About says. */
export const NEEDS = new Map([["gains", ["Gains and losses", 2, 2]], ["alike", ["Systems that are alike", 3, 6]], ["tracks", ["Tracks", 1, 1]],
  ["difficulty", ["Difficulty of the tracks", 2, 6]], ["heatmap", ["Tracks × systems", 2, 2]], ["distributions", ["Distributions over tracks", 1, 6]]]);

/** Where the timeline of a track is at first. */
export const BEGINNING = { time: 0, seen: null, loop: null };
/** Volumes of the recording, the reference and the system at first. */
export const MIX = [100, 100, 100];

export class State {
  /** @param {any} contents */
  constructor(contents) {
    this.contents = contents;
    this.listeners = [];
    this.turn = 0;
    /** Called with whether going back shall undo what has changed; see address.js. */
    this.remember = () => {};
    /** What a link asked for and the page does not have. */
    this.unknown = [];
    this.shown = null;
    /** Conditions in words that were given up with the evaluation that has such coordinates. */
    this.dropped = [];
    this.reset();
  }

  /** Everything as the page shows it at first. */
  reset() {
    this.percent = false;
    this.asked = "";
    this.unfolded = false;
    this.baseline = "";
    this.ranking = { column: "value", turned: false };
    this.across = "mean";
    this.tones = "value";
    this.listing = { by: "mean" };
    this.filter = [];
    this.pair = { of: -1, against: -1 };
    this.wrong = { of: -1, right: -1, kind: "", place: 0 };
    this.cells = "";
    this.part = "";
    this.tab = "ranking";
    this.spread = "heatmap";
    this.extra = { metric: 0, system: 0, rate: 0, sorted: "" };
    this.timeline = { ...BEGINNING, track: -1, list: "tracks", mix: [...MIX], slow: false, ear: -1, beside: -1, rule: -1, reference: 0 };
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
    return this.metric < 0 ? this.now.policies : this.about.policies;
  }

  /** What is done about them. */
  get missing() {
    return this.policies.includes(this.asked) ? this.asked : this.policies[0];
  }

  /** Look at an evaluation. */
  take(evaluation) {
    const labels = this.filter.map((chip) => labelOf(this, chip));
    this.evaluation = evaluation;
    this.by = "";
    this.dropped = labels.filter((_, place) => !fits(this.now, this.filter[place]));
    this.filter = this.filter.filter((chip) => fits(this.now, chip));
    if (typeof this.across === "number") this.across = "mean";
    this.timeline = { ...this.timeline, ...BEGINNING, track: -1, ear: -1, beside: -1, rule: -1, reference: 0 };
    this.extra = { metric: 0, system: 0, rate: 0, sorted: "" };
    this.pair = { of: -1, against: -1 };
    this.wrong = { of: -1, right: -1, kind: "", place: 0 };
    this.takeMetric(this.now.main.length ? this.now.main[0] : -1);
  }

  takeMetric(metric) {
    this.metric = metric;
    this.timeline.rule = -1;
    this.aggregate = metric < 0 ? "" : this.about.standard_aggregate;
  }

  /** Change what is chosen and notify the listeners. */
  change(action) {
    this.dropped = [];
    action(this);
    this.remember(true);
    return this.notify();
  }

  onChange(listener) {
    this.listeners.push(listener);
  }

  async notify() {
    // Numbers are unpacked on the way: a later choice must not be overtaken by an earlier one.
    this.turn += 1;
    const turn = this.turn;
    for (const listener of this.listeners) {
      await listener(this);
      if (turn !== this.turn) return;
    }
  }

  /** The place of that policy among those of the evaluation. */
  get policy() {
    return this.now.policies.indexOf(this.missing);
  }

  /** The coordinates that can group tracks. */
  get groupable() {
    return this.now.groupings.map(([name]) => name);
  }

  /** Whether an evaluation has what a section needs. */
  has(id) {
    const [, systems, tracks] = NEEDS.get(id);
    return this.contents.byTrack && this.now.systems.length >= systems && this.now.trackCount >= tracks;
  }

  /** Whether not a single score is there: why is said first. */
  get failed() {
    return this.now.lacking > 0 && this.now.lacking === this.now.systems.length * this.now.trackCount;
  }

  /** Positions of the systems that the numbers are about. */
  get shownSystems() {
    return this.shown ? this.shown.systems : this.now.systems.map((_, system) => system);
  }

  /** Positions of the tracks that the numbers are about. */
  get shownTracks() {
    return this.shown ? this.shown.tracks : this.now.tracks.map((_, track) => track);
  }

  /** Groups of the shown tracks by the chosen coordinate, as [value, positions]. */
  get groups() {
    const found = this.now.trackCoords.find(([name]) => name === this.by);
    if (!found) return [];
    const groups = new Map();
    this.shownTracks.forEach((track) => {
      const value = found[1][track];
      const key = value === null || value === "" ? "(none)" : value;
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(track);
    });
    return [...groups].sort(([a], [b]) => (typeof a === "number" && typeof b === "number" ? a - b :
      String(a).localeCompare(String(b), "en", { numeric: true })));
  }
}

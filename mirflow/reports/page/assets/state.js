/** What is chosen, and who wants to know when that changes. */

import { fits, labelOf } from "./filter.js";
import { byName } from "./numbers.js";

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
export const BEGINNING = { time: 0, seen: null, loop: null, corrected: false };
/** Volumes of the recording, the reference and the system at first. */
export const MIX = [100, 100, 100];
/** A timeline while none is open: of which track, where it was opened from, volumes, the chosen system, the one beside it, what judges, and the reference. */
export const CLOSED = { ...BEGINNING, track: -1, list: "tracks", mix: MIX, slow: false, ear: -1, beside: -1, rule: -1, reference: 0 };

export class State {
  /** `listeners` are told one after the other of each change. */
  constructor(contents, listeners = []) {
    Object.assign(this, { contents, listeners });
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
    /** Names of systems of the reader's own, which are shown whatever their place. */
    this.pinned = [];
    this.asked = "";
    this.unfolded = false;
    this.ranking = { column: "value", turned: false };
    this.across = "mean";
    this.listing = { by: "mean" };
    this.filter = [];
    this.cells = "";
    this.part = "";
    this.tab = "ranking";
    this.spread = "heatmap";
    this.timeline = { ...CLOSED, mix: [...MIX] };
    this.take(0);
  }

  get now() { return this.contents.evaluations[this.evaluation]; }

  get about() { return this.now.metrics[this.metric]; }

  /** What can be done about missing scores here, what is usual first. */
  get policies() { return this.metric < 0 ? this.now.policies : this.about.policies; }

  /** What is done about them. */
  get missing() { return this.policies.includes(this.asked) ? this.asked : this.policies[0]; }

  take(evaluation) {
    const labels = this.filter.map((chip) => labelOf(this, chip));
    this.evaluation = evaluation;
    this.by = "";
    this.dropped = labels.filter((_, place) => !fits(this.now, this.filter[place]));
    this.filter = this.filter.filter((chip) => fits(this.now, chip));
    if (typeof this.across === "number") this.across = "mean";
    const { list, mix, slow } = this.timeline;
    this.timeline = { ...CLOSED, list, mix, slow };
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

  /** Begin another timeline. */
  turnTo(changes) {
    this.timeline = { ...this.timeline, ...BEGINNING, ...changes };
    this.remember(true);
  }

  change(action) {
    this.dropped = [];
    action(this);
    this.remember(true);
    return this.notify();
  }

  async notify() {
    // Numbers are unpacked on the way: a later choice must not be overtaken by an earlier one.
    const turn = this.turn += 1;
    for (const listener of this.listeners) {
      await listener(this);
      if (turn !== this.turn) return;
    }
  }

  get policy() { return this.now.policies.indexOf(this.missing); }

  get groupable() { return this.now.groupings.map(([name]) => name); }

  has(id) {
    const [, systems, tracks] = NEEDS.get(id);
    return this.contents.byTrack && this.now.systems.length >= systems && this.now.trackCount >= tracks;
  }

  /** Whether not a single score is there: why is said first. */
  get failed() { return this.now.lacking > 0 && this.now.lacking === this.now.systems.length * this.now.trackCount; }

  get shownSystems() { return this.shown ? this.shown.systems : this.now.systems.map((_, system) => system); }

  get shownTracks() { return this.shown ? this.shown.tracks : this.now.tracks.map((_, track) => track); }

  /** Groups of the shown tracks by the chosen coordinate, as [value, positions]. */
  get groups() {
    const found = this.now.trackCoords.find(([name]) => name === this.by);
    if (!found) return [];
    const groups = Map.groupBy(this.shownTracks, (track) => ([null, ""].includes(found[1][track]) ? "(none)" : found[1][track]));
    return [...groups].sort(([a], [b]) => (typeof a === "number" && typeof b === "number" ? a - b : byName(String(a), String(b))));
  }
}

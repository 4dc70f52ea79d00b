/** Why scores are low: what would make a side right, as `mirflow diagnose` finds it. */

import { el, named, section, table, th } from "./dom.js";
import { count, formatter } from "./format.js";
import { verdictOn } from "./verdicts.js";

const ALL = "*";
const VERDICTS = [["", "–"], ["wrong", "wrong reference"], ["other", "other recording"], ["fine", "fine"]];

/** The findings about tracks that are shown, and about whole systems. */
function rowsOf({ now, shown, shownTracks }) {
  const rows = now.causes ? now.causes.rows : [];
  if (!shown) return rows;
  const names = new Set(shownTracks.map((track) => now.tracks[track]));
  return rows.filter(([track]) => track === ALL || names.has(track));
}

/** What is known of the scores of a track, in small letters; nothing of most. */
export function becauseOf({ now }, track) {
  const own = (now.causes ? now.causes.rows : []).filter(([name]) => name === track);
  if (!own.length) return null;
  const [[, system, , statement]] = own;
  return el("small", { class: "cause" }, `${system === ALL ? "" : `${own.map(([, name]) => name).join(", ")}: `}${statement}`);
}

/** Whether a whole reference seems wrong: its places are not worth a look one by one. */
export const isSuspect = ({ now }, track) => (now.causes ? now.causes.rows : []).some(([name, system, side]) =>
  name === track && system === ALL && side === "reference");

/**
 * @param {import("./state.js").State} state
 * @param {(track: number, list: string, at?: object) => void} open
 * @returns {Node|null} nothing where no cause was found
 */
export function drawCauses(state, open) {
  const rows = rowsOf(state);
  if (!rows.length) return null;
  const { systems, tracks, trackCount } = state.now;
  const write = formatter({ unit: "" }, state.percent);
  const body = rows.map(([track, system, side, statement, score, better]) => {
    const place = tracks.indexOf(track);
    const ear = systems.indexOf(system);
    const judged = side === "reference" ? verdictOn(`reference of ${track}`, `Verdict on the reference of ${track}`, VERDICTS) : el("td", {});
    return el("tr", {}, el("th", { scope: "row" }, place < 0 ? `all (${trackCount})` : el("button", { type: "button", class: "link", title: track,
      onclick: () => open(place, "tracks", ear < 0 ? {} : { ear }) }, named(state.now, "tracks", place))), el("td", {}, system === ALL ? "most systems" : named(state.now, "systems", ear)),
      el("td", { class: "prose" }, statement),
      [score, better].map((value) => el("td", { class: "number", "data-value": value }, write(value))), judged);
  });
  return section("causes", "Why scores are low", `${count(rows.length, "cause")} that would explain low scores: a side displaced, transposed, ` +
    "in another unit or of another track. The score is what it is, and what it would be without the cause; nothing was changed.",
    table([th("Track", "who"), th("System"), th("Cause"), th("Score", "number"), th("Would be", "number"), th("Verdict")], body, { id: "caused" }));
}

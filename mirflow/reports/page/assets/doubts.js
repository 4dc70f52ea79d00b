/** Where the systems agree against the reference: heard, judged by the reader, and exported as a patch. */

import { becauseOf, isSuspect } from "./causes.js";
import { el, named, onRequest, section, table, th } from "./dom.js";
import { clock, count } from "./format.js";
import { readJson } from "./data.js";
import { mend } from "./mending.js";
import { FETCHED } from "./source.js";
import { keep, kept, verdictOn } from "./verdicts.js";

const shown = { most: 10 };
const VERDICTS = [["", "–"], ["reference", "reference right"], ["consensus", "consensus right"], ["unclear", "unclear"]];
/** Seconds that are seen before and after a place. */
const AROUND = 4;
/** A place is the same in another report if the file of the reference and the consensus are the same. */
const keyOf = ({ track, digest, start, end, consensus }) => JSON.stringify([track, digest, start, end, consensus]);

const NOTE = "The systems agree with each other and not with the reference, the heaviest places first. A click opens the timeline " +
  "there, with the reference in the left ear and a system in the right. Verdicts are kept in this browser.";

/** @returns {Promise<Node|null>} nothing where the page has none */
export async function drawDoubts(state, open) {
  const { doubts } = state.now;
  if (doubts === undefined) return null;
  if (!FETCHED && !ofShown(state, await readJson(doubts))?.rows.length) return null;
  const holder = await onRequest(doubts, "Find these places", async () => {
    const found = ofShown(state, await readJson(doubts));
    return found && found.rows.length ? listOf(state, found, open) : [el("p", { role: "status" }, "There are none.")];
  });
  return section("doubts", "References to check", NOTE, holder);
}

/** The places on the tracks that the filter leaves, without those that one cause explains together. */
function ofShown(state, found) {
  if (!found) return found;
  const names = new Set(state.shownTracks.map((track) => state.now.tracks[track]));
  const rows = found.rows.filter(({ track }) => names.has(track) && !isSuspect(state, track));
  const left = new Set(found.rows.map(({ track }) => track).filter((track) => isSuspect(state, track))).size;
  return { ...found, rows, left, total: state.shown ? rows.length : found.total - (found.rows.length - rows.length) };
}

/** The places, and the way to a patch. */
function listOf(state, found, open) {
  const holder = el("div", {});
  const status = el("span", { class: "status", role: "status" });
  const redraw = () => holder.replaceChildren(tableOf(state, found, open, redraw));
  const author = el("input", { type: "text", name: "author", value: kept.author, autocomplete: "name",
    oninput: () => { kept.author = author.value; keep(); } });
  const download = () => {
    const rows = found.rows.filter((row) => kept.verdicts[keyOf(row)] === "consensus");
    const { patch, left } = mend(found.task, rows, kept.author.trim());
    const sayings = [[!rows.length, "Choose “consensus right” for a place first."], [!kept.author.trim(), "Enter your name first: a patch says who answers for it."],
      [!patch, "Rows of these places have to be edited by hand."]];
    const [, why] = sayings.find(([lacking]) => lacking) || [];
    status.textContent = why || `${count(rows.length - left, "place")} exported${left ? `, ${left} left to be edited by hand` : ""}.`;
    if (!why) save(patch);
  };
  redraw();
  return [holder, el("div", { class: "bar" }, el("label", { class: "choice" }, el("span", {}, "Your name"), author),
    el("button", { type: "button", class: "export", onclick: download }, "Export patch"), status)];
}

function save(patch) {
  const address = URL.createObjectURL(new Blob([`${JSON.stringify(patch, null, 1)}\n`], { type: "application/json" }));
  el("a", { href: address, download: `${patch.task}-patch.json` }).click();
  window.setTimeout(() => URL.revokeObjectURL(address), 1000);
}

function tableOf(state, { rows, total, left }, open, redraw) {
  const { tracks } = state.now;
  const timed = rows.some(({ start }) => start !== null);
  const several = rows.some(({ annotator }) => annotator);
  const heads = [th("Track", "who"), several ? th("Annotator") : null, timed ? th("From", "number") : null, timed ? th("To", "number") : null,
    th("Reference"), th("Systems"), th("Agree", "number"), th("Weight", "number"), th("Verdict")];
  const body = rows.slice(0, shown.most).map((row) => {
    const track = tracks.indexOf(row.track);
    const at = row.start === null ? {} : { time: row.start, seen: [Math.max(0, row.start - AROUND), row.end + AROUND] };
    const look = () => open(track, "tracks", { ...at, ear: row.system });
    return el("tr", {}, el("th", { scope: "row" }, el("button", { type: "button", class: "link", title: row.track, onclick: look }, track < 0 ? row.track : named(state.now, "tracks", track)), becauseOf(state, row.track)),
      several ? el("td", {}, row.annotator) : null,
      timed ? [row.start, row.end].map((time) => el("td", { class: "number" }, clock(time, 2))) : null,
      el("td", {}, row.reference || "nothing"), el("td", {}, row.consensus || "nothing"),
      el("td", { class: "number" }, `${row.systems} of ${row.of}`),
      el("td", { class: "number", "data-value": row.weight }, row.weight.toFixed(2)), verdictOn(keyOf(row), `Verdict on ${row.track}`, VERDICTS));
  });
  const more = rows.length > shown.most ? el("button", { type: "button", class: "more",
    onclick: () => { shown.most += 50; redraw(); } }, `Show more (${shown.most} of ${rows.length})`) :
    el("p", { class: "note" }, total > rows.length ? `The ${rows.length} heaviest of ${count(total, "place")}` : count(total, "place"));
  return el("div", {}, table(heads.filter(Boolean), body, { id: "doubted" }), more,
    left ? el("p", { class: "note" }, `Places of ${count(left, "track")} are left out: above is what would make their references right as a whole.`) : null);
}

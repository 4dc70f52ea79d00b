/** Why scores are low, where the systems agree against the reference, what the reader says of it, and patches made of that. */

import { FETCHED, onRequest, readJson } from "./data.js";
import { el, moreButton, named, opener, save, section, table, th } from "./dom.js";
import { clock, count, formatter } from "./numbers.js";
import { quotedCsv } from "./take.js";

const ALL = "*";
const VERDICTS = [["wrong", "wrong reference"], ["other", "other recording"], ["fine", "fine"]];

const rowsOf = ({ now }) => now.causes?.rows ?? [];
const shownNames = ({ now, shownTracks }) => new Set(shownTracks.map((track) => now.tracks[track]));

/** What is known of the scores of a track, in small letters; nothing of most. */
export function becauseOf(state, track) {
  const own = rowsOf(state).filter(([name]) => name === track);
  if (!own.length) return null;
  const [[, system, , statement, score, better, , , affected, of]] = own;
  const alike = own.filter((row) => row[3] === statement);
  const names = alike.flatMap((row) => row[8]).join(", ");
  const write = formatter({ unit: "" }, state.percent);
  const strength = [better > score ? `${write(score)} → ${write(better)}` : "", system === ALL ? `in ${affected.length} of ${count(of, "system")}` : ""].filter(Boolean).join(" ");
  // The scores of one system are not those of the others.
  return el("small", { class: "cause", title: names }, `${system === ALL ? "" : `${names}: `}${statement}${alike.length === 1 ? ` (${strength})` : ""}`);
}

/** Causes and places that are listed. */
const shown = { causes: 20, most: 10 };

/** Whether a whole reference seems wrong: its places are not worth a look one by one. */
export const isSuspect = (state, track) => rowsOf(state).some(([name, system, side]) => name === track && system === ALL && side === "reference");

/** The findings about tracks that are shown, and about whole systems; null where there are none. */
export function drawCauses(state, open) {
  const names = shownNames(state);
  const rows = rowsOf(state).filter(([track]) => !state.shown || track === ALL || names.has(track));
  if (!rows.length) return null;
  const { systems, tracks, trackCount } = state.now;
  const write = formatter({ unit: "" }, state.percent);
  const judging = rows.some(([, , side]) => side === "reference");
  const body = rows.slice(0, shown.causes).map(([track, system, side, statement, score, better, , , affected, of]) => {
    const place = tracks.indexOf(track);
    const ear = systems.indexOf(system);
    const judged = side === "reference" ? verdictOn(keyOfTrack(track), `Verdict on the reference of ${track}`, VERDICTS) : el("td", {});
    return el("tr", {}, el("th", { scope: "row" }, place < 0 ? `all (${trackCount})` : opener(named(state.now, "tracks", place), track,
      () => open(place, "tracks", ear < 0 ? {} : { ear }))), el("td", { class: "prose" }, statement),
      el("td", { class: "prose" }, system === ALL ? [`${affected.length} of ${of}`, el("small", { class: "quiet" }, " ", affected.join(", "))] : named(state.now, "systems", ear)),
      [score, better].map((value) => el("td", { class: "number", "data-value": value }, write(value))), judged);
  });
  const judged = () => rows.filter(([track, , side]) => side === "reference" && kept.verdicts[keyOfTrack(track)])
    .map(([track]) => [track, kept.verdicts[keyOfTrack(track)], kept.author, today()].map(quotedCsv).join(","));
  const exported = judging ? el("button", { type: "button", class: "verdicts",
    onclick: () => save(["track,verdict,author,date", ...judged()].join("\n"), "verdicts.csv", "text/csv") }, "Export verdicts") : null;
  return section("causes", "Why scores are low", `${count(rows.length, "cause")} that would explain low scores: a side displaced, transposed, ` +
    `in another unit or of another track. The score is what it is, and what it would be without the cause; nothing was changed.${judging ? " Verdicts are kept in this browser." : ""}`,
    table([th("Track", "who"), th("Cause"), th("Systems"), th("Score", "number"), th("Without it", "number"), th("Verdict")], body, { id: "caused" }), moreButton(body.length, rows.length, () => { shown.causes += 50; state.notify(); }), exported);
}

const keyOfTrack = (track) => `reference of ${track}`;
const today = () => new Date().toISOString().slice(0, 10);

const STORED = "mirflow verdicts";
const kept = { author: "", verdicts: {} };

/** The page works all the same where the browser keeps nothing. */
const attempt = (action) => { try { action(); } catch { /* Verdicts are there until the page is closed. */ } };
const keep = () => attempt(() => localStorage.setItem(STORED, JSON.stringify(kept)));
attempt(() => Object.assign(kept, JSON.parse(localStorage.getItem(STORED) || "{}")));

/** Buttons for verdicts, by the key of what they are about, a second press takes one back; their cell copies as what is chosen. */
function verdictOn(key, label, options) {
  const cell = el("td", {}, el("span", { class: "verdicts", role: "group", "aria-label": label }, options.map(([value, text]) =>
    el("button", { type: "button", value, onclick: () => {
      kept.verdicts[key] = kept.verdicts[key] === value ? "" : value;
      keep();
      show();
    } }, text))));
  const show = () => {
    for (const button of cell.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.value === kept.verdicts[key]));
    cell.dataset.name = cell.querySelector("[aria-pressed=true]")?.textContent ?? "";
  };
  show();
  return cell;
}

const PLACE_VERDICTS = [["reference", "reference right"], ["consensus", "consensus right"], ["unclear", "unclear"]];
/** Seconds that are seen before and after a place. */
const AROUND = 4;
/** A place is the same in another report if the file of the reference and the consensus are the same. */
const keyOf = ({ track, digest, start, end, consensus }) => JSON.stringify([track, digest, start, end, consensus]);

/** A card of places of references that the systems contradict; null where the page has none. */
export async function drawDoubts(state, open) {
  const { doubts } = state.now;
  if (doubts === undefined) return null;
  if (!FETCHED && !ofShown(state, await readJson(doubts))?.rows.length) return null;
  const holder = await onRequest(doubts, "Find these places", async () => {
    const found = ofShown(state, await readJson(doubts));
    return found?.rows.length ? placesList(state, found, open) : [el("p", { role: "status" }, "There are none.")];
  });
  return section("doubts", "References to check", "The systems agree with each other and not with the reference, the heaviest places first. A click opens the timeline " +
    "there, with the reference in the left ear and a system in the right. Verdicts are kept in this browser.", holder);
}

/** The places on the tracks that the filter leaves, without those that one cause explains together. */
function ofShown(state, found) {
  if (!found) return null;
  const names = shownNames(state);
  const rows = found.rows.filter(({ track }) => names.has(track) && !isSuspect(state, track));
  const left = new Set(found.rows.map(({ track }) => track).filter((track) => isSuspect(state, track))).size;
  return { ...found, rows, left, total: state.shown ? rows.length : found.total - (found.rows.length - rows.length) };
}

/** The places, and the way to a patch. */
function placesList(state, found, open) {
  const holder = el("div", {});
  const status = el("span", { class: "status", role: "status" });
  const { rows, total, left } = found;
  const timed = rows.some(({ start }) => start !== null);
  const several = rows.some(({ annotator }) => annotator);
  const redraw = () => {
    const heads = [th("Track", "who"), several ? th("Annotator") : null, timed ? th("From", "number") : null, timed ? th("To", "number") : null,
      th("Reference"), th("Systems"), th("Agree", "number"), th("Weight", "number"), th("Verdict")];
    const body = rows.slice(0, shown.most).map((row) => {
      const track = state.now.tracks.indexOf(row.track);
      const at = row.start === null ? {} : { time: row.start, seen: [Math.max(0, row.start - AROUND), row.end + AROUND] };
      const look = () => open(track, "tracks", { ...at, ear: row.system });
      return el("tr", {}, el("th", { scope: "row" }, opener(track < 0 ? row.track : named(state.now, "tracks", track), row.track, look), becauseOf(state, row.track)),
        several ? el("td", {}, row.annotator) : null,
        timed ? [row.start, row.end].map((time) => el("td", { class: "number" }, clock(time, 2))) : null,
        el("td", {}, row.reference || "nothing"), el("td", {}, row.consensus || "nothing"),
        el("td", { class: "number" }, `${row.systems} of ${row.of}`),
        el("td", { class: "number", "data-value": row.weight }, row.weight.toFixed(2)), verdictOn(keyOf(row), `Verdict on ${row.track}`, PLACE_VERDICTS));
    });
    const more = moreButton(shown.most, rows.length, () => { shown.most += 50; redraw(); }) ??
      el("p", { class: "note" }, total > rows.length ? `The ${rows.length} heaviest of ${count(total, "place")}` : count(total, "place"));
    holder.replaceChildren(table(heads.filter(Boolean), body, { id: "doubted" }), more,
      left ? el("p", { class: "note" }, `Places of ${count(left, "track")} are left out: above is what would make their references right as a whole.`) : "");
  };
  const author = el("input", { type: "text", name: "author", value: kept.author, autocomplete: "name",
    oninput: () => { kept.author = author.value; keep(); } });
  const download = () => {
    const chosen = rows.filter((row) => kept.verdicts[keyOf(row)] === "consensus");
    // Rows of the reference that are not known have to be edited by hand.
    const able = chosen.filter(({ old }) => old);
    const why = !chosen.length ? "Choose “consensus right” for a place first." : !kept.author.trim() ? "Enter your name first: a patch says who answers for it." :
      !able.length ? "Rows of these places have to be edited by hand." : "";
    const unable = chosen.length - able.length;
    status.textContent = why || `${count(able.length, "place")} exported${unable ? `, ${unable} left to be edited by hand` : ""}.`;
    if (!why) save(`${JSON.stringify({ task: found.task, tracks: mend(able) }, null, 1)}\n`, `${found.task}-patch.json`, "application/json");
  };
  redraw();
  return [holder, el("div", { class: "bar" }, el("label", { class: "choice" }, el("span", {}, "Your name"), author),
    el("button", { type: "button", class: "export", onclick: download }, "Export patch"), status)];
}

/** The corrections of a patch, one for each reference. */
const mend = (rows) => [...Map.groupBy(rows, ({ track, annotator }) => JSON.stringify([track, annotator])).values()].map((own) => {
  const [{ track, annotator, digest }] = own;
  const said = own.map(({ systems, of, reference, consensus, start }) => `${systems} of ${of} systems agree on ${consensus || "nothing"}, ` +
    `not ${reference || "nothing"}${start === null ? "" : `, at ${start.toFixed(2)} s`}`);
  return { track, digest, rows: editsOf(own), author: kept.author.trim(), reason: said.join("; "), date: today(), ...(annotator && { annotator }) };
});

/** The edits of one reference. Several places may touch the same row, which is then edited once. */
function editsOf(places) {
  const [{ old: [first] = [{}] }] = places;
  if (places.some((place) => place.new)) {
    return places.flatMap((place) => [...place.old.map((row) => ({ old: [row] })), ...(place.new.length ? [{ new: place.new }] : [])]);
  }
  if (first.start === undefined) return places.map(({ old, consensus }) => ({ old, new: [{ label: consensus }] }));
  const touched = new Map(places.flatMap(({ old }) => old).map((row) => [JSON.stringify(row), row]));
  return [...touched.values()].sort((a, b) => a.start - b.start).map((row) => ({ old: [row], new: cut(row, places) }));
}

/** A row of the reference, cut at the places and with what the systems say there. */
function cut(row, places) {
  const bounds = [row.start, ...places.flatMap(({ start, end }) => [start, end]).filter((time) => time > row.start && time < row.end), row.end].sort((a, b) => a - b);
  const pieces = [];
  bounds.slice(1).forEach((end, at) => {
    const [start, middle, last] = [bounds[at], (bounds[at] + end) / 2, pieces.at(-1)];
    const { consensus: label } = places.find((place) => place.start < middle && middle < place.end) || { consensus: row.label };
    if (last && last.label === label) last.end = end;
    else if (end > start) pieces.push({ start, end, label });
  });
  return pieces;
}

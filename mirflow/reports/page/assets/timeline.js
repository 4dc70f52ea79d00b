/** The timeline of a track: a dialog with lanes, to look at and to listen to. */

import { endOf, unpackAnnotation, unpackEvidence } from "./annotations.js";
import { FETCHED, readFloats, readScores, readTimeline } from "./data.js";
import { detailsOf, el, table, th, tr } from "./dom.js";
import { listPlaces } from "./errors.js";
import { chosenOf, drawItems, evidenceOf, explainItems } from "./evidence.js";
import { LanesView } from "./lanesview.js";
import { byNumber, formatter, shortName, titleOf } from "./numbers.js";
import { timelineMenu } from "./offers.js";
import { recordingOf } from "./recording.js";
import { becauseOf } from "./references.js";
import { player } from "./sound.js";
import { acceptFiles, toolbar } from "./toolbar.js";
import { WAYS, orderColumns, orderTracks } from "./tracks.js";

const REST = 250;

/** What a track holds: lanes for the references and for every system; null where the page has none. */
export async function readTrack(state, track) {
  const found = await readTimeline(state.evaluation, state.now.tracks[track], state.metric < 0 ? "" : state.about.name);
  if (!found) return null;
  const { annotations, verdicts, rules, able, changed, audio, peaks } = found;
  const vocabulary = found.vocabulary.map(([text, root = -1, pitches = 0, bass = -1], at) => ({ text, root, pitches, bass, tonal: found.vocabulary[at].length > 1 }));
  const unpack = (place) => (typeof place === "string" ? place : unpackAnnotation(annotations[place], vocabulary));
  return {
    references: found.references.map(([place, annotator]) => ({ annotation: unpack(place), annotator })),
    // By each of the references, by each rule.
    estimates: found.estimates.map((place, system) => ({ annotation: unpack(place), system,
      evidence: found.evidence.map((judged) => judged[system].map((one) => unpackEvidence(one, verdicts))) })),
    rules, able, changed, audio, peaks,
    duration: state.now.duration === null ? 0 : (await readFloats(state.now.duration))[track],
  };
}

/** Open the timeline of a track, from a list: `tracks`, `heatmap` or `errors`; at a place of it, `at`, as the state has it. */
export function openTrack(state, track, list, at = {}) {
  state.turnTo({ beside: -1, track, list, ...at });
  return settleTimeline(state);
}

/** Show the timeline that is chosen, or none. */
export async function settleTimeline(state) {
  const open = /** @type {HTMLDialogElement|null} */ (document.getElementById("timeline"));
  if (state.timeline.track < 0) return open?.close();
  if (open) return showTrack(state, open);
  const back = document.activeElement;
  const dialog = el("dialog", { id: "timeline", "aria-labelledby": "timeline-title" }, el("div", { class: "inner" }));
  dialog.addEventListener("keydown", (event) => {
    const by = { n: 1, p: -1 }[event.key];
    if (!by || event.ctrlKey || event.metaKey || event.altKey || /** @type {Element} */ (event.target).matches("input, select, textarea")) return;
    /** @type {HTMLElement|null} */ (dialog.querySelector(`[data-step="${by}"]`))?.click();
  });
  dialog.addEventListener("close", () => {
    player.stop();
    dialog.remove();
    if (state.timeline.track >= 0) state.turnTo({ track: -1 });
    // The table may have been drawn anew: the button of the same track is as good as the one that was pressed.
    const target = back !== document.body && back?.isConnected ? back : document.querySelector(`#tracks button[data-track="${dialog.dataset.track}"]`);
    target?.focus();
  });
  document.body.append(dialog);
  if (FETCHED) {
    dialog.classList.add("narrow");
    dialog.firstElementChild.append(el("h2", { id: "timeline-title" }, state.now.tracks[state.timeline.track]),
      el("p", { class: "note", role: "status" }, "Reading the annotations …"));
    dialog.showModal();
  }
  await showTrack(state, dialog);
  if (!dialog.isConnected) return;
  if (!dialog.open) dialog.showModal();
  (dialog.querySelector("canvas[tabindex]") || dialog.querySelector("button.play") || dialog.querySelector("button")).focus();
}

/**
 * What the arrows go through: the tracks of the list that was clicked, or the places of a kind of errors, each as what it changes of the
 * timeline; which one is open; and the words for its order.
 */
async function listOf(state) {
  const { across, listing, timeline, now } = state;
  if (timeline.list === "errors") {
    const places = await listPlaces(state);
    if (places) return { ...places, at: state.wrong.place, put: (next) => { state.wrong.place = next; } };
  }
  const order = timeline.list === "heatmap" ? across : listing.by;
  const found = timeline.list === "heatmap" ? (await orderColumns(state)).columns : await orderTracks(state, order);
  const words = typeof order === "number" ? `the worst of ${now.systems[order]} first` : new Map(WAYS).get(order);
  // A link may name a track that its filter does not leave.
  const tracks = found.includes(timeline.track) ? found : [timeline.track];
  return { members: tracks.map((track) => ({ track })), at: tracks.indexOf(timeline.track), put: () => {}, what: "track",
    words: tracks === found ? words : "not among the tracks of the filter" };
}

async function showTrack(state, dialog) {
  player.stop();
  const content = dialog.firstElementChild;
  const { track } = state.timeline;
  dialog.dataset.track = String(track);
  let found = null;
  try {
    found = await readTrack(state, track);
  } catch {
    return content.replaceChildren(el("h2", { id: "timeline-title" }, state.now.tracks[track]),
      el("p", { class: "warning", role: "alert" }, "The timeline could not be loaded; close it and open it again."),
      el("button", { type: "button", onclick: () => dialog.close() }, "Close"));
  }
  const list = await listOf(state);
  // Another track may have been chosen before this one was there.
  if (state.timeline.track !== track) return;
  const drawn = found && found.references.length + found.estimates.length > 0;
  dialog.classList.toggle("narrow", !drawn);
  const { tracks } = state.now;
  const step = (by) => async () => {
    const next = (list.at + by + list.members.length) % list.members.length;
    const onLanes = document.activeElement instanceof HTMLCanvasElement;
    list.put(next);
    state.turnTo(list.members[next]);
    await showTrack(state, dialog);
    content.querySelector(onLanes ? "canvas[tabindex]" : `[data-step='${by}']`)?.focus();
  };
  const head = el("div", { class: "title" }, el("h2", { id: "timeline-title", title: tracks[track] }, tracks[track]),
    el("span", { class: "details" }, detailsOf(state.now.trackCoords, track).slice(0, 6).join(" · ")),
    el("span", { class: "place", title: list.words }, `${list.at + 1} of ${list.members.length}`, el("span", {}, `, ${list.words}`)),
    [["Previous", -1, "‹", "P"], ["Next", 1, "›", "N"]].map(([word, by, sign, key]) => el("button", { type: "button", "data-step": by,
      "aria-label": `${word} ${list.what}`, title: `${word} ${list.what} of the list (${key})`, "aria-keyshortcuts": key, onclick: step(by) }, sign)),
    el("button", { type: "button", class: "close", "aria-label": "Close", onclick: () => dialog.close() }, "×"));
  const scores = await scoresOf(state, track);
  if (!drawn) {
    const sound = found && el("audio", { controls: true, preload: "metadata", src: found.audio, "aria-label": "The recording" });
    const values = table([th("System"), th(state.metric < 0 ? "" : titleOf(state.about), "number")], scores.order.map((system) => tr(state.now.systems[system], [scores.texts[system]], "number")), { label: "Scores" });
    return content.replaceChildren(head, sound || "", el("p", { class: "note" }, `This track has no timeline. ${state.now.timeline.note}`.trim()), values);
  }
  // A row of one annotator shows what that one says.
  const annotator = (state.now.trackCoords.find(([name]) => name === "annotator") || [])[1];
  const asked = annotator ? found.references.findIndex((one) => one.annotator === annotator[track]) : -1;
  if (asked >= 0) state.timeline.reference = asked;
  const { ear, beside } = state.timeline;
  // Two that are compared are next to each other.
  const leading = beside < 0 || ear < 0 ? [] : [ear, beside];
  found.estimates = [...new Set([...leading, ...scores.order])].map((system) => found.estimates[system]);
  const drawable = [...found.references, ...found.estimates].some(({ annotation }) => typeof annotation !== "string" && annotation.start !== null);
  dialog.classList.toggle("narrow", !drawable);
  const stage = { state, track, found, scores, content, head, list, recording: recordingOf(tracks[track], found), chosen: chosenOf(state, found, scores) };
  if (drawable) drawLanes(stage);
  else drawTexts(stage);
}

/** The scores of a track as text, and its systems, the best first. */
export async function scoresOf(state, track) {
  const { systems, tracks } = state.now;
  const order = systems.map((_, system) => system);
  if (state.metric < 0) return { texts: systems.map(() => ""), order };
  const numbers = await readScores(state.now, state.metric);
  const write = formatter(state.about, state.percent);
  const own = order.map((system) => numbers.score[system * tracks.length + track]);
  const { sign } = state.about;
  if (sign) order.sort((a, b) => byNumber(own[a], own[b], -sign) || a - b);
  return { texts: own.map(write), order };
}

/** The lanes of a track, and how long the longest is. */
export function lanesOf({ found, scores, state: { now } }) {
  const lanes = [...found.references.map(({ annotation, annotator }) => ({ annotation, evidence: [], score: "",
    name: annotator ? `reference (${annotator})` : "reference", system: -1 })),
  ...found.estimates.map(({ annotation, evidence, system }) => ({ annotation, evidence, system, score: scores.texts[system],
    name: now.systems[system], short: shortName(now, "systems", system) }))];
  return { lanes, whole: Math.max(1, ...lanes.map((lane) => (typeof lane.annotation === "string" ? 0 : endOf(lane.annotation)))) };
}

function drawLanes(stage) {
  const { state, found, content, head, list, chosen } = stage;
  const { timeline, now } = state;
  // Those of the low scores without which its lanes can be drawn.
  const causes = (now.causes?.rows ?? []).filter(([name, , , , , , cause]) => name === now.tracks[stage.track] && CHANGES.has(cause));
  const { lanes: scored, whole } = lanesOf(stage);
  const lanes = timeline.corrected ? withoutCauses(scored, causes, now.systems, formatter({ unit: "" }, state.percent)) : scored;
  stage.length = found.duration || whole;
  const unit = now.timeline.form === "patterns" ? "quarter notes" : "";
  const spoken = el("p", { class: "unseen", "aria-live": "polite" });
  let resting = 0;
  const view = new LanesView(lanes, stage.recording, whole, unit, state.metric < 0 ? "" : titleOf(state.about), chosen, {
    choose: (system) => {
      timeline.ear = system;
      state.remember(false);
      stage.restart();
      content.querySelector(".tools select[name='ear']").value = String(system);
      stage.forget();
      view.draw();
    },
    toggle: () => stage.toggle(),
    say: (text) => { content.querySelector(".clock").textContent = text; },
    announce: (text) => {
      // A key that is held would say more than anybody can listen to.
      window.clearTimeout(resting);
      resting = window.setTimeout(() => { spoken.textContent = text; }, REST);
    },
    moved: () => {
      if (state.timeline !== timeline) return;
      Object.assign(timeline, { time: view.cursor, seen: [view.from, view.to] });
      state.remember(false);
    },
    // What plays goes on from there.
    sought: () => { if (player.playing) { player.stop(); stage.toggle(); } },
  });
  content.replaceChildren(head, changesOf(state, found), ...toolbar(stage, () => {
    view.arrange();
    view.draw();
    view.read();
    stage.forget();
  }, view), view.node, spoken,
    el("p", { class: "note keys" }, "Wheel, two fingers or + and − zoom, drag or Shift with the arrow keys pans, a click or the arrow keys " +
      "move the cursor, Space plays, a click on a lane or up and down choose its system, L repeats the span that is selected by dragging with Shift or " +
      `by [ and ], H plays at half speed, M, R and S mute music, reference and system, W goes to the worst place, N and P go to the next and the previous ${list.what}, Esc closes.`));
  if (causes.length) {
    const box = el("input", { type: "checkbox", name: "corrected", checked: timeline.corrected, onchange: () => {
      state.timeline.corrected = box.checked;
      state.remember(false);
      player.stop();
      drawLanes(stage);
      content.querySelector("[name=corrected]").focus();
    } });
    content.querySelector(".marks").before(el("label", { class: "choice tick" }, box, el("span", {}, `Draw without the cause: ${becauseOf(state, causes[0][0]).textContent}`)));
  }
  acceptFiles(stage, content);
  stage.renew = () => {
    player.stop();
    stage.recording = recordingOf(now.tracks[stage.track], found);
    drawLanes(stage);
    content.querySelector("button[name=recording]").focus();
  };
  view.start(timeline);
  content.append(timelineMenu(stage, view));
}

/** What is drawn here although it is not what was scored. */
function changesOf(state, { changed }) {
  if (!changed.length) return "";
  const names = changed.map((system) => (system < 0 ? "the reference" : state.now.systems[system]));
  const shown = names.length > 6 ? `${names.slice(0, 5).join(", ")} and ${names.length - 5} more` : names.join(", ");
  return el("p", { class: "warning", role: "note" }, `Changed since it was scored: ${shown}. ` +
    "The scores are of the files as they were, what is drawn is of the files as they were when this page was made.");
}

/** Annotations without a time axis: as chips and strips. */
function drawTexts(stage) {
  const { state, found, content, head, chosen } = stage;
  const rows = lanesOf(stage).lanes.map(({ name, annotation, evidence, score }) => el("tr", {}, el("th", { scope: "row" }, name),
    el("td", {}, drawItems(annotation, evidenceOf(chosen, evidence))), el("td", { class: "number" }, score)));
  const heads = [th("Side"), th("Items"), th(state.metric < 0 ? "Score" : titleOf(state.about), "number")];
  const marks = explainItems(found.estimates.map(({ evidence }) => evidenceOf(chosen, evidence)));
  content.replaceChildren(head, changesOf(state, found), ...toolbar(stage, () => drawTexts(stage), null), marks ? el("p", { class: "note" }, marks) : "",
    table(heads, rows, { class: "texts", label: "Annotations" }));
}

const NAMES = ["C", "Db", "D", "Eb", "E", "F", "Gb", "G", "Ab", "A", "Bb", "B"];

function transposed(label, by) {
  if (label.root < 0) return label;
  const root = (((label.root + by) % 12) + 12) % 12;
  return { ...label, root, text: label.text.replace(/^[A-G][#b]*/, NAMES[root]) };
}

const CHANGES = new Map([
  ["displacement", ({ start, end, ...rest }, by) => ({ ...rest, start: start.map((time) => time + by), end: end?.map((time) => time + by) })],
  ["transposition", ({ labels, pitch, ...rest }, by) => ({ ...rest, labels: labels?.map((label) => transposed(label, by)), pitch: pitch?.map((one) => one + by) })],
]);

/** Lanes without these causes; what is judged of the ones that change is not known. */
function withoutCauses(lanes, rows, systems, write) {
  const moved = rows.some(([, , side]) => side === "reference");
  return lanes.map((lane) => {
    const own = rows.find(([, system, side]) => (side === "reference") === (lane.system < 0) && (lane.system < 0 || system === "*" || system === systems[lane.system]));
    const changed = own && typeof lane.annotation !== "string" && lane.annotation.start;
    const annotation = changed ? CHANGES.get(own[6])(lane.annotation, own[7]) : lane.annotation;
    const score = changed && own[1] !== "*" ? `${lane.score} → ${write(own[5])}` : lane.score;
    return { ...lane, annotation, score, evidence: changed || moved ? [] : lane.evidence };
  });
}

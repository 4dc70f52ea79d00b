/** The timeline of a track: a dialog with lanes, to look at and to listen to. */

import { endOf, unpackAnnotation, unpackEvidence, readVocabulary } from "./annotations.js";
import { choice, el } from "./dom.js";
import { clock, formatter, titleOf } from "./format.js";
import { Player, soundsOf } from "./sound.js";
import { readJson, readScores } from "./data.js";
import { LanesView } from "./lanesview.js";

const player = new Player();
/** What stays as it was chosen from one track to the next. */
const kept = { ear: 0, rule: 0, reference: 0 };

/** What a track holds: lanes for the references and for every system; null where the page has none. */
async function readTrack(state, track) {
  const { contents, now } = state;
  const name = now.tracks[track];
  const found = contents.timelines.find(([one]) => one === name);
  if (!found) return null;
  const { annotations, evaluations } = await readJson(found[1]);
  const own = evaluations.find(([number]) => number === (now.timeline.of ?? state.evaluation));
  if (!own) return null;
  const vocabulary = readVocabulary(await readJson(contents.vocabulary));
  const unpack = (place) => (typeof place === "string" ? place : unpackAnnotation(annotations[place], vocabulary));
  return {
    references: own[1].references.map(([place, annotator]) => ({ annotation: unpack(place), annotator })),
    // By each of the references, by each rule.
    estimates: own[1].estimates.map((place, system) => ({ annotation: unpack(place), system,
      evidence: own[1].evidence.map((judged) => judged[system].map((one) => unpackEvidence(one, contents.verdicts))) })),
    changed: own[1].changed,
  };
}

/** Open the timeline of a track. */
export async function openTrack(state, track) {
  document.getElementById("timeline")?.remove();
  const back = document.activeElement;
  const content = el("div", { class: "inner" });
  const dialog = el("dialog", { id: "timeline", "aria-labelledby": "timeline-title" }, content);
  dialog.addEventListener("close", () => {
    player.stop();
    dialog.remove();
    // The table may have been drawn anew: the button of the same track is as good as the one that was pressed.
    const button = document.querySelector(`#tracks button[data-track="${dialog.dataset.track}"]`);
    const target = back && back !== document.body && back.isConnected ? back : button;
    if (target) target.focus();
  });
  document.body.append(dialog);
  await showTrack(state, track, dialog, content);
  if (!dialog.open) dialog.showModal();
  (dialog.querySelector("canvas") || dialog.querySelector("button.play") || dialog.querySelector("button")).focus();
}

async function showTrack(state, track, dialog, content) {
  player.stop();
  dialog.dataset.track = String(track);
  const found = await readTrack(state, track);
  dialog.classList.toggle("narrow", !found);
  const { tracks } = state.now;
  const step = (by) => async () => {
    const next = (track + by + tracks.length) % tracks.length;
    await showTrack(state, next, dialog, content);
    content.querySelector(by < 0 ? "[data-step='-1']" : "[data-step='1']").focus();
  };
  const head = el("div", { class: "title" }, el("h2", { id: "timeline-title" }, tracks[track]),
    el("span", { class: "details" }, detailsOf(state, track)),
    el("button", { type: "button", "data-step": "-1", "aria-label": "Previous track", onclick: step(-1) }, "‹"),
    el("button", { type: "button", "data-step": "1", "aria-label": "Next track", onclick: step(1) }, "›"),
    el("button", { type: "button", class: "close", "aria-label": "Close", onclick: () => dialog.close() }, "×"));
  if (!found) {
    const { note } = state.now.timeline;
    content.replaceChildren(head, el("p", { class: "note" }, note || "There is no timeline of this track."), await scoresTable(state, track));
    return;
  }
  // A row of one annotator shows what that one says.
  const annotator = (state.now.trackCoords.find(([name]) => name === "annotator") || [])[1];
  const asked = annotator ? found.references.findIndex((one) => one.annotator === annotator[track]) : -1;
  if (asked >= 0) kept.reference = asked;
  const scores = await scoresOf(state, track);
  const first = [...found.references, ...found.estimates].find(({ annotation }) => typeof annotation !== "string");
  const drawable = first && first.annotation.start !== null;
  dialog.classList.toggle("narrow", !drawable);
  const stage = { state, track, found, scores, content, head };
  if (drawable) drawLanes(stage);
  else drawTexts(stage);
}

function detailsOf(state, track) {
  const { trackCoords } = state.now;
  return trackCoords.map(([name, values]) => (values[track] === "" || values[track] === null ? "" : `${name} ${values[track]}`))
    .filter(Boolean).slice(0, 6).join(" · ");
}

async function scoresOf(state, track) {
  if (state.metric < 0) return state.now.systems.map(() => "");
  const numbers = await readScores(state.now, state.metric);
  const write = formatter(state.about, state.percent);
  return state.now.systems.map((_, system) => write(numbers.score[system * state.now.tracks.length + track]));
}

async function scoresTable(state, track) {
  const scores = await scoresOf(state, track);
  const name = state.metric < 0 ? "" : titleOf(state.about);
  return el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "System"),
    el("th", { scope: "col", class: "number" }, name))), el("tbody", {}, state.now.systems.map((system, place) =>
    el("tr", {}, el("th", { scope: "row" }, system), el("td", { class: "number" }, scores[place]))))));
}

/** The bar with what plays and what is judged. */
function toolbar(stage, redraw, view) {
  const { state, found } = stage;
  const { rules } = state.now.timeline;
  const sounding = [...found.references, ...found.estimates].some(({ annotation }) =>
    typeof annotation !== "string" && soundsOf(annotation).length > 0);
  const play = el("button", { type: "button", class: "play", disabled: !sounding, title: sounding ? null : "Nothing here sounds" }, "Play");
  const toggle = () => {
    if (!sounding) return;
    if (player.playing) {
      player.stop();
      play.textContent = "Play";
      return;
    }
    const left = found.references[Math.min(kept.reference, found.references.length - 1)];
    const right = found.estimates[Math.min(kept.ear, found.estimates.length - 1)];
    const ears = [left, right].map((side) => (side && typeof side.annotation !== "string" ? soundsOf(side.annotation) : []));
    const end = ears.flat().reduce((last, one) => Math.max(last, one.time + one.length), 0);
    const from = view && view.cursor < end - 0.05 ? Math.max(0, view.cursor) : 0;
    play.textContent = "Stop";
    player.play(ears, from, end, () => { play.textContent = "Play"; });
    if (view) follow(view);
  };
  play.addEventListener("click", toggle);
  stage.toggle = toggle;
  stage.restart = () => {
    if (!player.playing) return;
    if (view) view.cursor = player.time;
    player.stop();
    toggle();
  };
  const ear = choice("Right ear", state.now.systems.map((name, system) => [system, name]), Math.min(kept.ear, state.now.systems.length - 1),
    (value) => { kept.ear = Number(value); stage.restart(); redraw(); });
  const left = found.references.length > 1 ? choice("Reference, left ear", found.references.map((one, at) =>
    [at, one.annotator || `reference ${at + 1}`]), Math.min(kept.reference, found.references.length - 1),
  (value) => { kept.reference = Number(value); stage.restart(); redraw(); }) : null;
  const rule = rules.length > 1 ? choice("Judged by", rules.map((name, at) => [at, name]), kept.rule,
    (value) => { kept.rule = Number(value); redraw(); }) :
    rules.length ? el("span", { class: "note" }, `judged by ${rules[0]}`) : null;
  const zoom = view ? [["−", "Zoom out", 0.5], ["+", "Zoom in", 2]].map(([text, name, by]) => el("button", { type: "button",
    "aria-label": name, onclick: () => view.zoom(by, view.cursor) }, text)) : [];
  const fit = view ? el("button", { type: "button", onclick: () => view.fit() }, "All") : null;
  return el("div", { class: "bar tools" }, play, left, ear, rule, ...zoom, fit, legendOf(found),
    el("span", { class: "clock", "aria-live": "off" }));
}

function legendOf(found) {
  const evidence = found.estimates.flatMap((one) => one.evidence.flat()).find((one) => one);
  if (!evidence || evidence.rows || !evidence.verdict) return null;
  const says = (...words) => evidence.verdict.some((one) => words.includes(one));
  const marks = evidence.start ? [["good", "▮ right"], ["bad", "▖ wrong"], ["none", "▁ not judged"]] :
    evidence.notes || evidence.points ? [["good", "▬ hit"], ["bad", "─ too many"], ["none", "▬ the reference"]] :
      says("aligned", "misaligned") ? [["good", "| aligned"], ["bad", "○ missed"], ["bad", "× misaligned or of no note"]] :
      says("hit", "missed", "extra") ? [["good", "| hit"], ["bad", "○ missed"], ["bad", "× too many"]] :
        [["good", "| right"], ["bad", "× wrong"]];
  return el("span", { class: "legend" }, marks.map(([kind, text]) => el("span", { class: kind }, text)));
}

/** A number with some digits; what is none is a question mark. */
const plain = (value, digits) => (value === null ? "?" : String(Number(value.toPrecision(digits))));

/** The cursor goes with the sound. */
function follow(view) {
  const go = () => {
    if (!player.playing || !view.canvas.isConnected) return;
    view.moveTo(player.time, true);
    requestAnimationFrame(go);
  };
  requestAnimationFrame(go);
}

function drawLanes(stage) {
  const { state, found, scores, content, head } = stage;
  const lanes = [...found.references.map(({ annotation, annotator }) => ({ annotation, evidence: [], score: "",
    name: annotator ? `reference (${annotator})` : "reference", system: -1 })),
  ...found.estimates.map(({ annotation, evidence, system }) => ({ annotation, evidence, system, score: scores[system],
    name: state.now.systems[system] }))];
  const whole = Math.max(1, ...lanes.map((lane) => (typeof lane.annotation === "string" ? 0 : endOf(lane.annotation))));
  const unit = state.now.timeline.kind === "patterns" ? "quarter notes" : "";
  const view = new LanesView(lanes, whole, unit, kept, {
    choose: (system) => {
      kept.ear = system;
      stage.restart();
      content.querySelector(".tools select[name='ear']").value = String(system);
      view.draw();
    },
    toggle: () => stage.toggle(),
    say: (time) => { content.querySelector(".clock").textContent = unit ? `${time.toFixed(2)} ${unit}` : clock(time, 2); },
  });
  const tools = toolbar(stage, () => view.draw(), view);
  [...tools.querySelectorAll("select")].find((one) => one.parentElement.textContent.startsWith("Right")).setAttribute("name", "ear");
  content.replaceChildren(head, changesOf(state, found), tools, view.node,
    el("p", { class: "note keys" }, "Wheel or + and − zoom, drag or Shift with the arrow keys pans, a click or the arrow keys " +
      "move the cursor, Space plays, up and down choose the right ear, Esc closes."));
  view.start();
}

/** What is drawn here although it is not what was scored. */
function changesOf(state, { changed }) {
  if (!changed.length) return "";
  const names = changed.map((system) => (system < 0 ? "the reference" : state.now.systems[system]));
  const shown = names.length > 6 ? `${names.slice(0, 5).join(", ")} and ${names.length - 5} more` : names.join(", ");
  return el("p", { class: "warning", role: "note" }, `Changed since it was scored: ${shown}. ` +
    "The scores are of the files as they were, what is drawn is of the files as they were when this page was made.");
}

/** What the chosen reference and rule say of an estimate. */
function chosen(evidence) {
  const own = evidence[Math.min(kept.reference, evidence.length - 1)] || [];
  return own[Math.min(kept.rule, own.length - 1)] || null;
}

/** What an annotation without a time axis says: labels with their values, or values with their shares. */
function textOf(annotation) {
  if (typeof annotation === "string") return annotation;
  const { labels, values, shares, more } = annotation;
  const number = (at) => `${plain(values[at], 5)}${shares ? ` (${plain(shares[at], 3)})` : ""}`;
  const items = labels ? labels.map(({ text }, at) => (values && values[at] !== null ? `${text} (${number(at)})` : text)) :
    (values || []).map((_, at) => number(at));
  return `${items.join(", ") || "nothing"}${more ? `, and ${more} more` : ""}`;
}

/** Annotations without a time axis: as text. */
function drawTexts(stage) {
  const { state, found, scores, content, head } = stage;
  const verdict = (evidence) => {
    const rows = (chosen(evidence) || {}).rows || [];
    return rows.map((row) => row.filter(([name]) => name !== "reference" && name !== "estimate").map(([name, value]) => (name === "verdict" ? value : `${name} ${value}`.replaceAll("_", " "))).join(" ")).join(", ");
  };
  const draw = () => {
    const rows = [...found.references.map(({ annotation, annotator }) => [annotator ? `reference (${annotator})` : "reference", textOf(annotation), "", ""]),
      ...found.estimates.map(({ annotation, evidence, system }) => [state.now.systems[system], textOf(annotation), verdict(evidence), scores[system]])];
    const made = el("div", { class: "scroll" }, el("table", { class: "texts" }, el("thead", {}, el("tr", {}, ["", "Annotation", "Judged",
      state.metric < 0 ? "" : titleOf(state.about)].map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, rows.map(([name, ...cells]) => el("tr", {}, el("th", { scope: "row" }, name), cells.map((cell) => el("td", {}, cell)))))));
    content.replaceChildren(head, changesOf(state, found), toolbar(stage, draw, null), made);
  };
  draw();
}

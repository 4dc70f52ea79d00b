/** What sounds together: volumes, speed, a loop, the recording of a track, and the way to its worst place. */

import { el } from "./dom.js";
import { evidenceOf, worstOf } from "./evidence.js";
import { clock } from "./format.js";
import { giveRecording } from "./recording.js";
import { player } from "./sound.js";

const PARTS = [["music", "Music", "m"], ["reference", "Reference", "r"], ["system", "System", "s"]];
/** Seconds by which a recording may be longer or shorter than its annotations. */
const ALIKE = 1;
/** Seconds that are seen before and after the worst place, at least. */
const AROUND = 2;

/** The bar below that of what is shown, and the keys that it has in the timeline. */
export function mixer(stage, view) {
  const { state, recording } = stage;
  const { timeline } = state;
  // A link may have been made for another length.
  if (timeline.loop && timeline.loop[0] >= view.whole) timeline.loop = null;
  const remember = () => state.remember(false);
  const before = [...timeline.mix].map((volume) => volume || 100);
  const sliders = PARTS.map(([name, text], part) => {
    const input = el("input", { type: "range", name, min: 0, max: 100, step: 5, value: timeline.mix[part], disabled: !part && !recording,
      oninput: () => turn(part, Number(input.value)) });
    return el("label", { class: "choice volume" }, el("span", {}, text), input);
  });
  const turn = (part, volume) => {
    const silent = timeline.mix[part] === 0;
    timeline.mix[part] = volume;
    if (volume) before[part] = volume;
    sliders[part].querySelector("input").value = String(volume);
    remember();
    // A silent recording is not played, so that sounds need not wait for it.
    if (!part && silent !== (volume === 0)) stage.restart();
    else player.turn(timeline.mix);
  };
  const toggle = (part) => { if (part || recording) turn(part, timeline.mix[part] ? 0 : before[part]); };
  const loop = el("button", { type: "button", name: "loop", title: "Repeat the selected span, or what is seen (L)", onclick: () => repeat() }, "Loop");
  const slow = el("button", { type: "button", name: "slow", title: "Half speed, same pitch (H)", onclick: () => brake() }, "Half speed");
  const label = () => {
    loop.setAttribute("aria-pressed", String(timeline.loop !== null));
    loop.textContent = timeline.loop ? `Loop ${timeline.loop.map((time) => clock(time, 1)).join("–")}` : "Loop";
    slow.setAttribute("aria-pressed", String(timeline.slow));
  };
  const mark = (span) => {
    const [from, to] = (span || [0, 0]).map((time) => Math.max(0, Math.min(view.whole, time))).sort((a, b) => a - b);
    timeline.loop = to - from >= 0.05 ? [from, to] : null;
    player.loop = timeline.loop;
    label();
    remember();
    view.request();
  };
  const repeat = () => mark(timeline.loop ? null : [view.from, view.to]);
  /** Put an end of the loop under the cursor. */
  const bound = (end) => {
    const span = timeline.loop || [view.from, view.to];
    mark(end ? [Math.min(span[0], view.cursor), view.cursor] : [view.cursor, Math.max(span[1], view.cursor)]);
  };
  const brake = () => {
    timeline.slow = !timeline.slow;
    label();
    remember();
    stage.restart();
  };
  const worst = el("button", { type: "button", name: "worst", title: "Where the chosen system is worst (W)", onclick: () => seek() }, "Worst place");
  const told = el("span", { class: "status", role: "status" });
  stage.forget = () => { told.textContent = ""; };
  const seek = () => {
    const { found, chosen } = stage;
    const own = found.estimates.find(({ system }) => system === chosen.ear);
    const place = own && worstOf(evidenceOf(chosen, own.evidence));
    const name = state.now.systems[chosen.ear];
    told.textContent = place ? `${name}: ${place.text}` : `${name}: nothing here is judged wrong`;
    if (!place) return;
    mark([place.time, place.end]);
    const around = Math.max(AROUND, (place.end - place.time) / 4);
    view.show(place.time - around, place.end + around);
    view.moveTo(place.time);
    view.does.sought();
  };
  view.does.mark = mark;
  view.does.keys = new Map([["l", repeat], ["h", brake], ["w", seek], ["[", () => bound(0)], ["]", () => bound(1)],
    ...PARTS.map(([, , key], part) => /** @type {[string, () => void]} */ ([key, () => toggle(part)]))]);
  label();
  return [el("div", { class: "bar mixer" }, sliders, loop, slow, worst, told, recordingTools(stage)), recordingNote(stage, view)];
}

/** Choose a file, or have the recording of a server drawn. */
function recordingTools(stage) {
  const { recording } = stage;
  const input = el("input", { type: "file", accept: "audio/*,video/mp4,.flac,.opus", hidden: true, onchange: () => { if (input.files[0]) take(stage, input.files[0]); } });
  const choose = el("button", { type: "button", name: "recording", title: "It stays on this machine; it can be dropped on the timeline, too", onclick: () => input.click() },
    recording && recording.own ? "Another recording …" : "Recording …");
  const draw = recording && !recording.own && !recording.samples && !recording.trouble ? el("button", { type: "button", name: "spectrum", onclick: (event) => {
    event.target.remove();
    choose.focus();
    recording.look();
  } }, "Spectrum") : null;
  return [choose, input, draw];
}

/** Take a file of the visitor's as the recording of the track. */
function take(stage, file) {
  const made = giveRecording(stage.state.now.tracks[stage.track], file);
  stage.renew();
  made.look();
}

/** Files that are dropped on a timeline. */
export function acceptFiles(stage, node) {
  const over = (event) => {
    if (![...event.dataTransfer.types].includes("Files")) return;
    event.preventDefault();
    node.classList.toggle("dropping", event.type !== "drop");
    if (event.type === "drop" && event.dataTransfer.files[0]) take(stage, event.dataTransfer.files[0]);
  };
  Object.assign(node, { ondragover: over, ondrop: over, ondragleave: () => node.classList.remove("dropping") });
}

/** What is to be known about a recording: where it is, whether it is as long as the track, and when it begins. */
function recordingNote({ recording, length }, view) {
  if (!recording) return null;
  const told = el("span", { role: "status" });
  const begin = el("input", { type: "number", step: 0.01, name: "begin", value: recording.begin, "aria-label": "The recording begins at, in seconds",
    onchange: () => {
      recording.begin = Number(begin.value) || 0;
      view.request();
      player.stop();
    } });
  const tell = () => {
    const parts = [recording.own ? `“${recording.name}” stays on this machine: nothing of it is sent.` : ""];
    const more = recording.duration - length;
    if (recording.trouble) parts.push(`The recording ${recording.trouble}; what sounds is made of the annotations.`);
    else if (recording.duration && Math.abs(more) > ALIKE) {
      parts.push(`It lasts ${clock(recording.duration, 1)}, ${Math.abs(more).toFixed(1)} s ${more > 0 ? "more" : "less"} than this track (${clock(length, 1)}).`);
    }
    if (told.textContent !== parts.join(" ").trim()) told.textContent = parts.join(" ").trim();
  };
  const note = el("p", { class: "note recorded" }, told, " ", el("label", {}, "It begins at ", begin, " s."));
  note.hidden = !recording.own;
  recording.changed = () => {
    tell();
    view.whole = Math.max(view.whole, recording.begin + recording.duration);
    note.hidden = !told.textContent;
    view.request();
  };
  recording.node.addEventListener("loadedmetadata", recording.changed);
  recording.changed();
  return note;
}

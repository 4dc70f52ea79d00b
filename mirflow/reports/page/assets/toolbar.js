/** The bars of a timeline: what plays and judges, zoom, a link, volumes, speed, a loop, the recording, and the way to the worst place. */

import { choice, copyButton, el } from "./dom.js";
import { evidenceOf, explainMarks, legendOf, ruleTitle, worstOf } from "./evidence.js";
import { clock } from "./numbers.js";
import { giveRecording } from "./recording.js";
import { player, soundsOf } from "./sound.js";
import { linkTo } from "./address.js";

/** The button that plays what is chosen, from the cursor on; it gives the stage `toggle` and `restart`. */
export function playButton(stage, view) {
  const { state: { timeline }, found, chosen, recording } = stage;
  const sounding = recording || [...found.references, ...found.estimates].some(({ annotation }) =>
    typeof annotation !== "string" && soundsOf(annotation).length > 0);
  const play = el("button", { type: "button", class: "play", disabled: !sounding, title: sounding ? null : "Nothing here sounds" }, "Play");
  const rest = () => {
    play.textContent = "Play";
    view?.does.moved();
  };
  stage.toggle = () => {
    if (!sounding) return;
    if (player.playing) {
      player.stop();
      return rest();
    }
    const { mix, slow, loop } = timeline;
    const cursor = view?.cursor ?? 0;
    const heard = recording && !recording.trouble && mix[0] && cursor >= recording.begin && !(recording.duration && cursor > recording.begin + recording.duration - 0.05) ? recording : null;
    const sides = [found.references[chosen.reference], found.estimates.find(({ system }) => system === chosen.ear)];
    const ears = sides.map((side, ear) => (side && typeof side.annotation !== "string" ? soundsOf(side.annotation, ear) : []));
    const last = ears.flat().reduce((latest, one) => Math.max(latest, one.time + one.length), 0);
    const end = heard ? Math.max(last, heard.begin + heard.duration, view?.whole ?? 0) : last;
    const from = cursor < end - 0.05 ? Math.max(0, cursor) : 0;
    // Nobody waits for the first beat, unless there is something else to listen to.
    const first = heard ? from : Math.min(end, ...ears.filter((sounds) => sounds.length).map(([sound]) => sound.time));
    play.textContent = "Stop";
    player.play({ ears, from: Math.max(from, first), to: end, recording: heard, mix, speed: slow ? 0.5 : 1, loop, onend: rest });
    // The cursor goes with the sound.
    const go = () => {
      if (!player.playing) return rest();
      if (!view.canvas.isConnected) return;
      view.moveTo(player.time, true);
      requestAnimationFrame(go);
    };
    if (view) requestAnimationFrame(go);
  };
  play.addEventListener("click", stage.toggle);
  stage.restart = () => {
    if (!player.playing) return;
    if (view) view.cursor = player.time;
    player.stop();
    stage.toggle();
  };
  return sounding || view ? play : null;
}

/** The bar with what plays and what is judged; `redraw` when that changes. */
export function toolbar(stage, redraw, view) {
  const { state, found, chosen } = stage;
  const { timeline, now } = state;
  const { rules } = found;
  const play = playButton(stage, view);
  const note = el("p", { class: "note marks" }, explainMarks(stage));
  const choosing = (name, label, options, value) => choice(label, options, value, (picked) => {
    timeline[name] = Number(picked);
    state.remember(true);
    note.textContent = explainMarks(stage);
    if (name !== "rule") stage.restart();
    redraw();
  }, name);
  const ear = choosing("ear", "System", found.estimates.map(({ system }) => [system, now.systems[system]]), chosen.ear);
  ear.title = "The system that is chosen: it sounds in the right ear";
  const left = found.references.length > 1 ? choosing("reference", "Reference, left ear", found.references.map((one, at) =>
    [at, one.annotator || `reference ${at + 1}`]), chosen.reference) : null;
  const rule = rules.length > 1 ? choosing("rule", "Judged by", rules.map((_, at) => [at, ruleTitle(state, found, at)]), chosen.rule) : null;
  const zoom = view ? el("span", { class: "zoom" }, [["−", "Zoom out", 0.5], ["+", "Zoom in", 2]].map(([text, name, by]) => el("button", { type: "button",
    "aria-label": name, onclick: () => view.zoom(by, view.cursor) }, text)), el("button", { type: "button", onclick: () => view.show(0, view.whole) }, "All")) : null;
  const copy = copyButton(view ? "Copy link to this second" : "Copy link", () => {
    if (view) timeline.time = view.cursor;
    return linkTo(state);
  }, "The address of this page with the moment, the span that is repeated, the volumes and the system");
  return [el("div", { class: "bar tools" }, play, left, play && ear, rule, zoom,
    copy, legendOf(found), el("span", { class: "clock", "aria-live": "off" })), ...(view ? mixer(stage, view) : []), note].filter(Boolean);
}

const PARTS = [["music", "Music", "m"], ["reference", "Reference", "r"], ["system", "System", "s"]];
/** Seconds by which a recording may be longer or shorter than its annotations, and those that are seen around the worst place, at least. */
const [ALIKE, AROUND] = [1, 2];

/** The bar below that of what is shown, and the keys that it has in the timeline. */
function mixer(stage, view) {
  const { state, recording } = stage;
  const { timeline } = state;
  // A link may have been made for another length.
  if (timeline.loop && timeline.loop[0] >= view.whole) timeline.loop = null;
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
    state.remember(false);
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
    state.remember(false);
    label();
    view.request();
  };
  const repeat = () => mark(timeline.loop ? null : [view.from, view.to]);
  const bound = (end) => {
    const span = timeline.loop || [view.from, view.to];
    mark(end ? [Math.min(span[0], view.cursor), view.cursor] : [view.cursor, Math.max(span[1], view.cursor)]);
  };
  const brake = () => {
    timeline.slow = !timeline.slow;
    state.remember(false);
    label();
    stage.restart();
  };
  const told = el("span", { class: "status", role: "status" });
  stage.forget = () => { told.textContent = ""; };
  const seek = () => {
    const { found, chosen } = stage;
    const own = found.estimates.find(({ system }) => system === chosen.ear);
    const place = own && worstOf(evidenceOf(chosen, own.evidence));
    told.textContent = `${state.now.systems[chosen.ear]}: ${place ? place.text : "nothing here is judged wrong"}`;
    if (!place) return;
    mark([place.time, place.end]);
    const around = Math.max(AROUND, (place.end - place.time) / 4);
    view.show(place.time - around, place.end + around);
    view.moveTo(place.time);
    view.does.sought();
  };
  const worst = el("button", { type: "button", name: "worst", title: "Where the chosen system is worst (W)", onclick: seek }, "Worst place");
  view.does.mark = mark;
  view.does.keys = new Map([["l", repeat], ["h", brake], ["w", seek], ["[", () => bound(0)], ["]", () => bound(1)],
    ...PARTS.map(([, , key], part) => [key, () => toggle(part)])]);
  label();
  return [el("div", { class: "bar mixer" }, sliders, loop, slow, worst, told, recordingTools(stage)), recordingNote(stage, view)];
}

function recordingTools(stage) {
  const { recording } = stage;
  const input = el("input", { type: "file", accept: "audio/*,video/mp4,.flac,.opus", hidden: true, onchange: () => take(stage, input.files) });
  const choose = el("button", { type: "button", name: "recording", title: "It stays on this machine; it can be dropped on the timeline, too", onclick: () => input.click() },
    recording?.own ? "Another recording …" : "Recording …");
  const draw = recording && !recording.own && !recording.samples && !recording.trouble ? el("button", { type: "button", name: "spectrum", onclick: (event) => {
    event.target.remove();
    choose.focus();
    recording.look();
  } }, "Spectrum") : null;
  return [choose, input, draw];
}

function take(stage, [file]) {
  if (!file) return;
  const made = giveRecording(stage.state.now.tracks[stage.track], file);
  stage.renew();
  made.look();
}

export function acceptFiles(stage, node) {
  const over = (event) => {
    if (![...event.dataTransfer.types].includes("Files")) return;
    event.preventDefault();
    node.classList.toggle("dropping", event.type !== "drop");
    if (event.type === "drop") take(stage, event.dataTransfer.files);
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
  const note = el("p", { class: "note recorded" }, told, " ", el("label", {}, "It begins at ", begin, " s."));
  recording.changed = () => {
    const { own, name, duration, trouble } = recording;
    const words = [own ? `“${name}” stays on this machine: nothing of it is sent.` : "",
      trouble ? `The recording ${trouble}; what sounds is made of the annotations.` : duration && Math.abs(duration - length) > ALIKE ?
        `It lasts ${clock(duration, 1)}, ${Math.abs(duration - length).toFixed(1)} s ${duration > length ? "more" : "less"} than this track (${clock(length, 1)}).` : ""].filter(Boolean).join(" ");
    if (told.textContent !== words) told.textContent = words;
    view.whole = Math.max(view.whole, recording.begin + recording.duration);
    note.hidden = !told.textContent;
    view.request();
  };
  recording.node.addEventListener("loadedmetadata", recording.changed);
  recording.changed();
  return note;
}

/** The bar of a timeline: what plays, what judges, zoom, and a link. */

import { choice, copyButton, el } from "./dom.js";
import { explainMarks, legendOf, ruleTitle } from "./evidence.js";
import { mixer } from "./mixer.js";
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
    if (view) view.does.moved();
  };
  const toggle = () => {
    if (!sounding) return;
    if (player.playing) {
      player.stop();
      rest();
      return;
    }
    const { mix, slow, loop } = timeline;
    const cursor = view ? view.cursor : 0;
    const heard = recording && !recording.trouble && mix[0] && cursor >= recording.begin && !(recording.duration && cursor > recording.begin + recording.duration - 0.05) ? recording : null;
    const sides = [found.references[chosen.reference], found.estimates.find(({ system }) => system === chosen.ear)];
    const ears = sides.map((side, ear) => (side && typeof side.annotation !== "string" ? soundsOf(side.annotation, ear) : []));
    const last = ears.flat().reduce((latest, one) => Math.max(latest, one.time + one.length), 0);
    const end = heard ? Math.max(last, heard.begin + heard.duration, view ? view.whole : 0) : last;
    const from = cursor < end - 0.05 ? Math.max(0, cursor) : 0;
    // Nobody waits for the first beat, unless there is something else to listen to.
    const first = heard ? from : Math.min(end, ...ears.filter((sounds) => sounds.length).map(([sound]) => sound.time));
    play.textContent = "Stop";
    player.play({ ears, from: Math.max(from, first), to: end, recording: heard, mix, speed: slow ? 0.5 : 1, loop, onend: rest });
    if (view) follow(view, rest);
  };
  play.addEventListener("click", toggle);
  stage.toggle = toggle;
  stage.restart = () => {
    if (!player.playing) return;
    if (view) view.cursor = player.time;
    player.stop();
    toggle();
  };
  return sounding || view ? play : null;
}

/** The cursor goes with the sound. */
function follow(view, rest) {
  const go = () => {
    if (!player.playing) return rest();
    if (!view.canvas.isConnected) return;
    view.moveTo(player.time, true);
    requestAnimationFrame(go);
  };
  requestAnimationFrame(go);
}

/** The bar with what plays and what is judged; `redraw` when that changes. */
export function toolbar(stage, redraw, view) {
  const { state, found, chosen } = stage;
  const { timeline, now } = state;
  const { rules } = found;
  const play = playButton(stage, view);
  const note = el("p", { class: "note marks" }, explainMarks(stage));
  const choosing = (name, label, options, value) => {
    const made = choice(label, options, value, (picked) => {
      timeline[name] = Number(picked);
      state.remember(true);
      note.textContent = explainMarks(stage);
      if (name !== "rule") stage.restart();
      redraw();
    });
    made.querySelector("select").setAttribute("name", name);
    return made;
  };
  const ear = choosing("ear", "System", found.estimates.map(({ system }) => [system, now.systems[system]]), chosen.ear);
  ear.title = "The system that is chosen: it sounds in the right ear";
  const left = found.references.length > 1 ? choosing("reference", "Reference, left ear", found.references.map((one, at) =>
    [at, one.annotator || `reference ${at + 1}`]), chosen.reference) : null;
  const rule = rules.length > 1 ? choosing("rule", "Judged by", rules.map((_, at) => [at, ruleTitle(state, found, at)]), chosen.rule) : null;
  const zoom = view ? [["−", "Zoom out", 0.5], ["+", "Zoom in", 2]].map(([text, name, by]) => el("button", { type: "button",
    "aria-label": name, onclick: () => view.zoom(by, view.cursor) }, text)) : [];
  const fit = view ? el("button", { type: "button", onclick: () => view.fit() }, "All") : null;
  const copy = copyButton(view ? "Copy link to this second" : "Copy link", () => {
    if (view) Object.assign(timeline, { time: view.cursor });
    return linkTo(state);
  });
  return [el("div", { class: "bar tools" }, play, left, play && ear, rule, view ? el("span", { class: "zoom" }, ...zoom, fit) : null,
    copy, legendOf(found), el("span", { class: "clock", "aria-live": "off" })), ...(view ? mixer(stage, view) : []), note].filter(Boolean);
}

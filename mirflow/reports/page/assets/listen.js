/** The track on which the best two systems differ most, alive on the first screen. */

import { linkTo } from "./address.js";
import { copyButton, el } from "./dom.js";
import { chosenOf, evidenceOf, worstOf } from "./evidence.js";
import { LanesView } from "./lanesview.js";
import { clock } from "./numbers.js";
import { recordingOf } from "./recording.js";
import { CLOSED, MIX } from "./state.js";
import { lanesOf, readTrack, scoresOf } from "./timeline.js";
import { playButton } from "./toolbar.js";

/** On the first screen: lanes besides the reference, their height, seconds that are seen, and those before the place. */
const [FEW_LANES, HIGH, SEEN, BEFORE] = [3, 44, 40, 2];

/** Add its lanes, what plays, and a link to the moment. */
export async function drawListen(state) {
  const box = document.getElementById("listen");
  const track = box ? state.now.tracks.indexOf(box.dataset.track) : -1;
  if (track < 0) return;
  // The page's own timeline is another one.
  const timeline = { ...CLOSED, track, mix: [...MIX] };
  const own = Object.create(state, { timeline: { value: timeline }, remember: { value: () => {} } });
  const [found, scores] = await Promise.all([readTrack(own, track), scoresOf(own, track)]);
  if (!found || !box.isConnected) return;
  const [of, against] = [box.dataset.of, box.dataset.against].map((name) => state.now.systems.indexOf(name));
  // What sounds is the one of the two that is wrong.
  const pair = scores.order.filter((system) => system === of || system === against);
  const order = [...new Set([...pair, ...scores.order])].slice(0, FEW_LANES);
  timeline.ear = pair.at(-1);
  timeline.beside = pair[0];
  found.estimates = order.map((system) => found.estimates[system]);
  const chosen = chosenOf(own, found, scores);
  const stage = { state: own, track, found, scores, chosen, recording: recordingOf(state.now.tracks[track], found) };
  const { lanes, whole } = lanesOf(stage);
  if (!lanes.length || lanes.every(({ annotation }) => typeof annotation === "string" || annotation.start === null)) return;
  const wrong = lanes.find(({ system }) => system === timeline.ear);
  const worst = wrong && worstOf(evidenceOf(chosen, wrong.evidence));
  timeline.time = worst ? Math.max(0, worst.time) : 0;
  // Where it is worst is what the link leads to.
  timeline.loop = worst && [worst.time, worst.end];
  const from = Math.max(0, Math.min(timeline.time - BEFORE, whole - SEEN));
  const view = new LanesView(lanes, null, whole, state.now.timeline.form === "patterns" ? "quarter notes" : "", "", chosen, {
    aside: true, keys: new Map(), mark: () => {}, announce: () => {}, say: () => {}, toggle: () => stage.toggle(),
    choose: (system) => { timeline.ear = system; stage.restart(); view.draw(); },
    moved: () => { Object.assign(timeline, { time: view.cursor, seen: [view.from, view.to] }); name(); },
    sought: () => stage.restart(),
  });
  const link = copyButton("", () => linkTo(own));
  const name = () => {
    const times = worst?.time === timeline.time ? [worst.time, worst.end] : [timeline.time];
    link.querySelector("button").textContent = `Link to ${times.map((time) => clock(time)).join("–")}`;
  };
  name();
  box.querySelector(".bar").prepend(playButton(stage, view), link);
  box.append(el("div", { class: "lanebox" }, view.node));
  view.start({ time: timeline.time, seen: whole > SEEN * 1.3 ? [from, Math.min(whole, from + SEEN)] : [0, whole], high: HIGH });
}

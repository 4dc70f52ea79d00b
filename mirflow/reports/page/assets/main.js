/** The page: made once, and again in the parts that a choice changes. */

import { el, section } from "./dom.js";
import { count } from "./format.js";
import { keepAddress } from "./address.js";
import { drawControls } from "./controls.js";
import { drawCoverage } from "./coverage.js";
import { drawDistributions } from "./distributions.js";
import { drawExtras } from "./extras.js";
import { drawHeatmap } from "./heatmap.js";
import { drawLeaderboard } from "./leaderboard.js";
import { drawProvenance } from "./provenance.js";
import { drawTracks } from "./tracks.js";
import { openTrack, settleTimeline } from "./timeline.js";
import { CONTENTS } from "./data.js";
import { State } from "./state.js";

const began = performance.now();
const state = new State(CONTENTS);

function drawHead() {
  const { contents, now } = state;
  const parts = [contents.name, count(now.systems.length, "system"), count(now.tracks.length, "track"),
    contents.where ? `only tracks where ${contents.where}` : "",
    count(contents.evaluations.length, "evaluation"), contents.stores.length > 1 ? count(contents.stores.length, "store") : "",
    now.stores.map((one) => one.created.slice(0, 10)).sort().at(-1)];
  document.getElementById("head").replaceChildren(el("h1", {}, contents.title),
    el("p", {}, parts.filter(Boolean).join("  ·  ")), state.unknown.length ? el("p", { class: "warning", role: "note" },
      `The link names what this page does not have: ${state.unknown.join(", ")}.`) : "");
}

async function draw() {
  const started = performance.now();
  drawHead();
  drawControls(state);
  const open = (track, list) => openTrack(state, track, list);
  const parts = [];
  let settle = () => {};
  if (state.metric >= 0) {
    const heat = await drawHeatmap(state, open);
    settle = heat.settle;
    parts.push(await drawLeaderboard(state), await drawDistributions(state), heat.node, await drawTracks(state, open));
  } else {
    parts.push(section("leaderboard", state.now.name, "This evaluation has no metric that is a single number."));
  }
  parts.push(await drawExtras(state), await drawCoverage(state), drawProvenance(state));
  const scrolled = scrollY;
  document.getElementById("main").replaceChildren(...parts.filter(Boolean));
  settle();
  scrollTo(0, scrolled);
  document.documentElement.dataset.drawn = (performance.now() - started).toFixed(1);
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
state.onChange(draw);
state.onChange(settleTimeline);
keepAddress(state);
// An anchor would take the place of the state in the address.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("leaderboard").focus();
});
document.getElementById("foot").append(el("p", {}, `Made with mirflow ${state.contents.mirflow}. ` +
  "This file holds everything that it shows; it loads nothing."));
state.notify().then(() => { document.documentElement.dataset.loaded = (performance.now() - began).toFixed(1); });

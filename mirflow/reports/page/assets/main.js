/** The page: made once, and again in the parts that a choice changes; the lanes on its first screen. */

import { drawCoverage, drawProvenance } from "./about.js";
import { follow, keepAddress, linkTo } from "./address.js";
import { drawControls, showTab } from "./bars.js";
import { drawDifficulty, drawDistributions, drawTolerance } from "./charts.js";
import { drawAlike, drawGains } from "./compare.js";
import { CONTENTS, FETCHED } from "./data.js";
import { copyButton, el, section } from "./dom.js";
import { drawErrors, drawExtras, drawLosses } from "./errors.js";
import { chosenOf, evidenceOf, worstOf } from "./evidence.js";
import { applyFilter, labelOf, shownOf } from "./filter.js";
import { LanesView } from "./lanesview.js";
import { drawLeaderboard, drawOverview } from "./leaderboard.js";
import { clock, count } from "./numbers.js";
import { offerCopies } from "./offers.js";
import { recordingOf } from "./recording.js";
import { drawCauses, drawDoubts } from "./references.js";
import { CLOSED, MIX, State } from "./state.js";
import { lanesOf, openTrack, readTrack, scoresOf, settleTimeline } from "./timeline.js";
import { playButton } from "./toolbar.js";
import { drawHeatmap, drawTracks } from "./tracks.js";

const began = performance.now();
const state = new State(CONTENTS, [applyFilter, draw, settleTimeline]);

/** Who leads, and how many could as well; the title where that is not known. */
function drawHead() {
  const { contents } = state;
  const lead = document.querySelector("#standings .lead strong");
  const others = document.querySelectorAll("#standings tr.alike").length;
  const parts = lead ? [...lead.childNodes] : [state.failed ? "Nothing was scored" : contents.title];
  if (parts.at(-1) instanceof Text) parts.at(-1).textContent = parts.at(-1).textContent.replace(/\.$/, "");
  lead?.remove();
  const words = [state.shown ? `${shownOf(state)} shown: ${state.filter.map((chip) => labelOf(state, chip)).join("; ")}` : "", contents.where ? `only tracks where ${contents.where}` : "", contents.stores.length > 1 ? count(contents.stores.length, "store") : ""].filter(Boolean);
  document.getElementById("head").replaceChildren(el("h1", {}, ...parts, lead && others ? el("span", { class: "quiet" }, ` — and ${others === 1 ? "another one" : `${others} others`} could be first`) : null),
    words.length ? el("p", {}, words.join("  ·  ")) : "", state.unknown.length ? el("p", { class: "warning", role: "note" },
      `The link names what this page does not have: ${state.unknown.join(", ")}.`) : "");
}

/** Parts whose numbers follow the filter, besides those that begin with it. */
const FOLLOWING = ["tolerance", "losses", "distributions", "heatmap", "gains", "alike", "tracks", "difficulty", "errors", "causes", "doubts", "coverage"];

/** The table of systems; what arrives later is drawn into it, unless something else is shown by then. */
async function drawRanking() {
  const { turn } = state;
  const again = async () => {
    if (turn !== state.turn || !document.getElementById("ranking")) return;
    const made = await drawRanking();
    const there = document.getElementById("ranking");
    const focus = there.querySelector(":focus")?.getAttribute("data-sort");
    there.replaceWith(made);
    drawListen(state);
    showTab(state, [...document.getElementById("main").children]);
    drawHead();
    const gains = document.getElementById("gains");
    // Without a filter there is nothing to tell.
    if (gains) gains.replaceWith(await drawGains(state, openTimeline));
    offerCopies(state);
    if (focus) made.querySelector(`[data-sort="${focus}"]`)?.focus();
  };
  return drawLeaderboard(state, again);
}

/** On the first screen: lanes besides the reference, their height, seconds that are seen, and those before the place. */
const [FEW_LANES, HIGH, SEEN, BEFORE] = [3, 44, 40, 2];

/** The track on which the best two systems differ most, alive on the first screen: its lanes, what plays, and a link to the moment. */
async function drawListen(state) {
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

const BY_TRACK = [["gains", drawGains], ["alike", drawAlike], ["tracks", drawTracks], ["difficulty", drawDifficulty], ["distributions", drawDistributions], ["heatmap", drawHeatmap]];

const openTimeline = (track, list, at) => openTrack(state, track, list, at);

async function draw() {
  const started = performance.now();
  drawControls(state);
  const main = document.getElementById("main");
  const overview = drawOverview(state);
  const parts = [];
  if (state.shown && !state.shown.tracks.length) {
    main.replaceChildren(section("leaderboard", "No track is left", "No track meets all conditions of the filter: remove one of them above."));
    showTab(state, [...main.children]);
    return drawHead();
  }
  if (state.metric >= 0) {
    parts.push(await drawRanking());
    // What is fetched is drawn as it comes: the table first.
    if (FETCHED && !main.querySelector("section")) main.replaceChildren(...parts);
    parts.push(await drawTolerance(state));
    for (const [id, make] of BY_TRACK) parts.push(state.has(id) ? await make(state, openTimeline) : null);
  } else {
    parts.push(section("leaderboard", state.now.name, "This evaluation has no metric that is a single number."));
  }
  parts.push(state.metric < 0 ? null : await drawLosses(state), await drawErrors(state, openTimeline), drawCauses(state, openTimeline), await drawDoubts(state, openTimeline), await drawExtras(state), await drawCoverage(state), drawProvenance(state));
  // The intervals may have arrived meanwhile.
  if ((FETCHED || state.shown) && state.metric >= 0) parts[0] = await drawRanking();
  // Far below the chips, and in frames of other pages, nothing else says which tracks the numbers of a part are of.
  for (const part of parts) if (part && state.shown && FOLLOWING.includes(part.id)) part.querySelector("h2").after(el("p", { class: "shown" }, `Shown: ${shownOf(state)}.`));
  const scrolled = scrollY;
  const sections = [...parts, overview].filter(Boolean).sort((a, b) => (state.failed ? Number(b.id === "coverage") - Number(a.id === "coverage") : 0));
  main.replaceChildren(...sections);
  showTab(state, sections);
  drawHead();
  // In a frame of another page; a heat map fits its width to it.
  document.getElementById(state.part || "-")?.classList.add("alone");
  parts.find((part) => part?.settle)?.settle();
  offerCopies(state);
  drawListen(state);
  scrollTo(0, scrolled);
  document.documentElement.dataset.drawn = (performance.now() - started).toFixed(1);
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
keepAddress(state);
document.getElementById("main").addEventListener("click", (event) => {
  const link = /** @type {Element} */ (event.target).closest("#ranking a[href^='#']");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const text = link.getAttribute("href").slice(1);
  follow(state, text).then(() => {
    if (!text.includes("tab=")) return;
    // A tab begins from above.
    scrollTo(0, 0);
    document.querySelector("#main > section:not(.away)")?.focus({ preventScroll: true });
  });
});
// An anchor would take the place of the state in the address.
document.querySelectorAll(".skip").forEach((link, toTracks) => link.addEventListener("click", async (event) => {
  event.preventDefault();
  if (toTracks) await state.change((now) => { now.tab = "tracks"; });
  document.querySelector(toTracks ? "#tracks button.link" : "#main section:not(.away, .away *)")?.focus();
}));
state.notify().then(() => { document.documentElement.dataset.loaded = (performance.now() - began).toFixed(1); });

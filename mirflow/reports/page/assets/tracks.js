/** The tracks as a table: the worst, those whose scores spread most over the systems, all; each opens its timeline. */

import { choice, el, moreButton, named, opener, section, svg, table, th, walk } from "./dom.js";
import { readShown } from "./filter.js";
import { acrossSystems, byName, byNumber, count, endsOf, formatter, titleOf } from "./numbers.js";
import { becauseOf } from "./references.js";
import { FETCHED } from "./source.js";

const shown = { most: 15 };
const NAMED = 12;
export const WAYS = [["mean", "the worst first"], ["spread", "the largest spread over systems first"], ["name", "by name"]];

/** The shown tracks in an order: by `mean` or `spread` over the systems, by `name`, or by the scores of a system, its number. */
export async function orderTracks(state, by) {
  const { systems, tracks } = state.now;
  const places = [...state.shownTracks];
  const names = (a, b) => byName(tracks[a], tracks[b]) || a - b;
  if (by === "name" || state.metric < 0) return places.sort(names);
  const numbers = await readShown(state);
  const values = typeof by === "number" ? numbers.score.subarray(by * tracks.length) : acrossSystems(numbers, systems.length, tracks.length)[by];
  const sign = by === "spread" ? -1 : state.about.sign || 1;
  return places.sort((a, b) => byNumber(values[a], values[b], sign) || names(a, b));
}

/** The shown tracks as the heat map has them, group by group where they are grouped; where each group starts and ends. */
export async function orderColumns(state) {
  const [ordered, { groups }] = [await orderTracks(state, state.across), state];
  if (!groups.length) return { columns: ordered, bands: [] };
  const places = new Map(ordered.map((track, place) => [track, place]));
  let start = 0;
  const bands = groups.map(([value, members]) => ({ value: String(value), start, end: start += members.length }));
  return { columns: groups.flatMap(([, members]) => [...members].sort((a, b) => places.get(a) - places.get(b))), bands };
}

export async function drawTracks(state, open) {
  const { systems, tracks } = state.now;
  const numbers = await readShown(state);
  const across = acrossSystems(numbers, systems.length, tracks.length);
  const range = endsOf(numbers.score);
  const rows = tracks.map((name, track) => ({ name, track, mean: across.mean[track], spread: across.spread[track], strip: () => stripOf(state, numbers, track, range) }));
  const holder = el("div", {});
  const redraw = async () => {
    way.textContent = `Shown: ${WAYS.find(([name]) => name === state.listing.by)[1]}`;
    holder.replaceChildren(tableOf(state, (await orderTracks(state, state.listing.by)).map((track) => rows[track]), open, redraw));
  };
  const sorting = choice("Show", WAYS.filter(([way]) => state.shownSystems.length > 1 || way !== "spread"), state.listing.by, (value) => {
    state.listing.by = value;
    state.remember(true);
    redraw();
  });
  const way = el("span", { class: "onpaper" });
  await redraw();
  return section("tracks", "Tracks", state.shownSystems.length > 1 ?
    `Mean of ${titleOf(state.about)} over the systems, and how far best and worst lie apart.` : `${titleOf(state.about)} of every track.`,
    el("div", { class: "bar" }, sorting, offerTracks(state, open), way), holder);
}

/** The scores of a track on one scale: a dot for each system, the chosen metric's best in colour. */
function stripOf(state, numbers, track, [low, high]) {
  const { systems, tracks } = state.now;
  const known = state.shownSystems.map((system) => [systems[system], numbers.score[system * tracks.length + track]]).filter(([, score]) => Number.isFinite(score));
  const place = (score) => 4 + (112 * (score - low)) / (high - low || 1);
  const ranked = known.sort(([, a], [, b]) => (state.about.sign || 1) * (b - a));
  const write = formatter(state.about, state.percent);
  const words = ranked.slice(0, NAMED).map(([name, score]) => `${name} ${write(score)}`).join(", ");
  return svg("svg", { viewBox: "0 0 120 16", class: "dots", role: "img", "aria-label": words },
    svg("title", {}, words), ranked.map(([, score], at) => svg("circle", { cx: place(score).toFixed(1), cy: 8, r: 3, class: at ? null : "top" })));
}

function tableOf(state, matching, open, redraw) {
  const { tracks, trackCoords } = state.now;
  const write = formatter(state.about, state.percent);
  const drawn = matching.slice(0, shown.most);
  const coords = trackCoords.slice(0, 4);
  const several = state.shownSystems.length > 1;
  // Where all have a timeline, or nobody knows before one is opened, nothing is said of it.
  const able = new Set(FETCHED ? [] : state.contents.timelines.map(([name]) => name));
  const some = tracks.some((name) => able.has(name));
  const heads = [th("Track", "who"), (several ? ["Mean", "Spread"] : ["Score"]).map((text) => th(text, "number")),
    several ? th("Systems", "chart") : null, coords.map(([name]) => th(name))];
  const body = drawn.map((row) => el("tr", { class: "open", onclick: () => open(row.track, "tracks") },
    el("th", { scope: "row" }, opener(named(state.now, "tracks", row.track), row.name, () => open(row.track, "tracks"), { "data-track": row.track, onkeydown: walk }), becauseOf(state, row.name), some && !able.has(row.name) ? el("small", {}, "no timeline") : null),
    el("td", { class: "number", title: row.mean }, write(row.mean)), several ? [el("td", { class: "number", title: row.spread }, write(row.spread)),
      el("td", { class: "chart" }, row.strip())] : null, coords.map(([, values]) => el("td", {}, values[row.track] ?? ""))));
  const more = moreButton(drawn.length, matching.length, () => { shown.most += 50; redraw(); }) ??
    el("p", { class: "note" }, `${count(matching.length, "track")} of ${tracks.length}`);
  const tied = state.listing.by === "name" || !drawn.length ? 0 :
    matching.filter((row) => row[state.listing.by] === drawn[drawn.length - 1][state.listing.by]).length;
  const ties = tied < 2 ? null : el("p", { class: "note" },
    `${count(tied, "track")} tie at ${write(drawn[drawn.length - 1][state.listing.by])}: they are in the order of their names.`);
  return el("div", {}, table(heads, body), ties, more);
}

function offerTracks(state, open) {
  const names = new Map(state.shownTracks.map((track) => [state.now.tracks[track], track]));
  const field = el("input", { type: "search", list: "names-of-tracks", autocomplete: "off", placeholder: "its name",
    onchange: () => {
      if (!names.has(field.value)) return;
      open(names.get(field.value), "name");
      field.value = "";
    } });
  return el("label", { class: "choice" }, el("span", {}, "Open a track"), field,
    el("datalist", { id: "names-of-tracks" }, [...names.keys()].map((name) => el("option", { value: name }))));
}

/** Two systems track by track, and which systems find the same tracks hard. */

import { goTo } from "./bars.js";
import { CONTENTS } from "./data.js";
import { choice, el, hover, moreButton, named, opener, section, svg, table, th, tintedCell } from "./dom.js";
import { readShown } from "./filter.js";
import { WHOLE, fittingInference, rankSystems } from "./leaderboard.js";
import { count, formatter, include, shortName, titleOf, unitOf } from "./numbers.js";
import { becauseOf } from "./references.js";

/** Systems up to which a table has room, differences of scores that are rounding errors, and the height of the chart. */
const [MATRIX, EQUAL, HIGH] = [24, 5e-11, 100];
/** Tracks of each list. */
const shown = { most: 5 };

/** Changes of the tracks that both have, as [track, gain], the largest gain first. */
function changesOf({ value, counts }, of, against, tracks, sign) {
  const found = [];
  for (let track = 0; track < tracks; track++) {
    const [own, other] = [of * tracks + track, against * tracks + track];
    if (!counts[own] || !counts[other]) continue;
    const gain = value[own] === value[other] ? 0 : sign * (value[own] - value[other]);
    found.push([track, Math.abs(gain) < EQUAL ? 0 : gain]);
  }
  return found.sort((a, b) => b[1] - a[1] || a[0] - b[0]);
}

/** A card of two systems; null where no two can be better than each other. */
export async function drawGains(state, open) {
  const { systems, tracks } = state.now;
  const { sign } = state.about;
  if (state.shownSystems.length < 2 || !sign) return null;
  const { value, counts } = include(await readShown(state), state.policy);
  const ranked = await rankSystems(state);
  // Those that were chosen, else the best that are shown.
  const [first, second] = ranked;
  const { pair } = state;
  const of = ranked.includes(pair.of) ? pair.of : pair.against === first ? second : first;
  const against = ranked.includes(pair.against) ? pair.against : of === first ? second : first;
  const changed = changesOf({ value, counts }, of, against, tracks.length, sign);
  const [better, worse] = [changed.filter(([, gain]) => gain > 0), changed.filter(([, gain]) => gain < 0).reverse()];
  const options = ranked.map((place) => [place, shortName(state.now, "systems", place)]);
  const choose = (name, label, chosen) => choice(label, options, chosen, (picked) => state.change((now) => { now.pair = { of, against, [name]: Number(picked) }; }), name);
  const look = (track) => open(track, "tracks", { ear: of, beside: against });
  const same = changed.length - better.length - worse.length;
  const note = of === against ? "Choose two systems." : `${titleOf(state.about)} of ${systems[of]} against that of ${systems[against]} on ${count(changed.length, "track")}${same ? `, equal on ${same}` : ""}.`;
  const write = formatter(state.about, state.percent);
  const heads = () => [th("Track", "who"), ["Gain", named(state.now, "systems", of), named(state.now, "systems", against)].map((text) => th(text, "number"))];
  const list = (title, rows) => el("div", {}, el("h3", {}, title), rows.length ? table(heads(),
    rows.slice(0, shown.most).map(([track, gain]) => el("tr", { class: "open", onclick: () => look(track) },
      el("th", { scope: "row" }, opener(named(state.now, "tracks", track), tracks[track], () => look(track)), becauseOf(state, tracks[track])),
      [[gain, signed(write)], [value[of * tracks.length + track], write], [value[against * tracks.length + track], write]]
        .map(([exact, show]) => el("td", { class: "number", "data-value": exact }, show(exact)))))) : el("p", { class: "note" }, "None."),
    moreButton(Math.min(rows.length, shown.most), rows.length, () => { shown.most += 50; state.notify(); }));
  return section("gains", "Gains and losses", note, el("div", { class: "bar" }, choose("of", "System", of), choose("against", "Baseline", against), state.now.errors && [of, against].map((system) =>
      opener(`Errors of ${shortName(state.now, "systems", system)}`, `What ${systems[system]} does wrong`, () => goTo(state, "errors", (now) => { now.wrong = { ...now.wrong, of: system }; })))),
    of === against ? null : [testOf(state, of, against), el("p", { class: "sides" }, [[of, better, "good"], [against, worse, "bad"]].map(([system, won, kind]) =>
      el("span", { class: kind }, el("i"), `${shortName(state.now, "systems", system)} better on ${won.length.toLocaleString("en")}`))), waterfall(state, changed, look), groupsOf(state, changed), el("div", { class: "pair" }, list("Gains most", better), list("Loses most", worse))]);
}

const signed = (write) => (value) => (value > 0 ? `+${write(value)}` : write(value));

/** The difference of the values with its interval, and whether it is significant, where the page knows them. */
function testOf(state, of, against) {
  const { now, about, percent } = state;
  if (state.shown) return el("p", { class: "note" }, WHOLE);
  const found = fittingInference(state, () => {});
  if (!found || !found.pairs.length) return null;
  const [first, second] = [Math.min(of, against), Math.max(of, against)];
  // Each system with those behind it.
  const [gap, low, high, p] = found.pairs[first * now.systems.length - (first * (first + 1)) / 2 + second - first - 1];
  if (gap === null) return null;
  const difference = of === first ? gap : -gap;
  const ends = low === null || high === null ? [] : of === first ? [low, high] : [-high, -low];
  const write = signed(formatter(about, percent));
  const told = p === null || Number.isNaN(p) ? "" : `, p ${p < 0.0005 ? "< 0.001" : `= ${p.toFixed(3)}`}: ${p <= CONTENTS.significance ? "told apart" : "not told apart"}`;
  return el("p", { class: "difference" }, el("b", { "data-value": difference, "data-ends": ends.join(" "), "data-p": p }, `${write(difference)}${unitOf(about, percent)}`),
    `${ends.length ? ` [${ends.map(write).join(", ")}]` : ""}${told}`,
    now.systems.length > 2 ? el("small", { class: "quiet" }, " Interval and p are those of all pairs of systems together.") : null);
}

/** The gain of every track, from the largest to the greatest loss; a click opens the track. */
function waterfall(state, changed, open) {
  if (!changed.length) return null;
  const write = signed(formatter(state.about, state.percent));
  const most = Math.max(...changed.map(([, gain]) => Math.abs(gain)).filter(Number.isFinite), 0) || 1;
  const [up, down] = [changed[0][1] > 0, changed.at(-1)[1] < 0].map(Number);
  const [middle, tall] = [up / (up + down || 1), 1 / (up + down || 1)].map((share) => HIGH * share);
  const bars = (kind, sign) => svg("path", { class: kind, d: changed.map(([, gain], at) => (sign * gain > 0 ?
    `M${at + 0.5} ${middle}V${middle - tall * Math.max(-1, Math.min(1, gain / most))}` : "")).join("") });
  const chart = svg("svg", { viewBox: `0 0 ${changed.length} ${HIGH}`, preserveAspectRatio: "none", class: "gains waterfall", role: "img",
    "aria-label": `Gains of ${count(changed.length, "track")}, sorted; the lists below name the largest` }, bars("gain", 1), bars("loss", -1), svg("path", { class: "zero", d: `M0 ${middle}H${changed.length}` }));
  const at = ({ clientX }) => {
    const { left, width } = chart.getBoundingClientRect();
    return changed[Math.max(0, Math.min(changed.length - 1, Math.floor(((clientX - left) / width) * changed.length)))];
  };
  return hover(chart, (event) => [state.now.tracks[at(event)[0]], write(at(event)[1])], (event) => open(at(event)[0]));
}

function groupsOf(state, changed) {
  if (!state.by) return null;
  const gains = new Map(changed);
  const write = signed(formatter(state.about, state.percent));
  const rows = state.groups.map(([value, members]) => [value, members.filter((track) => gains.has(track)).map((track) => gains.get(track))])
    .filter(([, own]) => own.length).map(([value, own]) => el("tr", {}, el("th", { scope: "row" }, String(value)),
      [own.length, write(own.reduce((sum, gain) => sum + gain, 0) / own.length), own.filter((gain) => gain > 0).length, own.filter((gain) => gain < 0).length]
        .map((text) => el("td", { class: "number" }, text))));
  return table([th(`By ${state.by}`, "who"), ["Tracks", "Mean gain", "Better", "Worse"].map((text) => th(text, "number"))], rows);
}

/** Pearson's correlation of the scores of two systems on the tracks that both have; NaN where one is constant. */
function correlate({ value, counts }, one, other, tracks) {
  const both = [];
  for (let track = 0; track < tracks; track++) {
    const [a, b] = [one * tracks + track, other * tracks + track];
    if (counts[a] && counts[b] && Number.isFinite(value[a]) && Number.isFinite(value[b])) both.push([value[a], value[b]]);
  }
  const [x, y] = [0, 1].map((side) => {
    const mean = both.reduce((sum, pair) => sum + pair[side], 0) / both.length;
    return both.map((pair) => pair[side] - mean);
  });
  if (both.length < 2 || [x, y].some((side) => Math.max(...side) - Math.min(...side) < EQUAL)) return NaN;
  const dot = (a, b) => a.reduce((sum, own, place) => sum + own * b[place], 0);
  return dot(x, y) / Math.sqrt(dot(x, x) * dot(y, y));
}

/** A card of correlations; null for fewer than three systems, or very many. */
export async function drawAlike(state) {
  const { systems, tracks } = state.now;
  const { length } = state.shownSystems;
  if (length < 3 || length > MATRIX || !state.about.sign) return null;
  const included = include(await readShown(state), state.policy);
  const order = await rankSystems(state);
  const matrix = order.map((one) => order.map((other) => (one === other ? NaN : correlate(included, one, other, tracks.length))));
  const known = matrix.flat().filter((r) => !Number.isNaN(r));
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const rows = order.map((one, row) => el("tr", {}, el("th", { scope: "row" }, named(state.now, "systems", one)), order.map((other, column) => {
    const r = matrix[row][column];
    const pair = one === other ? {} : { title: `Compare ${systems[one]} with ${systems[other]}`, onclick: () => goTo(state, "gains", (now) => { now.pair = { of: one, against: other }; }) };
    return tintedCell(r, high > low ? (r - low) / (high - low) : 0 * r, Number.isNaN(r) ? "–" : r.toFixed(2), pair);
  })));
  return section("alike", "Systems that are alike", "Do two systems find the same tracks hard? (Pearson’s r over tracks)",
    table([th("System", "who"), order.map((one) => th(named(state.now, "systems", one), "number"))], rows, { label: "Correlations of systems", class: "tinted" }));
}

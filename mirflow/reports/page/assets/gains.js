/** Two systems track by track: where one gains most against the other, and where it loses most; each opens its timeline. */

import { becauseOf } from "./causes.js";
import { choice, colour, el, named, section, sharpen, table, th, tip } from "./dom.js";
import { count, formatter, shortName, titleOf, unitOf } from "./format.js";
import { readShown } from "./filter.js";
import { WHOLE, fittingInference, rankSystems } from "./leaderboard.js";
import { include } from "./reduce.js";

const MOST = 5;
/** Differences of scores that are rounding errors. */
const EQUAL = 5e-11;

/** The two systems that are compared: those that were chosen, else the best that are shown. */
export async function pairOf(state) {
  const { pair, shownSystems } = state;
  const [first, second] = await rankSystems(state);
  const known = (system) => shownSystems.includes(system);
  const of = known(pair.of) ? pair.of : pair.against === first ? second : first;
  return [of, known(pair.against) ? pair.against : of === first ? second : first];
}

/** Changes of the tracks that both have, as [track, gain], the largest gain first. */
export function changesOf({ value, counts }, of, against, tracks, sign) {
  const found = [];
  for (let track = 0; track < tracks; track++) {
    const [own, other] = [of * tracks + track, against * tracks + track];
    if (!counts[own] || !counts[other]) continue;
    const gain = value[own] === value[other] ? 0 : sign * (value[own] - value[other]);
    found.push([track, Math.abs(gain) < EQUAL ? 0 : gain]);
  }
  return found.sort((a, b) => b[1] - a[1] || a[0] - b[0]);
}

/**
 * @param {import("./state.js").State} state
 * @param {(track: number, list: string, at: object) => void} open
 * @returns {Promise<Node|null>} nothing where no two systems can be better than each other
 */
export async function drawGains(state, open) {
  const { systems, tracks } = state.now;
  const { sign } = state.about;
  if (state.shownSystems.length < 2 || !sign) return null;
  const included = include(await readShown(state), state.policy);
  const [of, against] = await pairOf(state);
  const changed = changesOf(included, of, against, tracks.length, sign);
  const [better, worse] = [changed.filter(([, gain]) => gain > 0), changed.filter(([, gain]) => gain < 0).reverse()];
  const ranked = await rankSystems(state);
  const choose = (name, label, chosen) => {
    const made = choice(label, ranked.map((place) => [place, shortName(state.now, "systems", place)]), chosen, (value) =>
      state.change((now) => { now.pair = { of, against, [name]: Number(value) }; })
        .then(() => document.querySelector(`#gains select[name=${name}]`)?.focus()));
    made.querySelector("select").setAttribute("name", name);
    return made;
  };
  const look = (track) => open(track, "tracks", { ear: of, beside: against });
  const same = changed.length - better.length - worse.length;
  const note = of === against ? "Choose two systems." : `${titleOf(state.about)} of ${systems[of]} against that of ${systems[against]}: ` +
    `better on ${better.length}, worse on ${worse.length}${same ? `, equal on ${same}` : ""} of ${count(changed.length, "track")}.`;
  const list = (title, rows) => el("div", {}, el("h3", {}, title), rows.length ?
    tableOf(state, rows.slice(0, MOST), included.value, of, against, look) : el("p", { class: "note" }, "None."));
  return section("gains", "Gains and losses", note, el("div", { class: "bar" }, choose("of", "System", of), choose("against", "Baseline", against)),
    of === against ? null : [testOf(state, of, against), waterfall(state, changed, look), groupsOf(state, changed), el("div", { class: "pair" }, list("Gains most", better), list("Loses most", worse))]);
}

/** The difference of the values with its interval, and whether it is significant, where the page knows them. */
function testOf(state, of, against) {
  const { now } = state;
  if (state.shown) return el("p", { class: "note" }, WHOLE);
  const found = fittingInference(state, () => {});
  if (!found || !found.pairs.length) return null;
  const [first, second] = [Math.min(of, against), Math.max(of, against)];
  // Each system with those behind it.
  const place = first * now.systems.length - (first * (first + 1)) / 2 + second - first - 1;
  const [difference, ...rest] = found.pairs[place];
  if (difference === null) return null;
  const turn = of === first ? 1 : -1;
  const ends = turn > 0 ? rest.slice(0, 2) : [rest[1], rest[0]];
  return el("p", { class: "difference" }, differenceOf(state, turn * difference, ends.includes(null) ? [] : ends.map((end) => turn * end), rest[2]),
    now.systems.length > 2 ? el("small", { class: "quiet" }, " Interval and p are those of all pairs of systems together.") : null);
}

/** A difference, its interval and what a test says, as far as they are known. */
function differenceOf({ about, percent }, difference, ends, p) {
  const write = signedFormatter(formatter(about, percent));
  const interval = ends.length ? ` [${ends.map(write).join(", ")}]` : "";
  const told = p === null || Number.isNaN(p) ? "" : `, p ${p < 0.0005 ? "< 0.001" : `= ${p.toFixed(3)}`}: ${p <= 0.05 ? "told apart" : "not told apart"}`;
  return [el("b", { "data-value": difference, "data-ends": ends.join(" "), "data-p": p }, `${write(difference)}${unitOf(about, percent)}`), `${interval}${told}`];
}

const signedFormatter = (write) => (value) => (value > 0 ? `+${write(value)}` : write(value));

/** The gain of every track, from the largest to the greatest loss; a click opens the track. */
function waterfall(state, changed, open) {
  const { tracks } = state.now;
  const write = signedFormatter(formatter(state.about, state.percent));
  const canvas = el("canvas", { class: "waterfall", role: "img", "aria-label": `Gains of ${count(changed.length, "track")}, sorted; the lists below name the largest` });
  const most = Math.max(...changed.map(([, gain]) => Math.abs(gain)).filter(Number.isFinite), 0) || 1;
  const paint = () => {
    const [wide, high] = [canvas.parentElement.clientWidth || 600, 110];
    const context = sharpen(canvas, wide, high);
    const [up, down] = [colour("good"), colour("bad")];
    const above = changed.some(([, gain]) => gain > 0) ? (changed.some(([, gain]) => gain < 0) ? high / 2 : high - 2) : 2;
    const step = wide / changed.length;
    changed.forEach(([, gain], place) => {
      const height = (Math.max(-most, Math.min(most, gain)) / most) * Math.max(above, high - above);
      context.fillStyle = gain > 0 ? up : down;
      context.fillRect(place * step, gain > 0 ? above - height : above, Math.max(step - (step > 3 ? 1 : 0), 0.5), Math.abs(height));
    });
    context.fillStyle = colour("quiet");
    context.fillRect(0, above - 0.5, wide, 1);
  };
  const at = (event) => changed[Math.max(0, Math.min(changed.length - 1, Math.floor(((event.clientX - canvas.getBoundingClientRect().left) / canvas.clientWidth) * changed.length)))];
  canvas.addEventListener("pointermove", (event) => {
    const [track, gain] = at(event);
    tip([tracks[track], write(gain)], event.clientX, event.clientY);
  });
  canvas.addEventListener("pointerleave", () => tip(null));
  canvas.addEventListener("click", (event) => { tip(null); open(at(event)[0]); });
  const box = el("div", { class: "waterfallbox" }, changed.length ? canvas : null);
  if (changed.length) new ResizeObserver(paint).observe(box);
  return box;
}

/** Mean gain of each group of tracks, if there are groups. */
function groupsOf(state, changed) {
  if (!state.by) return null;
  const gains = new Map(changed);
  const write = signedFormatter(formatter(state.about, state.percent));
  const rows = state.groups.map(([value, members]) => [value, members.filter((track) => gains.has(track)).map((track) => gains.get(track))])
    .filter(([, own]) => own.length).map(([value, own]) => el("tr", {}, el("th", { scope: "row" }, String(value)),
      [own.length, write(own.reduce((sum, gain) => sum + gain, 0) / own.length), own.filter((gain) => gain > 0).length, own.filter((gain) => gain < 0).length]
        .map((text) => el("td", { class: "number" }, text))));
  return table([th(`By ${state.by}`, "who"), ["Tracks", "Mean gain", "Better", "Worse"].map((text) => th(text, "number"))], rows);
}

function tableOf(state, rows, value, of, against, open) {
  const { systems, tracks } = state.now;
  const write = formatter(state.about, state.percent);
  const signed = signedFormatter(write);
  const heads = [th("Track", "who"), ["Gain", named(state.now, "systems", of), named(state.now, "systems", against)].map((text) => th(text, "number"))];
  const body = rows.map(([track, gain]) => el("tr", { class: "open", onclick: () => open(track) },
    el("th", { scope: "row" }, el("button", { type: "button", class: "link", title: tracks[track],
      onclick: (event) => { event.stopPropagation(); open(track); } }, named(state.now, "tracks", track)), becauseOf(state, tracks[track])),
    [[gain, signed], [value[of * tracks.length + track], write], [value[against * tracks.length + track], write]]
      .map(([exact, show]) => el("td", { class: "number", "data-value": exact }, show(exact)))));
  return table(heads, body);
}

/** Two systems track by track: where one gains most against the other, and where it loses most; each opens its timeline. */

import { choice, el, section, table, th } from "./dom.js";
import { count, formatter, titleOf } from "./format.js";
import { readScores } from "./data.js";
import { include } from "./reduce.js";

const MOST = 5;
/** Differences of scores that are rounding errors. */
const EQUAL = 5e-11;

/** The systems by the mean of their scores, the best first. */
function rank(value, counts, systems, tracks, sign) {
  const means = systems.map((_, system) => {
    let [sum, n] = [0, 0];
    for (let cell = system * tracks; cell < (system + 1) * tracks; cell++) if (counts[cell]) [sum, n] = [sum + value[cell], n + 1];
    return n ? sign * sum / n : -Infinity;
  });
  return systems.map((_, system) => system).sort((a, b) => means[b] - means[a] || a - b);
}

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

/**
 * @param {import("./state.js").State} state
 * @param {(track: number, list: string) => void} open
 * @returns {Promise<Node|null>} nothing where no two systems can be better than each other
 */
export async function drawGains(state, open) {
  const { systems, tracks } = state.now;
  const { sign } = state.about;
  if (systems.length < 2 || !sign) return null;
  const included = include(await readScores(state.now, state.metric), state.policy);
  const [first, second] = rank(included.value, included.counts, systems, tracks.length, sign);
  const of = state.pair.of < 0 ? first : state.pair.of;
  const against = state.pair.against < 0 ? (of === second ? first : second) : state.pair.against;
  const changed = changesOf(included, of, against, tracks.length, sign);
  const [better, worse] = [changed.filter(([, gain]) => gain > 0), changed.filter(([, gain]) => gain < 0).reverse()];
  const choose = (name, label, chosen) => {
    const made = choice(label, systems.map((text, place) => [place, text]), chosen, (value) =>
      state.change((now) => { now.pair = { of, against, [name]: Number(value) }; })
        .then(() => document.querySelector(`#gains select[name=${name}]`)?.focus()));
    made.querySelector("select").setAttribute("name", name);
    return made;
  };
  const note = of === against ? "Choose two systems." : `${titleOf(state.about)} of ${systems[of]} against that of ${systems[against]}: ` +
    `better on ${better.length}, worse on ${worse.length} of ${count(changed.length, "track")}.`;
  const list = (title, rows) => el("div", {}, el("h3", {}, title), rows.length ?
    tableOf(state, rows.slice(0, MOST), included.value, of, against, open) : el("p", { class: "note" }, "None."));
  return section("gains", "Gains and losses", note, el("div", { class: "bar" }, choose("of", "System", of), choose("against", "Baseline", against)),
    of === against ? null : el("div", { class: "pair" }, list("Gains most", better), list("Loses most", worse)));
}

function tableOf(state, rows, value, of, against, open) {
  const { systems, tracks } = state.now;
  const write = formatter(state.about, state.percent);
  const signed = (gain) => (gain > 0 ? `+${write(gain)}` : write(gain));
  const heads = [th("Track", "who"), ["Gain", systems[of], systems[against]].map((text) => th(text, "number"))];
  const body = rows.map(([track, gain]) => el("tr", { class: "open", onclick: () => open(track, "tracks") },
    el("th", { scope: "row" }, el("button", { type: "button", class: "link", title: tracks[track],
      onclick: (event) => { event.stopPropagation(); open(track, "tracks"); } }, tracks[track])),
    [signed(gain), write(value[of * tracks.length + track]), write(value[against * tracks.length + track])]
      .map((text) => el("td", { class: "number" }, text))));
  return table(heads, body);
}

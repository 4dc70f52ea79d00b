/** What the menu of each part of the report copies: the command whose result the part shows, a frame with it, and a reference. */

import { linkTo } from "./address.js";
import { FETCHED } from "./data.js";
import { lossOf } from "./errors.js";
import { expressionOf } from "./filter.js";
import { titleOf, unitOf } from "./numbers.js";
import { takeMenu } from "./take.js";

const shell = (text) => (/^[\w./@+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** Most systems of which the page has the test of each two, as in data.py. */
const PAIRED = 24;

const storesOf = ({ contents }) => contents.stores.map(({ name }) => shell(`${name || contents.name}.zarr`)).join(" ");

/** Options of commands for the tracks and systems that are shown: an expression, or names where no expression is the same. */
function selectionOf(state, bySystem) {
  const { contents, now, shown, filter } = state;
  const own = shown ? expressionOf(state) : "";
  const both = [contents.where, own].filter(Boolean);
  const where = both.length ? ` --where ${shell(both.length > 1 ? both.map((one) => `(${one})`).join(" and ") : both[0])}` : "";
  const named = (option, names) => names.map((name) => ` ${option} ${shell(name)}`).join("");
  const systems = bySystem && filter.some(([kind]) => kind === "systems") ? named("--systems", state.shownSystems.map((system) => now.systems[system])) : "";
  return where + systems + (own === null ? named("--tracks", shown.tracks.map((track) => now.tracks[track])) : "");
}

/** Commands about all tracks together, or about annotations. */
const WHOLE = { doubts: "consensus", causes: "diagnose", coverage: "problems", extras: "query" };
const FIGURES = { distributions: "distributions", heatmap: "heatmap", alike: "agreement", tolerance: "tolerance" };

/** The command whose result a part shows; nothing where there is none. */
function commandOf(id, state) {
  const { now, about, contents } = state;
  const [store, group] = [storesOf(state), shell(now.name)];
  if (WHOLE[id]) {
    const { name, dims = [] } = id === "extras" ? now.extras[state.extra.metric] : {};
    if (state.shown || (id === "coverage" && contents.stores.length > 1)) return "";
    if (dims.length === 2 && dims[0][0].startsWith("ref_")) return `mirflow plot ${store} confusion -g ${group} -m ${shell(name)} -s ${shell(now.systems[state.extra.system])} -o confusion.pdf`;
    return `mirflow ${WHOLE[id]} ${store} -g ${group}${name ? ` -m ${shell(name)}` : ""}`;
  }
  if (state.metric < 0) return "";
  const named = `-g ${group} -m ${shell(about.name)}`;
  // The mean of a track is over the systems that have it.
  if (id === "tracks" || id === "difficulty") return `mirflow query ${store} ${named}${selectionOf(state, true)} --missing skip --by track --pivot system`;
  const selected = `${selectionOf(state, id !== "gains")}${state.missing === state.policies[0] ? "" : ` --missing ${state.missing}`}`;
  const aggregate = state.aggregate === about.standard_aggregate ? "" : ` --aggregate ${state.aggregate}`;
  if (id === "tolerance") return `mirflow plot ${store} tolerance -g ${group} -m ${shell(about.name.split(/[@(]/)[0])}${selected}${aggregate} -o tolerance.pdf`;
  if (FIGURES[id]) return `mirflow plot ${store} ${FIGURES[id]} ${named}${selected} -o ${FIGURES[id]}.pdf`;
  if (id === "losses") return `mirflow budget ${store} -g ${group} -m ${shell(lossOf(state))}${selected}`;
  if (id === "gains") {
    const [of, against] = ["of", "against"].map((name) => shell(document.querySelector(`#gains select[name=${name}] option:checked`)?.textContent || ""));
    // The page corrects for all pairs of systems; with a filter it tests the two alone.
    const pair = state.shown || now.systems.length > PAIRED ? ` -s ${of} -s ${against}` : " --all-pairs";
    return of === against ? "" : `mirflow compare ${store} ${named}${selected}${aggregate}${pair}`;
  }
  if (id !== "standings" && id !== "leaderboard") return "";
  const query = `mirflow query ${store} ${named}${selected}${aggregate}`;
  const groups = id === "leaderboard" && state.by ? `\n${query} --by ${shell(state.by)}` : "";
  return `${query} --ci --significance${groups}`;
}

/** A reference for what is shown: the software, and which numbers it computed. */
function citationOf({ contents, now, metric, shown }) {
  // The signature is of all tracks.
  const found = shown ? null : now.inference.find(([one]) => one === metric);
  const signature = found && found[1].signature ? `, ${found[1].signature}` : "";
  return contents.citation.replace(/\}$/, `  note = {Results of ${contents.name}, ${now.name}${signature}},\n}`);
}

export function offerCopies(state) {
  const { contents, now } = state;
  const axis = state.metric < 0 ? "" : `${titleOf(state.about)}${unitOf(state.about, false)}`;
  for (const part of document.querySelectorAll("#main section, #standings")) {
    part.querySelector(":scope > details.take")?.remove();
    const title = `${part.querySelector("h2")?.textContent || axis}: ${now.name}, ${contents.name}`;
    // HTML that shows the part alone, by its place in the page that has it.
    const frame = () => {
      const [source, name] = [linkTo(Object.create(state, { part: { value: part.id } })), title].map((text) => text.replaceAll("&", "&amp;").replaceAll('"', "&quot;"));
      return `<iframe src="${source}" title="${name}" width="100%" height="${part.offsetHeight + 60}" style="border: 0"></iframe>`;
    };
    const menu = takeMenu(part, { title, command: commandOf(part.id, state), citation: citationOf(state), frame: FETCHED ? null : frame });
    if (menu) part.append(menu);
  }
}

/** The menu of the timeline of a track, whose visible lanes are what the command draws. */
export function timelineMenu({ state, track, found, chosen }, view) {
  const { contents, now } = state;
  const name = now.tracks[track];
  const judged = found.rules[chosen.rule];
  const ends = () => [view.from, Math.min(view.to, view.whole)].map((time) => Number(time.toFixed(3)));
  const command = contents.stores.length > 1 ? "" : () => `mirflow plot ${storesOf(state)} timeline -g ${shell(now.name)}${judged ? ` -m ${shell(judged)}` : ""} -t ${shell(name)} ` +
    `--from ${ends()[0]} --to ${ends()[1]} -o ${shell(`${name.replace(/[^\w-]+/g, "_")}.pdf`)}`;
  return takeMenu(view.node, { command, citation: citationOf(state) });
}

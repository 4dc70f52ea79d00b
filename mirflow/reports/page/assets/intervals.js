/** Intervals of the values that are shown: those that came with the page, or of some tracks, computed in it. */

import { CONTENTS, inferenceOf } from "./data.js";
import { readShown } from "./filter.js";
import { include, termsOf } from "./reduce.js";
import { DRAWS, resample } from "./resampling.js";

/** Intervals and groups, where they are those of just the values that are shown; undefined where they are still computed. */
export function fittingInference(state, arrived) {
  if (state.shown) return inferShown(state, arrived);
  if (state.missing !== state.policies[0]) return null;
  const found = inferenceOf(state.now, state.metric, arrived);
  return found && found.aggregate !== state.aggregate ? null : found;
}

const HOW = `Intervals: computed in the page, of these tracks (percentile bootstrap, ${DRAWS.toLocaleString("en")} draws). ` +
  "Who is not told apart is known of all tracks and systems only; two systems are tested under “Gains and losses”.";

function inferShown(state, arrived) {
  const { metric, aggregate, missing, shown: { inferred } } = state;
  const key = JSON.stringify([metric, aggregate, missing]);
  if (!inferred.has(key)) {
    inferred.set(key, undefined);
    boundShown(state).then((found) => {
      inferred.set(key, found);
      arrived();
    });
  }
  return inferred.get(key);
}

async function boundShown(state) {
  const { now: { systems }, shownSystems } = state;
  const sides = await sidesOf(state, shownSystems.map((system) => [system]));
  const able = shownSystems.filter((_, place) => sides[place]);
  const ends = able.length ? await resample({ sides: sides.filter(Boolean) }) : [];
  const found = { aggregate: state.aggregate, low: systems.map(() => null), high: systems.map(() => null), letters: [], ranks: [], pairs: [] };
  able.forEach((system, place) => { [found.low[system], found.high[system]] = ends[place]; });
  return { ...found, how: able.length ? HOW : `Intervals need at least ${CONTENTS.leastUnits} tracks.` };
}

/** The difference of two systems on the tracks that both have, its interval and p; null where there are too few. */
export async function comparePair(state, of, against) {
  const sides = await sidesOf(state, [[of, against], [against, of]]);
  return sides.every(Boolean) ? resample({ sides, paired: true }) : null;
}

/** What an aggregate adds up of each system, over the tracks that it and others have; null where that has no interval. */
async function sidesOf(state, groups) {
  const { now: { tracks }, aggregate, shownTracks } = state;
  const numbers = await readShown(state);
  const included = include(numbers, state.policy);
  return groups.map((systems) => {
    const members = shownTracks.filter((track) => systems.every((system) => included.counts[system * tracks.length + track]));
    const side = termsOf(aggregate, CONTENTS.aggregates[aggregate], included, numbers, systems[0], members, tracks.length);
    const known = side && (side.scores || side.above).every(Number.isFinite);
    return known && members.length >= CONTENTS.leastUnits ? { units: members.length, ...side } : null;
  });
}

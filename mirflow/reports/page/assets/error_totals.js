/** Totals of errors over the tracks that a filter leaves. */

const sumOf = (values) => values.reduce((sum, value) => sum + value, 0);

/** The amounts of a kind in some tracks. */
function amountsIn([steps, amounts], kept) {
  let track = 0;
  return amounts.filter((_, at) => kept.has(track += steps[at]));
}

/** A system's errors over some tracks. */
function narrow(own, totals, kept) {
  const judged = totals.judged.filter((amount, track) => amount !== null && kept.has(track));
  const kinds = own.kinds.map((kind, place) => {
    const amounts = amountsIn(totals.kinds[place], kept);
    return { ...kind, amount: sumOf(amounts), tracks: amounts.length };
  });
  const left = sumOf(amountsIn(totals.left, kept));
  return { ...own, tracks: judged.length, judged: sumOf(judged), wrong: left + sumOf(kinds.map(({ amount }) => amount)), kinds, left: [left ? own.left[0] : 0, left] };
}

/**
 * What is wrong in the tracks that are shown; in all tracks where the page has no totals by track, and where only what
 * another system has right is asked for.
 * @param {any} found of an evaluation, as the page has it
 * @param {import("./state.js").State} state
 */
export function errorsOfShown(found, { now, shown, wrong }) {
  if (!found?.byTrack || wrong.right >= 0 || !shown || shown.tracks.length === now.tracks.length) return found;
  const names = new Set(shown.tracks.map((track) => now.tracks[track]));
  const kept = new Set(found.tracks.keys().filter((track) => names.has(found.tracks[track])));
  const systems = found.systems.map((own, place) => own && narrow(own, found.byTrack[place], kept));
  return { ...found, systems, narrowed: true };
}

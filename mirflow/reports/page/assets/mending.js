/** Patches of references from places at which the systems are right; see mirflow's readers/patches.py for their form. */

/**
 * @param {string} task
 * @param {Array<any>} rows places, with the rows of the reference that they touch
 * @param {string} author
 * @returns {{patch: any, left: number}} null without any correction; how many places have to be edited by hand
 */
export function mend(task, rows, author) {
  const able = rows.filter(({ old }) => old);
  const references = new Map();
  for (const row of able) {
    const key = JSON.stringify([row.track, row.annotator]);
    if (!references.has(key)) references.set(key, []);
    references.get(key).push(row);
  }
  const date = new Date().toISOString().slice(0, 10);
  const tracks = [...references.values()].map((own) => {
    const [{ track, annotator, digest }] = own;
    const said = own.map(({ systems, of, reference, consensus, start }) => `${systems} of ${of} systems agree on ${consensus || "nothing"}, ` +
      `not ${reference || "nothing"}${start === null ? "" : `, at ${start.toFixed(2)} s`}`);
    return { track, digest, rows: editsOf(own), author, reason: said.join("; "), date, ...(annotator && { annotator }) };
  });
  return { patch: tracks.length ? { task, tracks } : null, left: rows.length - able.length };
}

/** The edits of one reference. Several places may touch the same row, which is then edited once. */
function editsOf(places) {
  const [{ old: [first] = [{}] }] = places;
  if (places.some((place) => place.new)) {
    return places.flatMap((place) => [...place.old.map((row) => ({ old: [row] })), ...(place.new.length ? [{ new: place.new }] : [])]);
  }
  if (first.start === undefined) return places.map(({ old, consensus }) => ({ old, new: [{ label: consensus }] }));
  const touched = new Map(places.flatMap(({ old }) => old).map((row) => [JSON.stringify(row), row]));
  return [...touched.values()].sort((a, b) => a.start - b.start).map((row) => ({ old: [row], new: cut(row, places) }));
}

/** A row of the reference, cut at the places and with what the systems say there. */
function cut(row, places) {
  const inside = (time) => time > row.start && time < row.end;
  const bounds = [row.start, ...places.flatMap(({ start, end }) => [start, end]).filter(inside), row.end].sort((a, b) => a - b);
  const pieces = [];
  bounds.slice(1).forEach((end, at) => {
    const start = bounds[at];
    const middle = (start + end) / 2;
    const { consensus: label } = places.find((place) => place.start < middle && middle < place.end) || { consensus: row.label };
    const last = pieces[pieces.length - 1];
    if (last && last.label === label) last.end = end;
    else if (end > start) pieces.push({ start, end, label });
  });
  return pieces;
}

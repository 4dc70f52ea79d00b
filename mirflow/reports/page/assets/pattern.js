/** Tracks in the order of their first principal component: next to each other are those on which the same systems are strong. */

/** Squarings of a matrix after which its first eigenvector stands alone, unless the second one is as large. */
const SQUARINGS = 14;

/**
 * The component of each track: what systems are above or below what is expected of the track and of themselves.
 * @param {Float64Array} score (all systems, all tracks), NaN where there is none
 * @param {number[]} systems
 * @param {number[]} tracks positions
 * @param {number} count of all tracks
 * @returns {Float64Array} one for each of `tracks`
 */
export function componentOf(score, systems, tracks, count) {
  const rows = systems.map((system) => Float64Array.from(tracks, (track) => score[system * count + track]));
  const mean = (values) => {
    const known = values.filter(Number.isFinite);
    return known.length ? known.reduce((sum, one) => sum + one, 0) / known.length : 0;
  };
  const ofTracks = Float64Array.from(tracks, (_, place) => mean(rows.map((row) => row[place])));
  const centred = rows.map((row) => {
    const above = row.map((one, place) => (Number.isFinite(one) ? one - ofTracks[place] : NaN));
    const own = mean(above);
    return above.map((one) => (Number.isNaN(one) ? 0 : one - own));
  });
  const dot = (a, b) => a.reduce((sum, one, place) => sum + one * b[place], 0);
  let matrix = centred.map((a) => Float64Array.from(centred, (b) => dot(a, b)));
  for (let time = 0; time < SQUARINGS; time++) {
    const largest = Math.max(...matrix.map((row, place) => row[place]));
    if (!(largest > 0)) return new Float64Array(tracks.length);
    const scaled = matrix.map((row) => row.map((one) => one / largest));
    matrix = scaled.map((a) => Float64Array.from(scaled, (b) => dot(a, b)));
  }
  const [first] = [...matrix].sort((a, b) => dot(b, b) - dot(a, a));
  // An eigenvector has no sign of its own: tracks on which the first system is strong come last.
  const sign = first[0] < 0 ? -1 : 1;
  return Float64Array.from(tracks, (_, place) => sign * centred.reduce((sum, row, system) => sum + first[system] * row[place], 0));
}

/** What the page holds: names at once, numbers when they are looked at. */

/** What the page knows at once: names, and what they mean. */
export const CONTENTS = JSON.parse(document.getElementById("contents").textContent);

async function unpack(number) {
  const text = document.getElementById(`block-${number}`).textContent;
  const packed = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

const unpacked = new Map();

/** Every block is unpacked once. */
function once(kind, number, make) {
  const key = `${kind} ${number}`;
  if (!unpacked.has(key)) unpacked.set(key, unpack(number).then(make));
  return unpacked.get(key);
}

/** @returns {Promise<Float64Array>} */
export function readFloats(number) {
  return once("floats", number, (bytes) => {
    const count = bytes.length / 8;
    const straight = new Uint8Array(bytes.length);
    for (let plane = 0; plane < 8; plane++) {
      for (let item = 0; item < count; item++) straight[item * 8 + plane] = bytes[plane * count + item];
    }
    return new Float64Array(straight.buffer);
  });
}

/** @returns {Promise<Uint8Array>} */
export function readBytes(number) {
  return once("bytes", number, (bytes) => bytes);
}

/** @returns {Promise<any>} */
export function readJson(number) {
  return once("json", number, (bytes) => JSON.parse(new TextDecoder().decode(bytes)));
}

/**
 * Scores of one metric of an evaluation; `flags` say which are missing, undefined, and count.
 * @returns {Promise<{score: Float64Array, weight: Float64Array, duration: Float64Array, flags: Uint8Array}>}
 */
export async function readScores(evaluation, metric) {
  const { score, weight, flags } = evaluation.metrics[metric];
  const read = [readFloats(score), readFloats(weight), readFloats(evaluation.duration), readBytes(flags)];
  const [scores, weights, duration, bytes] = await Promise.all(read);
  return { score: scores, weight: weights, duration, flags: bytes };
}

/**
 * An aggregate that is no ratio of sums, over all tracks or a group by a coordinate: a value for each system.
 * @param {string} by the coordinate, or nothing
 * @param {number[]} members positions of the tracks
 * @returns {Promise<Float64Array>}
 */
export async function readStatistic(evaluation, metric, aggregate, policy, by, members) {
  const { groupings, policies, systems } = evaluation;
  const values = await readFloats(evaluation.metrics[metric].statistics[aggregate]);
  // All tracks come first, then the groups of one coordinate after the other, each named by its first track.
  const firsts = [[null], ...groupings.map(([, own]) => own)];
  const rows = firsts.reduce((sum, own) => sum + own.length, 0);
  const place = by ? groupings.findIndex(([name]) => name === by) + 1 : 0;
  const before = firsts.slice(0, place).reduce((sum, own) => sum + own.length, 0);
  const row = policies.indexOf(policy) * rows + before + (by ? firsts[place].indexOf(members[0]) : 0);
  return values.subarray(row * systems.length, (row + 1) * systems.length);
}

/** What the page holds: names at once, numbers when they are looked at. */

/** @returns {any} */
export function readContents() {
  return JSON.parse(document.getElementById("contents").textContent);
}

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
 * Scores of one metric of an evaluation.
 * @returns {Promise<{score: Float64Array, weight: Float64Array, duration: Float64Array, cells: Uint8Array}>}
 */
export async function readScores(evaluation, metric) {
  const { score, weight } = evaluation.metrics[metric];
  const [scores, weights, duration, cells] = await Promise.all(
    [readFloats(score), readFloats(weight), readFloats(evaluation.duration), readBytes(evaluation.cells)]);
  return { score: scores, weight: weights, duration, cells };
}

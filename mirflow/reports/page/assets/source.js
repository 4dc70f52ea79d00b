/** Where the page's data come from: the page itself, or addresses beside it that are fetched when they are looked at. */

/** A script with JSON in the page, or a link to JSON. */
const place = /** @type {HTMLElement} */ (document.getElementById("contents"));

/** Whether data are fetched. */
export const FETCHED = place instanceof HTMLLinkElement;

const CHANGED = "The results have changed since this page was opened. Reload it to see them.";

export const bytesOf = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));

/** Say above everything why something could not be loaded. */
function complain(text) {
  const box = document.createElement("p");
  Object.assign(box, { id: "trouble", className: "warning", textContent: text });
  box.setAttribute("role", "alert");
  document.getElementById("trouble")?.remove();
  document.getElementById("head").before(box);
}

export async function load(address, what) {
  let response;
  try {
    response = await fetch(new URL(address, place.href), { credentials: "same-origin" });
  } catch (error) {
    complain(`${what} could not be loaded: the server does not answer. Reload the page to try again.`);
    throw error;
  }
  if (response.ok) return response;
  if (response.status === 404) return null;
  complain(response.status === 410 ? CHANGED : `${what} could not be loaded (${response.status}). Reload the page to try again.`);
  throw new Error(`${what}: ${response.status}`);
}

/** What the page knows at once. */
export async function loadContents() {
  if (!FETCHED) return JSON.parse(place.textContent);
  const response = await load("", "The results");
  if (response) return response.json();
  complain("There are no results at this address any more.");
  throw new Error("no contents");
}

/** One of the compressed parts. */
export async function loadPart(part, ahead) {
  const text = FETCHED ? ahead[part] : document.getElementById(`block-${part}`).textContent;
  const response = text === undefined && await load(String(part), "Scores");
  if (response === null) {
    complain(CHANGED);
    throw new Error(`no part ${part}`);
  }
  const stream = new Blob([response ? await response.arrayBuffer() : bytesOf(text)]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

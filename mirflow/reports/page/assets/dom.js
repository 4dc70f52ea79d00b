/** Elements, made one by one: what comes from files is only ever text. */

import { FETCHED } from "./source.js";

const SVG = "http://www.w3.org/2000/svg";

/**
 * @param {Element} node
 * @param {Object<string, unknown>} properties attributes; `on...` are listeners, false and null leave out
 * @param {Array<Node|string|number|null>} children
 */
function fill(node, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  // A number is rounded: all of its digits are in the title.
  const exact = properties["data-value"];
  if (exact !== undefined && !properties.title && Number.isFinite(Number(exact))) node.setAttribute("title", String(exact));
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined).map((child) =>
    child instanceof Node ? child : document.createTextNode(String(child))));
  return node;
}

/** An HTML element. */
export function el(tag, properties = {}, ...children) {
  return fill(document.createElement(tag), properties, children);
}

/** An SVG element. */
export function svg(tag, properties = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

const DRAWN = new Set(["svg", "line", "rect", "circle", "text", "path", "title"]);

/** Elements as the page's data have them: name, attributes, and what is in them. */
export const build = (nodes) => nodes.map((node) => (typeof node === "string" ? node :
  (DRAWN.has(node[0]) ? svg : el)(node[0], node[1], ...build(node[2]))));

/** A choice from a list of [value, text]. */
export function choice(label, options, value, onchange) {
  const select = el("select", { onchange: () => onchange(select.value) },
    options.map(([key, text]) => el("option", { value: key, selected: String(key) === String(value) }, text)));
  return el("label", { class: "choice" }, el("span", {}, label), select);
}

/** A line that says what happened, each time, for a while. */
export function notice() {
  const node = el("span", { class: "status", role: "status" });
  let timer = 0;
  const say = (text) => {
    window.clearTimeout(timer);
    node.textContent = text;
    timer = window.setTimeout(() => { node.textContent = ""; }, 2000 + 60 * text.length);
  };
  return { node, say };
}

/** What is to be known of a copied link: it may lead to a file of this machine. */
export const linkNote = () => (location.protocol === "file:" ? ". The link works where this file lies: send the file, too." : "");

/** A button that copies a link; where the browser does not let it, the text stands there to be copied. */
export function copyButton(label, textOf) {
  const { node, say } = notice();
  const copy = async () => {
    const text = textOf();
    try {
      await navigator.clipboard.writeText(text);
      say(`Copied${linkNote()}`);
    } catch {
      const field = el("input", { type: "text", readonly: true, value: text, "aria-label": "Link" });
      node.replaceChildren(field);
      field.select();
    }
  };
  return el("span", { class: "copy" }, el("button", { type: "button", onclick: copy }, label), node);
}

/** Sentences, those of which that say what can be done with a pointer are left out on paper and in pictures. */
export const hinted = (text) => String(text).split(/((?:^|(?<=\. ))(?:A click|Click|Drag|Point|N and P)\s[^.]*\.)/).map((part, at) =>
  (at % 2 ? el("span", { class: "hint" }, part) : part));

/** A section of the page with a heading; `note` stands below it. */
export function section(id, title, note, ...children) {
  return el("section", { id, "aria-labelledby": `${id}-title`, tabindex: "-1" },
    el("h2", { id: `${id}-title` }, title), note ? el("p", { class: "note" }, typeof note === "string" ? hinted(note) : note) : null, ...children);
}

/** The short name of a system or a track, which copies as the whole one. */
export function named(now, kind, place) {
  const [name, short] = [now[kind][place], now.short[kind]?.[place]];
  return short === undefined || short === name ? name : el("span", { title: name, "data-name": name }, short);
}

/** The head of a column; numbers stand at the right. */
export const th = (text, kind = null) => el("th", { scope: "col", class: kind }, text);

/** The name of a row and its cells: texts, or numbers of class `number`. */
export const tr = (name, cells, kind = null) => el("tr", {}, el("th", { scope: "row" }, name), cells.map((cell) => el("td", { class: kind }, cell)));

/** A table in a box that scrolls: heads of columns, and rows. With a `label` the box can be reached by the keyboard. */
export function table(heads, rows, { label = null, box = "scroll", ...properties } = {}) {
  return el("div", { class: box, ...(label && { tabindex: "0", role: "region", "aria-label": label }) },
    el("table", properties, el("thead", {}, el("tr", {}, heads)), el("tbody", {}, rows)));
}

/** What a track or a system is by its coordinates, in a line. */
export const detailsOf = (coords, place) => coords.map(([name, values]) => [name, values[place]])
  .filter(([, value]) => value !== "" && value !== null).map(([name, value]) => `${name.replaceAll("_", " ")} ${value}`);

/** What was warned of when an evaluation was scored. */
export const warningsOf = ({ warnings }) => warnings.map((text) => el("p", { class: "warning", role: "note" }, `Warning: ${text}.`));

/** Parts that were asked for: a server reads all annotations to make them. */
const asked = new Set();

/** A box for what is made of a part of the page: at once, or where it is fetched when the reader asks for it. */
export async function onRequest(part, label, make) {
  const holder = el("div", {});
  const fill = async () => holder.replaceChildren(...await make());
  if (!FETCHED) await fill();
  else if (asked.has(part)) fill();
  else {
    const button = el("button", { type: "button", onclick: () => {
      asked.add(part);
      button.replaceWith(el("p", { role: "status" }, "Reading the annotations …"));
      fill();
    } }, label);
    holder.append(button);
  }
  return holder;
}

/** Show a text beside the pointer; without a text, hide it. */
export function tip(lines, x = 0, y = 0) {
  const box = /** @type {HTMLElement} */ (document.getElementById("tip"));
  box.hidden = !lines;
  if (!lines) return;
  box.replaceChildren(...lines.map((line, number) => el(number ? "span" : "b", {}, line)));
  const wide = box.offsetWidth;
  const high = box.offsetHeight;
  box.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - wide - 8))}px`;
  box.style.top = `${y + 18 + high > innerHeight ? y - high - 10 : y + 18}px`;
}

/** A canvas of a size in CSS pixels, sharp on any screen, or finer; what it gives draws in CSS pixels. */
export function sharpen(canvas, width, height, least = 1) {
  const ratio = Math.max(least, Math.min(window.devicePixelRatio || 1, 3));
  // A browser refuses a canvas beyond some size; a coarser one is better than none.
  const scale = Math.min(ratio, 16000 / Math.max(1, width), 16000 / Math.max(1, height));
  canvas.width = Math.max(1, Math.round(width * scale));
  canvas.height = Math.max(1, Math.round(height * scale));
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  return context;
}

/** A colour of the page's style, by the name of its custom property. */
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

export const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

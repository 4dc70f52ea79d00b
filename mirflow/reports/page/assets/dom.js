/** Elements, made one by one: what comes from files is only ever text. */

const SVG = "http://www.w3.org/2000/svg";

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

export const el = (tag, properties = {}, ...children) => fill(document.createElement(tag), properties, children);

export const svg = (tag, properties = {}, ...children) => fill(document.createElementNS(SVG, tag), properties, children);

const DRAWN = new Set(["svg", "line", "rect", "circle", "text", "path", "title"]);

/** Elements as the page's data have them: name, attributes, and what is in them. */
export const build = (nodes) => nodes.map((node) => (typeof node === "string" ? node :
  (DRAWN.has(node[0]) ? svg : el)(node[0], node[1], ...build(node[2]))));

/** A choice from a list of [value, text]. One with a name has the focus again in the section that is drawn anew by it. */
export function choice(label, options, value, onchange, name = null) {
  const select = el("select", { name, onchange: async () => {
    const part = select.closest("section")?.id;
    await onchange(select.value);
    if (name && part) document.querySelector(`#${part} select[name="${name}"]`)?.focus();
  } }, options.map(([key, text]) => el("option", { value: key, selected: String(key) === String(value) }, text)));
  return el("label", { class: "choice" }, el("span", {}, label), select);
}

/** A field that finds one of some names, with the list of them. */
export function nameFinder(kind, names, properties, take) {
  const field = el("input", { type: "search", list: `names-of-${kind}`, autocomplete: "off", ...properties, onchange: () => { if (names.includes(field.value)) take(field.value, field); } });
  return [field, el("datalist", { id: `names-of-${kind}` }, names.map((value) => el("option", { value })))];
}

export const opener = (label, title, act, more = {}) => el("button", { type: "button", class: "link", title,
  onclick: (event) => { event.stopPropagation(); act(); }, ...more }, label);

/** A button for more rows of a list, of which some are drawn; null where all are. */
export const moreButton = (drawn, all, onclick) => (drawn < all ? el("button", { type: "button", class: "more", onclick }, `Show more (${drawn} of ${all})`) : null);

/** Up and down go from a row's button to that of the next one. */
export function walk(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step) return;
  const buttons = [...event.target.closest("tbody").querySelectorAll("button.link")];
  event.preventDefault();
  buttons[buttons.indexOf(event.target) + step]?.focus();
}

/** The head of a column by which rows can be sorted, falling at first unless it is `rising`; a click on the one by which they are turns them round. */
export function sortHead(column, text, kind, { column: sorted, turned }, turn, rising = false) {
  const current = column === sorted;
  const direction = !current ? "none" : turned === rising ? "descending" : "ascending";
  return el("th", { scope: "col", class: kind, "aria-sort": direction }, el("button", { type: "button", "data-sort": column, onclick: async (event) => {
    const { id } = event.target.closest("section");
    await turn(current && !turned);
    document.querySelector(`#${id} [data-sort="${CSS.escape(column)}"]`)?.focus();
  } }, `${text}${{ ascending: " ↑", descending: " ↓" }[direction] ?? ""}`));
}

export function save(data, name, type) {
  const address = URL.createObjectURL(new Blob([data], { type }));
  el("a", { href: address, download: name }).click();
  window.setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** Whether links lead to a file of this machine, and what is to be known of a copied one then. */
const LOCAL = location.protocol === "file:";
export const linkNote = () => (LOCAL ? ". The link works where this file lies: send the file, too." : "");

/** What copies texts, and a line that says so for a while; where the browser does not let it, the text stands there to be copied. */
export function copier() {
  const node = el("span", { class: "status", role: "status" });
  let timer = 0;
  const copy = async (text, saying) => {
    window.clearTimeout(timer);
    try {
      await navigator.clipboard.writeText(text);
      node.textContent = saying;
      timer = window.setTimeout(() => { node.textContent = ""; }, 2000 + 60 * saying.length);
    } catch {
      const field = el("textarea", { readonly: true, rows: Math.min(4, text.split("\n").length), "aria-label": "Text to copy" }, text);
      node.replaceChildren(field);
      field.select();
    }
  };
  return { node, copy };
}

export function copyButton(label, textOf, title = "The address of what is shown") {
  const { node, copy } = copier();
  return el("span", { class: "copy" }, el("button", { type: "button", title: `${title}${LOCAL ? ". Whoever opens it needs the file of this page, too" : ""}`, onclick: () => copy(textOf(), `Copied${linkNote()}`) }, label), node);
}

/** Sentences, those of which that say what can be done with a pointer are left out on paper. */
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

/** A cell with a number, coloured by a share from 0 to 1. */
export function tintedCell(value, share, text, properties = {}) {
  const cell = el("td", { class: "number", "data-value": value, ...properties }, text);
  if (Number.isFinite(share)) cell.style.setProperty("--share", `${100 * share}%`);
  return cell;
}

/** What a track or a system is by its coordinates, in a line. */
export const detailsOf = (coords, place) => coords.map(([name, values]) => [name, values[place]])
  .filter(([, value]) => value !== "" && value !== null).map(([name, value]) => `${name.replaceAll("_", " ")} ${value}`);

export const warningsOf = ({ warnings }) => warnings.map((text) => el("p", { class: "warning", role: "note" }, `Warning: ${text}.`));

/** Lines beside the pointer while it is over a node, which say nothing where there are none; what a click does there. */
export function hover(node, linesOf, act = null) {
  const box = /** @type {HTMLElement} */ (document.getElementById("tip"));
  const hide = () => { box.hidden = true; };
  node.addEventListener("pointermove", (event) => {
    const lines = linesOf(event);
    if (act) node.style.cursor = lines ? "pointer" : "default";
    box.hidden = !lines;
    box.replaceChildren(...(lines ?? []).map((line, number) => el(number ? "span" : "b", {}, line)));
    const [x, y] = [event.clientX, event.clientY];
    box.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.offsetWidth - 8))}px`;
    box.style.top = `${y + 18 + box.offsetHeight > innerHeight ? y - box.offsetHeight - 10 : y + 18}px`;
  });
  node.addEventListener("pointerleave", hide);
  if (act) node.addEventListener("click", (event) => { hide(); act(event); });
  return node;
}

export function fitText(context, text, room) {
  if (context.measureText(text).width <= room) return text;
  let size = Math.min(text.length, 80);
  while (size > 1 && context.measureText(`${text.slice(0, size)}…`).width > room) size -= 1;
  return size > 1 ? `${text.slice(0, size)}…` : "";
}

/** A canvas of a size in CSS pixels, sharp on any screen; what it gives draws in CSS pixels. */
export function sharpen(canvas, width, height) {
  // A browser refuses a canvas beyond some size; a coarser one is better than none.
  const scale = Math.min(Math.max(1, Math.min(window.devicePixelRatio, 3)), 16000 / Math.max(1, width), 16000 / Math.max(1, height));
  canvas.width = Math.max(1, Math.round(width * scale));
  canvas.height = Math.max(1, Math.round(height * scale));
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  return context;
}

/** Lines from a place to another, each as `[x, y, x, y]`. */
export function stroke(context, ...lines) {
  context.beginPath();
  for (const [left, top, right, bottom] of lines) {
    context.moveTo(left, top);
    context.lineTo(right, bottom);
  }
  context.stroke();
}

export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** Pixels that the pointer goes before a press is a drag and not a click. */
const FAR = 5;

/** Call `done` with the ends of a rectangle, in pixels of the node; Escape gives it up, and a click stays a click. */
export function letBrush(node, done, along = false) {
  let [start, shape, dragged] = [null, null, false];
  const boxOf = (event) => {
    const frame = node.getBoundingClientRect();
    const ends = (from, to, most) => [from, Math.max(0, Math.min(most, to))].sort((a, b) => a - b);
    const [left, right] = ends(start.x, event.clientX - frame.left, frame.width);
    const [top, bottom] = along ? [0, frame.height] : ends(start.y, event.clientY - frame.top, frame.height);
    return { frame, left, right, top, bottom };
  };
  const end = () => {
    shape?.remove();
    [start, shape] = [null, null];
    document.removeEventListener("keydown", escape, true);
  };
  const escape = (event) => { if (event.key === "Escape") end(); };
  node.classList.add("brushed");
  node.addEventListener("pointerdown", (event) => {
    dragged = false;
    const { left, top } = node.getBoundingClientRect();
    if (event.button === 0) start = { x: event.clientX - left, y: event.clientY - top };
  });
  node.addEventListener("pointermove", (event) => {
    if (!start) return;
    const { frame, left, right, top, bottom } = boxOf(event);
    if (!shape) {
      if (right - left < FAR && (along || bottom - top < FAR)) return;
      dragged = true;
      shape = el("div", { class: "brush" });
      document.body.append(shape);
      node.setPointerCapture(event.pointerId);
      document.addEventListener("keydown", escape, true);
    }
    Object.assign(shape.style, { left: `${frame.left + left}px`, top: `${frame.top + top}px`, width: `${right - left}px`, height: `${bottom - top}px` });
  });
  node.addEventListener("pointerup", (event) => {
    const box = shape && boxOf(event);
    end();
    if (box) done(box);
  });
  node.addEventListener("pointercancel", end);
  node.addEventListener("click", (event) => {
    if (dragged) event.stopImmediatePropagation();
    dragged = false;
  }, true);
}

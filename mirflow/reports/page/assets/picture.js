/** A part of a page as a picture: its text, lines, shapes and canvases where they are, in the colours that are seen. */

import { fitText } from "./dom.js";

const GAP = 12;
const FONT = "system-ui, sans-serif";
/** Pixels of PNG for each pixel of the page, and between the lines of a hatched ground. */
const [SCALE, HATCH] = [2, 10];
/** What a part has beside its chart or table. */
const BESIDE = "details.take, .more, .verdicts, .bar > .link, .readout, .unseen, .onpaper, select, input, .choice, .note:not(caption), .forest > caption, .told, .shown, .lead, h2, summary, script";

const measuring = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
const resolved = new Map();

/** A colour as red, green, blue and alpha, whatever the way in which it was given; nothing for what is not seen. */
function plain(colour) {
  if (!resolved.has(colour)) {
    measuring.clearRect(0, 0, 1, 1);
    measuring.fillStyle = colour;
    measuring.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = measuring.getImageData(0, 0, 1, 1).data;
    resolved.set(colour, !alpha ? "" : alpha === 255 ? `rgb(${red},${green},${blue})` : `rgba(${red},${green},${blue},${(alpha / 255).toFixed(3)})`);
  }
  return resolved.get(colour);
}

function pathOf(shape) {
  const value = (name) => shape[name].baseVal.value;
  switch (shape.localName) {
    case "line": return `M${value("x1")} ${value("y1")}L${value("x2")} ${value("y2")}`;
    case "rect": return `M${value("x")} ${value("y")}h${value("width")}v${value("height")}h${-value("width")}z`;
    case "circle":
    case "ellipse": {
      const [rx, ry] = shape.localName === "circle" ? [value("r"), value("r")] : [value("rx"), value("ry")];
      return `M${value("cx") - rx} ${value("cy")}a${rx} ${ry} 0 1 0 ${2 * rx} 0a${rx} ${ry} 0 1 0 ${-2 * rx} 0z`;
    }
    case "polyline": return `M${shape.getAttribute("points")}`;
    case "polygon": return `M${shape.getAttribute("points")}z`;
    case "path": return shape.getAttribute("d");
    default: return "";
  }
}

function markShape(shape, marks) {
  const style = getComputedStyle(shape);
  const matrix = shape.getScreenCTM();
  if (shape.localName === "text") {
    const place = new DOMPoint(shape.x.baseVal[0]?.value || 0, shape.y.baseVal[0]?.value || 0).matrixTransform(matrix);
    marks.push({ kind: "text", text: shape.textContent, x: place.x, y: place.y, font: fontOf(style), anchor: style.textAnchor, fill: plain(style.fill),
      box: shape.getBoundingClientRect() });
    return;
  }
  const path = pathOf(shape);
  if (!path) return;
  const [fill, stroke] = [style.fill, style.stroke].map((colour) => (colour === "none" ? "" : plain(colour)));
  marks.push({ kind: "shape", path, matrix, fill: shape.localName === "line" ? "" : fill, stroke, width: parseFloat(style.strokeWidth),
    opacity: Number(style.opacity), box: shape.getBoundingClientRect() });
}

const fontOf = (style) => `${style.fontWeight} ${style.fontSize} ${FONT}`;

/** The words of a text node, line by line. */
function markText(node, marks) {
  const parent = node.parentElement;
  const style = getComputedStyle(parent);
  const range = document.createRange();
  const lines = [];
  for (const { 0: word, index } of node.data.matchAll(/\S+/g)) {
    range.setStart(node, index);
    range.setEnd(node, index + word.length);
    const box = range.getBoundingClientRect();
    if (!box.width) continue;
    const last = lines.at(-1);
    if (last && Math.abs(last.box.top - box.top) < 2) {
      last.text += ` ${word}`;
      last.right = box.right;
    } else lines.push({ text: word, box, right: box.right });
  }
  measuring.font = fontOf(style);
  const { fontBoundingBoxAscent: ascent } = measuring.measureText("x");
  for (const { text, box, right } of lines) {
    const anchor = ["right", "end"].includes(style.textAlign) ? "end" : style.textAlign === "center" ? "middle" : "start";
    const x = anchor === "end" ? right : anchor === "middle" ? (box.left + right) / 2 : box.left;
    const room = style.textOverflow === "ellipsis" ? parent.clientWidth : Infinity;
    marks.push({ kind: "text", text: fitText(measuring, text, room + 1), x, y: box.top + ascent, font: fontOf(style), anchor, fill: plain(style.color), box });
  }
}

/** A ground that is not that of the page, and the line below. */
function markBox(node, marks, ground) {
  const style = getComputedStyle(node);
  const box = node.getBoundingClientRect();
  const { left, top, bottom, width, height } = box;
  const shape = (path, fill, stroke = "") => marks.push({ kind: "shape", path, matrix: new DOMMatrix(), fill, stroke, width: 2, opacity: 1, box });
  const fill = plain(style.backgroundColor);
  if (fill && fill !== ground) shape(`M${left} ${top}h${width}v${height}h${-width}z`, fill);
  if (style.backgroundImage.startsWith("repeating-linear-gradient")) {
    // From the lower left to the upper right.
    const lines = Array.from({ length: Math.ceil((width + height) / HATCH) - 1 }, (_, at) => {
      const [x, y] = [Math.max(0, (at + 1) * HATCH - height), Math.min((at + 1) * HATCH, height)];
      const length = Math.min(y, width - x);
      return `M${left + x} ${top + y}l${length} ${-length}`;
    });
    shape(lines.join(""), "", ground);
  }
  const border = parseFloat(style.borderBottomWidth);
  if (border && plain(style.borderBottomColor)) shape(`M${left} ${bottom - border}h${width}v${border}h${-width}z`, plain(style.borderBottomColor));
}

/** All that is seen of a part, in the order in which it is painted. */
function marksOf(node, ground, marks = []) {
  if (node instanceof Text) markText(node, marks);
  if (!(node instanceof Element) || node.matches(BESIDE) || !node.checkVisibility()) return marks;
  if (node instanceof HTMLCanvasElement) marks.push({ kind: "canvas", canvas: node.finer ? node.finer(SCALE) : node, box: node.getBoundingClientRect() });
  else if (node instanceof SVGElement) node.querySelectorAll("*").forEach((shape) => { if (shape instanceof SVGGraphicsElement) markShape(shape, marks); });
  else {
    markBox(node, marks, ground);
    for (const child of node.childNodes) marksOf(child, ground, marks);
  }
  return marks;
}

function wrap(text, font, width) {
  measuring.font = font;
  const lines = [""];
  for (const word of text.split(/\s+/).filter(Boolean)) {
    const longer = `${lines.at(-1)} ${word}`.trim();
    if (measuring.measureText(longer).width > width && lines.at(-1)) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines.filter(Boolean);
}

/** Take a picture of a node, with a title and a caption above, and its source below. */
export function takePicture(node, { title, caption, source }) {
  const folded = [...node.querySelectorAll("details:not([open], .take)")];
  const boxes = [...node.querySelectorAll(".scroll, .table")].map((box) => [box, box.scrollLeft, box.scrollTop]);
  folded.forEach((one) => { one.open = true; });
  boxes.forEach(([box]) => box.scrollTo(0, 0));
  const paper = getComputedStyle(document.documentElement);
  const [ground, ink, quiet] = ["paper", "ink", "quiet"].map((name) => plain(paper.getPropertyValue(`--${name}`).trim()));
  const marks = marksOf(node, ground);
  folded.forEach((one) => { one.open = false; });
  boxes.forEach(([box, left, top]) => box.scrollTo(left, top));
  const ends = (side, most) => marks.reduce((end, { box }) => most(end, box[side]), marks[0].box[side]);
  const [left, top, right, bottom] = [ends("left", Math.min), ends("top", Math.min), ends("right", Math.max), ends("bottom", Math.max)];
  const width = Math.ceil(right - left) + 2 * GAP;
  const head = [[title, "650 17px", ink, 24], [caption, "400 13px", quiet, 18]].flatMap(([text, type, fill, line]) =>
    wrap(text, `${type} ${FONT}`, width - 2 * GAP).map((own) => ({ text: own, font: `${type} ${FONT}`, fill, line })));
  let y = GAP;
  const words = head.map(({ line, ...own }) => ({ kind: "text", anchor: "start", x: GAP, y: (y += line) - 6, ...own }));
  const shift = new DOMMatrix().translate(GAP - left, y + 8 - top);
  const move = { shape: ({ matrix }) => ({ matrix: shift.multiply(matrix) }), text: (mark) => ({ x: mark.x + shift.e, y: mark.y + shift.f }),
    canvas: ({ box }) => ({ box: new DOMRect(box.x + shift.e, box.y + shift.f, box.width, box.height) }) };
  const height = Math.ceil(y + 8 + bottom - top + 30);
  const foot = { kind: "text", anchor: "start", x: GAP, y: height - 10, text: source, font: `400 11px ${FONT}`, fill: quiet };
  return { width, height, ground, marks: [...words, ...marks.map((mark) => ({ ...mark, ...move[mark.kind](mark) })), foot] };
}

const escaped = (text) => text.replace(/[&<>"]/g, (one) => `&#${one.charCodeAt(0)};`);
const short = (number) => String(Number(number.toFixed(2)));

export function toSvg({ width, height, ground, marks }) {
  const parts = marks.map((mark) => {
    if (mark.kind === "canvas") {
      const { x, y, width: wide, height: high } = mark.box;
      return `<image x="${short(x)}" y="${short(y)}" width="${short(wide)}" height="${short(high)}" href="${mark.canvas.toDataURL()}"/>`;
    }
    if (mark.kind === "text") {
      const [weight, size] = mark.font.split(" ");
      return `<text x="${short(mark.x)}" y="${short(mark.y)}" font-size="${size}" font-weight="${weight}" text-anchor="${mark.anchor}" fill="${mark.fill}">${escaped(mark.text)}</text>`;
    }
    const { a, b, c, d, e, f } = mark.matrix;
    const turned = [a, b, c, d, e, f].map((one) => Number(one.toFixed(5))).join(" ");
    const stroke = mark.stroke ? ` stroke="${mark.stroke}" stroke-width="${mark.width}"` : "";
    return `<path d="${escaped(mark.path)}" transform="matrix(${turned})" fill="${mark.fill || "none"}"${stroke}${mark.opacity < 1 ? ` opacity="${mark.opacity}"` : ""}/>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="${FONT}">\n` +
    `<rect width="${width}" height="${height}" fill="${ground}"/>\n${parts.join("\n")}\n</svg>\n`;
}

/** The picture as PNG, twice as fine as the page. */
export function toPng({ width, height, ground, marks }) {
  const canvas = new OffscreenCanvas(width * SCALE, height * SCALE);
  const context = canvas.getContext("2d");
  const base = new DOMMatrix().scale(SCALE);
  context.setTransform(base);
  context.fillStyle = ground;
  context.fillRect(0, 0, width, height);
  for (const mark of marks) {
    context.setTransform(base);
    context.globalAlpha = mark.opacity ?? 1;
    if (mark.kind === "canvas") context.drawImage(mark.canvas, mark.box.x, mark.box.y, mark.box.width, mark.box.height);
    else if (mark.kind === "text") {
      Object.assign(context, { font: mark.font, fillStyle: mark.fill, textAlign: mark.anchor === "middle" ? "center" : mark.anchor });
      context.fillText(mark.text, mark.x, mark.y);
    } else {
      const shape = new Path2D(mark.path);
      context.setTransform(base.multiply(mark.matrix));
      Object.assign(context, { fillStyle: mark.fill || "transparent", strokeStyle: mark.stroke || "transparent", lineWidth: mark.width || 1 });
      if (mark.fill) context.fill(shape);
      if (mark.stroke && mark.width) context.stroke(shape);
    }
  }
  return canvas.convertToBlob({ type: "image/png" });
}

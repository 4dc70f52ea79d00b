/** Annotations without a time axis: tags, classes and words as chips, rankings as strips of boxes. */

import { textOf } from "./annotations.js";
import { el } from "./dom.js";
import { byNumber } from "./format.js";

/** Boxes of a strip; relevant items that come later are said in words. */
const BOXES = 20;
/** How an item is drawn by its verdict, or by the relation of keys; the others stay plain. */
const LOOKS = new Map(Object.entries({ hit: "hit", right: "hit", found: "hit", relevant: "hit", same: "hit", missed: "missed", deletion: "missed",
  extra: "extra", wrong: "extra", insertion: "extra", substitution: "extra", near: "near", case: "near" }));
/** Mean judgements from 0 to this. */
const FINEST = 10;

const toldOf = (row) => Object.fromEntries(row);
const lookOf = ({ verdict, relation }) => LOOKS.get(verdict ?? relation) ?? (relation ? "extra" : "plain");
const words = (text) => String(text).replaceAll("_", " ");
const isRanked = (rows) => rows.some((row) => row.some(([name]) => name === "rank"));

/** What the drawing says, for the note above; nothing where nothing is judged. */
export function explainItems(evidence) {
  const rows = evidence.flatMap((one) => (one && one.rows) || []);
  if (!rows.length) return "";
  const looks = new Set(rows.map((row) => lookOf(toldOf(row))));
  if (rows.some((row) => "fine" in toldOf(row))) return "Boxes are the ranks in order, with mean judgements; the fuller the colour, the better.";
  if (isRanked(rows)) return "Boxes are the ranks in order; those of relevant items are filled.";
  const parts = [["hit", "filled: right"], ["missed", "dashed: missed"], ["extra", "crossed out: wrong"], ["near", "dotted: partly right"]]
    .filter(([look]) => looks.has(look)).map(([, text]) => text);
  if (rows.some((row) => "affinity" in toldOf(row))) parts.push("the line divides what a system says from what it does not");
  return parts.length ? `${parts.join("; ")}.`.replace(/^./, (first) => first.toUpperCase()) : "";
}

/** An annotation with what is judged of it, if it is. */
export function drawItems(annotation, evidence) {
  const rows = (evidence && evidence.rows) || [];
  if (typeof annotation === "string") return annotation;
  if (!rows.length) return plainItems(annotation);
  if (isRanked(rows)) return "item" in toldOf(rows[0]) ? ranking(annotation, rows) : judgements(rows);
  if ("affinity" in toldOf(rows[0])) return tags(rows);
  return el("ul", { class: "chips" }, rows.map((row) => chip(toldOf(row), row)));
}

/** Names as chips; what has values, or is long, as text. */
function plainItems({ labels, values, ...rest }) {
  if (!labels || labels.length > BOXES) {
    const text = textOf({ labels, values, ...rest });
    return text.length > 300 ? el("details", {}, el("summary", {}, `${(labels || values).length} items`), text) : text;
  }
  return el("ul", { class: "chips" }, labels.map(({ text }, at) => el("li", {}, text, values && values[at] !== null ? el("small", {}, ` ${values[at]}`) : null)));
}

/** An item; its verdict is said to those who do not see how it is drawn. */
function item(look, text, more, verdict) {
  return el("li", { class: look, title: [text, more, verdict].filter(Boolean).join(", ") }, el("span", {}, text), more ? el("small", {}, ` ${more}`) : null,
    verdict ? el("span", { class: "unseen" }, `, ${verdict}`) : null);
}

/** Tags, the surest first, with a line below what the system says. */
function tags(rows) {
  // Lists of tags have no affinities: what is listed is infinitely sure.
  const sure = ({ affinity = "-inf" }) => Number(affinity.replace("inf", "1e999"));
  const told = rows.map(toldOf).sort((a, b) => byNumber(sure(a), sure(b), -1));
  const says = ({ verdict }) => verdict === "hit" || verdict === "extra";
  const graded = told.some((one) => Number.isFinite(sure(one)));
  const chips = (some) => some.map(({ label, affinity, verdict }) => item(lookOf({ verdict }), label, graded ? affinity : "", verdict));
  return el("ul", { class: "chips" }, chips(told.filter(says)), el("li", { class: "divide", "aria-hidden": "true" }), chips(told.filter((one) => !says(one))));
}

/** A class, a key, a tempo or a word. */
function chip({ reference, estimate, verdict, relation, ...rest }, row) {
  const edited = ["case", "substitution", "deletion", "insertion"].includes(verdict);
  const text = edited ? `${reference || "–"} → ${estimate || "–"}` : estimate || reference || row.map(([, value]) => value).join(" ");
  const more = Object.entries(rest).filter(([name, value]) => !(name === "credit" && ["0", "1"].includes(value))).map(([name, value]) => `${words(name)} ${value}`);
  if (relation && relation !== "same") more.push(words(relation));
  if (!edited && reference && estimate && reference !== estimate) more.unshift(`for ${reference}`);
  return item(lookOf({ verdict, relation }), text, more.join(", "), words(verdict ?? ""));
}

/** A ranking: the first ranks as boxes, and where the relevant items are. */
function ranking({ labels }, rows) {
  const found = rows.map(toldOf);
  const ranks = found.filter(({ rank }) => rank !== undefined).map(({ rank }) => Number(rank)).sort((a, b) => a - b);
  const of = new Map(found.filter(({ rank }) => rank !== undefined).map((one) => [Number(one.rank), one]));
  const length = Math.min(BOXES, Math.max(labels ? labels.length : 0, Math.min(ranks.at(-1) ?? 0, BOXES)));
  const boxes = Array.from({ length }, (_, at) => {
    const own = of.get(at + 1);
    return el("li", { class: own ? "hit" : null, title: [own ? own.item : labels?.[at]?.text, own ? `relevance ${own.grade}` : ""].filter(Boolean).join(", ") },
      own && at + 1 === ranks[0] ? el("b", {}, at + 1) : el("span", {}, at + 1), own ? el("span", { class: "unseen" }, ", relevant") : null);
  });
  const later = ranks.filter((rank) => rank > BOXES);
  const lost = found.filter(({ rank }) => rank === undefined).map((one) => one.item);
  const told = [ranks.length ? ["first hit: ", el("b", {}, ranks[0])] : "no hit", `; ${ranks.length} of ${found.length} found`,
    later.length ? `, later at ${later.slice(0, BOXES).join(", ")}` : "", lost.length ? `; missed: ${lost.slice(0, 5).join(", ")}${lost.length > 5 ? ` and ${lost.length - 5} more` : ""}` : ""];
  return [el("ol", { class: "strip" }, boxes), el("p", { class: "note" }, told)];
}

/** Judged candidates in their order: the mean judgement in each box, which is the darker the better. */
function judgements(rows) {
  const most = rows.slice(0, BOXES).map(toldOf);
  const left = rows.length - most.length;
  return [el("ol", { class: "strip" }, most.map(({ estimate, rank, fine, verdict, ...rest }) => {
    const share = fine === undefined ? (verdict === "relevant" ? 1 : 0) : Number(fine) / FINEST;
    const more = Object.entries(rest).map(([name, value]) => `${words(name)} ${value}`);
    const box = el("li", { class: "graded", title: [`${rank}. ${estimate}`, ...more, words(verdict)].join(", ") }, fine === undefined ? rank : Number(fine).toFixed(1));
    box.style.setProperty("--share", String(share));
    return box;
  })), left ? el("p", { class: "note" }, `and ${left} more`) : null].filter(Boolean);
}

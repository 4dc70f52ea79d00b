/** What is judged of the estimates of a track, what explains it, and annotations without a time axis. */

import { signOf, textOf } from "./annotations.js";
import { el } from "./dom.js";
import { byNumber, clock, titleOf } from "./numbers.js";

/** Which reference, rule and system are meant, as chosen or by themselves. */
export function chosenOf(state, found, { order }) {
  const { timeline } = state;
  return {
    get reference() { return Math.max(0, Math.min(timeline.reference, found.references.length - 1)); },
    get rule() { return timeline.rule < 0 ? Math.max(0, found.rules.indexOf(state.metric < 0 ? "" : state.about.name)) : timeline.rule; },
    get ear() { return timeline.ear < 0 ? order[0] : timeline.ear; },
    get loop() { return timeline.loop; },
  };
}

/** What a rule is called: as the metric that it belongs to. */
export function ruleTitle({ now }, { rules }, rule) {
  const metric = now.metrics.find(({ name }) => name === rules[rule]);
  return metric ? titleOf(metric) : rules[rule];
}

/** What is scored and what judges, which need not be the same, and why not. */
export function explainMarks({ state, found, chosen }) {
  const { rules, able } = found;
  const scored = state.metric < 0 ? "" : titleOf(state.about);
  const scores = scored ? `Scores: ${scored}` : "";
  if (!found.references.length) return [scores, "nothing is judged, as this page was written without references."].filter(Boolean).join("; ");
  if (!rules.length) return [scores, "no metric here has evidence of single items."].filter(Boolean).join("; ");
  const judged = `judged by ${ruleTitle(state, found, chosen.rule)}`;
  if (!scored) return `Items are ${judged}.`;
  if (rules[chosen.rule] === state.about.name) return `Scores and items are ${judged}.`;
  if (rules.includes(state.about.name)) return `${scores}. Items are ${judged}.`;
  const lacking = able.includes(state.about.name) ? `write the page with -m ${state.about.name} to see them judged by it` :
    `${scored} has no evidence of single items`;
  return `${scores}. Items are ${judged}: ${lacking}.`;
}

export function legendOf(found) {
  const evidence = found.estimates.flatMap((one) => one.evidence.flat()).find((one) => one);
  if (!evidence || evidence.rows || !evidence.verdict) return null;
  const forms = found.estimates.map(({ annotation }) => annotation.form);
  const says = (...words) => evidence.verdict.some((one) => words.includes(one));
  const marks = evidence.matches ? [["good", "● matched: in the colour of the reference's pattern"], ["none", "● unmatched"]] :
    evidence.start ? [["good", "▮ right"], ["bad", "▖ wrong"], ["none", "▁ not judged"]] :
    evidence.notes || evidence.points ? [["good", "▬ hit"], ["bad", "─ too many"]] :
      says("aligned", "misaligned") ? [["good", "| aligned"], ["bad", "○ missed"], ["bad", "× misaligned or of no note"]] :
      says("hit", "missed", "extra") ? [["good", "| hit"], ["bad", "○ missed"], ["bad", "× too many"]] :
        [["good", "| right"], ["bad", "× wrong"]];
  // The reference behind the estimates and pitches guessed where nothing is voiced have no verdict.
  if (forms.some((form) => ["notes", "sheet", "curve", "frames", "patterns"].includes(form))) marks.push(["faint", "▬ the reference"]);
  if (forms.includes("curve")) marks.push(["curve", "─ a guess where unvoiced"]);
  return el("span", { class: "legend" }, marks.map(([kind, text]) => el("span", { class: kind }, el("i", {}, text[0]), text.slice(1))));
}

/** What the chosen reference and rule say of an estimate. */
export function evidenceOf({ reference, rule }, evidence) {
  const own = evidence[Math.min(reference, evidence.length - 1)] || [];
  return own[Math.min(rule, own.length - 1)] || null;
}

/** Where an estimate is worst: its longest wrong stretch, or the second with the most wrong events. */
export function worstOf(evidence) {
  if (!evidence || !evidence.verdict) return null;
  const bad = evidence.verdict.map((word) => signOf(word) === "bad");
  const { points, reference, estimate, start, end } = evidence;
  if (start) {
    let [time, length, begun] = [0, 0, NaN];
    bad.forEach((wrong, at) => {
      if (!wrong) return;
      if (!bad[at - 1] || start[at] - end[at - 1] > 1e-6) begun = start[at];
      if (end[at] - begun > length) [time, length] = [begun, end[at] - begun];
    });
    return length ? { time, end: time + length, text: `wrong for ${length.toFixed(1)} s, from ${clock(time, 2)}` } : null;
  }
  if (!points && !reference) return null;
  const times = bad.map((wrong, at) => (!wrong ? NaN : points ? points.start[at] : Number.isNaN(estimate[at]) ? reference[at] : estimate[at]))
    .filter((time) => !Number.isNaN(time)).sort((a, b) => a - b);
  let [best, most, last] = [0, 0, 0];
  times.forEach((time, first) => {
    while (last < times.length && times[last] < time + 1) last += 1;
    if (last - first > most) [best, most] = [time, last - first];
  });
  return most ? { time: best, end: best + 1, text: `${most} wrong within a second, from ${clock(best, 2)}` } : null;
}

/** Boxes of a strip; relevant items that come later are said in words. */
const BOXES = 20;
/** How an item is drawn by its verdict, or by the relation of keys; the others stay plain. */
const LOOKS = new Map(Object.entries({ hit: "hit", right: "hit", found: "hit", relevant: "hit", same: "hit", missed: "missed", deletion: "missed",
  extra: "extra", wrong: "extra", insertion: "extra", substitution: "extra", near: "near", case: "near" }));
/** Mean judgements from 0 to this. */
const FINEST = 10;

const lookOf = ({ verdict, relation }) => LOOKS.get(verdict ?? relation) ?? (relation ? "extra" : "plain");
const wordsOf = (text) => String(text).replaceAll("_", " ");
const rowsOf = (evidence) => (evidence?.rows ?? []).map(Object.fromEntries);
const isRanked = (rows) => rows.some((row) => "rank" in row);

/** What the drawing says, for the note above; nothing where nothing is judged. */
export function explainItems(evidence) {
  const rows = evidence.flatMap(rowsOf);
  const looks = new Set(rows.map(lookOf));
  if (rows.some((row) => "fine" in row)) return "Boxes are the ranks in order, with mean judgements; the fuller the colour, the better.";
  if (isRanked(rows)) return "Boxes are the ranks in order; those of relevant items are filled.";
  const parts = [["hit", "filled: right"], ["missed", "dashed: missed"], ["extra", "crossed out: wrong"], ["near", "dotted: partly right"]]
    .filter(([look]) => looks.has(look)).map(([, text]) => text);
  if (rows.some((row) => "affinity" in row)) parts.push("the line divides what a system says from what it does not");
  return parts.length ? `${parts.join("; ")}.`.replace(/^./, (first) => first.toUpperCase()) : "";
}

/** An annotation with what is judged of it, if it is. */
export function drawItems(annotation, evidence) {
  const rows = rowsOf(evidence);
  if (typeof annotation === "string") return annotation;
  if (!rows.length) {
    const { labels, values } = annotation;
    const text = !labels || labels.length > BOXES ? textOf(annotation) : "";
    // Names are chips; what has values, or is long, is text.
    if (!text) return el("ul", { class: "chips" }, labels.map(({ text: name }, at) => el("li", {}, name, values && values[at] !== null ? el("small", {}, ` ${values[at]}`) : null)));
    return text.length > 300 ? el("details", {}, el("summary", {}, `${(labels || values).length} items`), text) : text;
  }
  if (isRanked(rows)) return "item" in rows[0] ? ranking(annotation, rows) : judgements(rows);
  if ("affinity" in rows[0]) return tagChips(rows);
  return el("ul", { class: "chips" }, rows.map(chipOf));
}

/** An item; its verdict is said to those who do not see how it is drawn. */
function itemOf(look, text, more, verdict) {
  return el("li", { class: look, title: [text, more, verdict].filter(Boolean).join(", ") }, el("span", {}, text), more ? el("small", {}, ` ${more}`) : null,
    verdict ? el("span", { class: "unseen" }, `, ${verdict}`) : null);
}

/** Tags, the surest first, with a line below what the system says. */
function tagChips(rows) {
  // Lists of tags have no affinities: what is listed is infinitely sure.
  const sure = ({ affinity = "-inf" }) => Number(affinity.replace("inf", "1e999"));
  const told = rows.sort((a, b) => byNumber(sure(a), sure(b), -1));
  const says = ({ verdict }) => verdict === "hit" || verdict === "extra";
  const graded = told.some((one) => Number.isFinite(sure(one)));
  const chips = (some) => some.map(({ label, affinity, verdict }) => itemOf(lookOf({ verdict }), label, graded ? affinity : "", verdict));
  return el("ul", { class: "chips" }, chips(told.filter(says)), el("li", { class: "divide", "aria-hidden": "true" }), chips(told.filter((one) => !says(one))));
}

/** A class, a key, a tempo or a word. */
function chipOf(row) {
  const { reference, estimate, verdict, relation, ...rest } = row;
  const edited = ["case", "substitution", "deletion", "insertion"].includes(verdict);
  const text = edited ? `${reference || "–"} → ${estimate || "–"}` : estimate || reference || Object.values(row).join(" ");
  const more = Object.entries(rest).filter(([name, value]) => !(name === "credit" && ["0", "1"].includes(value))).map(([name, value]) => `${wordsOf(name)} ${value}`);
  if (relation && relation !== "same") more.push(wordsOf(relation));
  if (!edited && reference && estimate && reference !== estimate) more.unshift(`for ${reference}`);
  return itemOf(lookOf({ verdict, relation }), text, more.join(", "), wordsOf(verdict ?? ""));
}

/** A ranking: the first ranks as boxes, and where the relevant items are. */
function ranking({ labels }, found) {
  const of = new Map(found.filter(({ rank }) => rank !== undefined).map((one) => [Number(one.rank), one]));
  const ranks = [...of.keys()].sort((a, b) => a - b);
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
  const most = rows.slice(0, BOXES);
  const left = rows.length - most.length;
  return [el("ol", { class: "strip" }, most.map(({ estimate, rank, fine, verdict, ...rest }) => {
    const share = fine === undefined ? (verdict === "relevant" ? 1 : 0) : Number(fine) / FINEST;
    const more = Object.entries(rest).map(([name, value]) => `${wordsOf(name)} ${value}`);
    const box = el("li", { class: "graded", title: [`${rank}. ${estimate}`, ...more, wordsOf(verdict)].join(", ") }, fine === undefined ? rank : Number(fine).toFixed(1));
    box.style.setProperty("--share", String(share));
    return box;
  })), left ? el("p", { class: "note" }, `and ${left} more`) : null].filter(Boolean);
}

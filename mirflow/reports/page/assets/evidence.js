/** The evidence that is shown for the estimates of a track, and what explains it. */

import { signOf } from "./annotations.js";
import { el } from "./dom.js";
import { clock, titleOf } from "./format.js";

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

/**
 * Where an estimate is worst: its longest wrong stretch, or the second with the most wrong events.
 * @returns {{time: number, end: number, text: string}|null} null where nothing is wrong, or nothing judged
 */
export function worstOf(evidence) {
  if (!evidence || !evidence.verdict) return null;
  const bad = evidence.verdict.map((word) => signOf(word) === "bad");
  if (evidence.start) return longestOf(evidence, bad);
  const { points, reference, estimate } = evidence;
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

/** The longest of the stretches that are wrong from end to end. */
function longestOf({ start, end }, bad) {
  let [time, length, begun] = [0, 0, NaN];
  bad.forEach((wrong, at) => {
    if (!wrong) return;
    if (!bad[at - 1] || start[at] - end[at - 1] > 1e-6) begun = start[at];
    if (end[at] - begun > length) [time, length] = [begun, end[at] - begun];
  });
  return length ? { time, end: time + length, text: `wrong for ${length.toFixed(1)} s, from ${clock(time, 2)}` } : null;
}

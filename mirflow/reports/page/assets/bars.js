/** The bar on top, with the parts of the page by what a reader asks, and the sentence below the headline, each part of which is a choice. */

import { linkTo } from "./address.js";
import { CONTENTS } from "./data.js";
import { choice, copyButton, el } from "./dom.js";
import { drawFilter } from "./filter.js";
import { count, titleOf } from "./numbers.js";
import { LISTED, TABS } from "./state.js";

/** The tab that has a section: why nothing was scored comes first. */
const tabOf = (id, { failed, contents }) => (failed && id === "coverage" ? "ranking" : id === "overview" && contents.evaluations.length < LISTED ? "about" :
  TABS.find(([, , parts]) => parts.includes(id))?.[0] ?? "about");

/** Two views of the same scores, one of which is shown. */
const SPREADS = ["heatmap", "distributions"];
/** What there is to see of an evaluation without a score. */
const NAMED = new Set(["coverage", "provenance", "overview"]);

/** Show the sections of the chosen tab, in the order of their tab, and the bar with the tabs that have any. */
export function showTab(state, parts) {
  const tab = ({ id }) => tabOf(id, state);
  const names = new Set(parts.filter(({ id }) => !state.failed || NAMED.has(id)).map(tab));
  const chosen = names.has(state.tab) ? state.tab : "ranking";
  const spreads = parts.filter(({ id }) => SPREADS.includes(id));
  const spread = spreads.length > 1 ? state.spread : spreads[0]?.id;
  for (const part of spreads.length > 1 ? spreads : []) {
    const next = SPREADS.find((id) => id !== part.id);
    part.querySelector(".spread")?.remove();
    part.querySelector("h2").after(el("button", { type: "button", class: "link spread", onclick: () => state.change((now) => { now.spread = next; }).then(() => document.querySelector(`#${next} .spread`)?.focus()) },
      next === "heatmap" ? "as a heat map" : "as distributions"));
  }
  for (const part of parts) part.classList.toggle("away", tab(part) !== chosen || (SPREADS.includes(part.id) && part.id !== spread) || (state.failed && !NAMED.has(part.id)));
  const bar = document.getElementById("tabs");
  const active = bar.contains(document.activeElement) && document.activeElement.getAttribute("name");
  const show = (tab) => state.change((now) => { now.tab = tab; }).then(() => scrollTo(0, 0));
  const tabs = TABS.filter(([name]) => names.has(name)).map(([name, title]) => el("button", { type: "button", name: `tab ${name}`,
    "aria-current": name === chosen ? "page" : null, onclick: () => show(name) }, title,
    name === "references" && state.now.causes?.suspect ? el("small", { class: "bad" }, ` ${state.now.causes.suspect}`, el("span", {}, " suspect")) : null));
  const copy = copyButton("Share", () => linkTo(state), "Copy the address of what is shown");
  copy.querySelector("button").setAttribute("name", "copy");
  bar.replaceChildren(el("b", { title: state.contents.name }, state.contents.called), el("div", {}, tabs), copy);
  if (active) bar.querySelector(`[name="${active}"]`)?.focus();
  // On a phone the tabs are wider than the screen.
  const [current] = tabs.filter((one) => one.getAttribute("aria-current"));
  if (current) current.parentElement.scrollLeft = current.offsetLeft + current.offsetWidth / 2 - current.parentElement.clientWidth / 2;
}

/** Go to a section, in whichever tab it is, once what a choice changes is drawn. */
export async function goTo(state, id, action) {
  await state.change((now) => {
    action(now);
    now.tab = tabOf(id, now);
  });
  const part = document.getElementById(id);
  part?.scrollIntoView();
  part?.focus({ preventScroll: true });
}

const counted = { open: false };

export function drawControls(state) {
  const bar = document.getElementById("controls");
  const active = document.activeElement && document.activeElement.getAttribute("name");
  const { evaluations } = state.contents;
  const add = (name, label, options, value, take) => choice(label, options, value, (picked) => state.change((now) => take(now, picked)), name);
  const same = (names) => names.map((name) => [name, name]);
  const parts = [];
  let ways = [];
  if (evaluations.length > 1) parts.push(add("evaluation", "Evaluation", evaluations.map(({ name }, place) => [place, name]), state.evaluation, (now, value) => now.take(Number(value))));
  if (state.metric >= 0) {
    parts.push(add("metric", "Metric", state.now.metrics.map((metric, place) => [place, titleOf(metric)]), state.metric, (now, value) => now.takeMetric(Number(value))));
    const box = el("input", { type: "checkbox", name: "percent", checked: state.percent, onchange: () => state.change((now) => { now.percent = box.checked; }) });
    const titled = ({ standard_aggregate: usual }, name) => `${CONTENTS.aggregates[name].title}${name === usual ? " (usual)" : ""}`;
    ways = [add("aggregate", "Aggregate", state.about.aggregates.map((name) => [name, titled(state.about, name)]), state.aggregate, (now, value) => { now.aggregate = value; }),
      state.groupable.length ? add("by", "Group by", [["", "nothing"], ...same(state.groupable)], state.by, (now, value) => { now.by = value; now.unfolded ||= Boolean(value); }) : null,
      add("missing", "Missing scores", same(state.policies), state.missing, (now, value) => { now.asked = value; }),
      el("label", { class: "choice tick" }, box, el("span", {}, "Percent"))];
  }
  const { trackCount, lacking } = state.now;
  const filter = state.now.tracks.length && state.metric >= 0 ? drawFilter(state) : el("span", { class: "size" }, count(trackCount, "track"));
  const words = lacking ? `${count(lacking, "score")} missing: ${{ common: "only tracks that all have", skip: "left out", zero: "counted as 0" }[state.missing]}` : "none missing";
  const box = ways.length ? el("details", { class: "counted", name: "bar", open: counted.open, ontoggle: () => { counted.open = box.open; } },
    el("summary", { title: "How it is counted" }, words), el("div", {}, ways)) : null;
  bar.replaceChildren(...[...parts, filter, box].filter(Boolean));
  // The bar is made anew after each choice: whoever uses the keyboard stays where they were.
  if (active) bar.querySelector(`[name="${active}"]`)?.focus();
}

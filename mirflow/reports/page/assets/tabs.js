/** The bar on top: the parts of the page by what a reader asks, one of which is shown, and a link to what is shown. */

import { copyButton, el } from "./dom.js";
import { linkTo } from "./address.js";
import { LISTED, TABS } from "./state.js";

/** The tab that has a section: why nothing was scored comes first. */
const tabOf = (id, failed = false) => (failed && id === "coverage" ? "ranking" : TABS.find(([, , parts]) => parts.includes(id))?.[0] ?? "about");

/** Two views of the same scores, one of which is shown. */
const SPREADS = ["heatmap", "distributions"];
/** What there is to see of an evaluation without a score. */
const NAMED = new Set(["coverage", "provenance", "overview"]);

/** Show the sections of the chosen tab, in the order of their tab, and the bar with the tabs that have any. */
export function showTab(state, parts) {
  const tab = ({ id }) => tabOf(id, state.failed);
  const names = new Set(parts.filter(({ id }) => !state.failed || NAMED.has(id)).map(tab));
  const chosen = names.has(state.tab) ? state.tab : "ranking";
  const both = SPREADS.every((id) => parts.some((part) => part.id === id));
  const spread = both ? state.spread : parts.find(({ id }) => SPREADS.includes(id))?.id;
  for (const part of both ? parts.filter(({ id }) => SPREADS.includes(id)) : []) {
    const next = SPREADS.find((id) => id !== part.id);
    part.querySelector(".spread")?.remove();
    part.querySelector("h2").after(el("button", { type: "button", class: "link spread", onclick: () => state.change((now) => { now.spread = next; }).then(() => document.querySelector(`#${next} .spread`)?.focus()) },
      next === "heatmap" ? "as a heat map" : "as distributions"));
  }
  for (const part of parts) part.classList.toggle("away", tab(part) !== chosen || (SPREADS.includes(part.id) && part.id !== spread) || (state.failed && !NAMED.has(part.id)));
  const bar = document.getElementById("tabs");
  const active = bar.contains(document.activeElement) && document.activeElement.getAttribute("name");
  const show = (tab) => state.change((now) => { now.tab = tab; }).then(() => scrollTo(0, 0));
  // Of a few evaluations each is looked at by itself.
  const order = state.contents.evaluations.length < LISTED ? [...TABS.slice(1, -1), TABS[0], TABS.at(-1)] : TABS;
  const tabs = order.filter(([name]) => names.has(name)).map(([name, title]) => el("button", { type: "button", name: `tab ${name}`,
    "aria-current": name === chosen ? "page" : null, onclick: () => show(name) }, title,
    name === "references" && state.now.causes?.suspect ? el("small", { class: "bad" }, ` ${state.now.causes.suspect} suspect`) : null));
  const copy = copyButton("Copy link", () => linkTo(state));
  copy.querySelector("button").setAttribute("name", "copy");
  bar.replaceChildren(el("b", { title: state.contents.name }, state.contents.called), el("div", {}, tabs), copy);
  if (active) bar.querySelector(`[name="${active}"]`)?.focus();
}

/** Go to a section, in whichever tab it is, once what a choice changes is drawn. */
export async function goTo(state, id, action) {
  await state.change((now) => {
    action(now);
    now.tab = tabOf(id);
  });
  const part = document.getElementById(id);
  part?.scrollIntoView();
  part?.focus({ preventScroll: true });
}

/** The timeline of the only track, in place of the page: in notebooks. */

import { CONTENTS } from "./data.js";
import { State } from "./state.js";
import { settleTimeline } from "./timeline.js";

const state = new State(CONTENTS);
document.documentElement.classList.add("single");

/** There is nothing behind it to which it could be closed. */
async function show() {
  state.timeline.track = 0;
  await settleTimeline(state);
  document.getElementById("timeline").addEventListener("close", show);
}

await show();
document.documentElement.dataset.loaded = "";

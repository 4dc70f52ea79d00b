/** What was warned of when an evaluation was scored. */

import { el } from "./dom.js";

export const warningsOf = ({ warnings }) => warnings.map((text) => el("p", { class: "warning", role: "note" }, `Warning: ${text}.`));

/** Lanes as they would be without the cause of a low score: earlier or later, higher or lower. */

const NAMES = ["C", "Db", "D", "Eb", "E", "F", "Gb", "G", "Ab", "A", "Bb", "B"];

function transposed(label, by) {
  if (label.root < 0) return label;
  const root = (((label.root + by) % 12) + 12) % 12;
  return { ...label, root, text: label.text.replace(/^[A-G][#b]*/, NAMES[root]) };
}

const CHANGES = new Map([
  ["displacement", ({ start, end, ...rest }, by) => ({ ...rest, start: start.map((time) => time + by), end: end?.map((time) => time + by) })],
  ["transposition", ({ labels, pitch, ...rest }, by) => ({ ...rest, labels: labels?.map((label) => transposed(label, by)), pitch: pitch?.map((one) => one + by) })],
]);

/** The causes of a track's low scores without which its lanes can be drawn. */
export const causesOf = ({ now }, track) => (now.causes ? now.causes.rows : []).filter(([name, , , , , , cause]) => name === now.tracks[track] && CHANGES.has(cause));

/** Lanes without these causes; what is judged of the ones that change is not known. */
export function withoutCauses(lanes, rows, systems) {
  const moved = rows.some(([, , side]) => side === "reference");
  return lanes.map((lane) => {
    const own = rows.find(([, system, side]) => (side === "reference") === (lane.system < 0) && (lane.system < 0 || system === "*" || system === systems[lane.system]));
    const changed = own && typeof lane.annotation !== "string" && lane.annotation.start;
    const annotation = changed ? CHANGES.get(own[6])(lane.annotation, own[7]) : lane.annotation;
    return { ...lane, annotation, evidence: changed || moved ? [] : lane.evidence };
  });
}

/** Tracks by the mean of the systems and by how far best and worst lie apart: easy, hard, disputed, or suspect. */

import { colour, el, section, sharpen, tip } from "./dom.js";
import { formatter, niceTicks, tickFormatter, titleOf, unitOf } from "./format.js";
import { acrossSystems, endsOf } from "./reduce.js";
import { addChips, rangeAround, readShown } from "./filter.js";
import { letBrush } from "./brush.js";

const HIGH = 320;
const [LEFT, BELOW, ABOVE, RIGHT] = [56, 40, 14, 14];
/** Pixels from a point within which the pointer is at it. */
const NEAR = 14;

/**
 * @param {import("./state.js").State} state
 * @param {(track: number, list: string) => void} open
 * @returns {Promise<Node|null>} nothing of one system
 */
export async function drawDifficulty(state, open) {
  const { systems, tracks } = state.now;
  if (state.shownSystems.length < 2 || state.shownTracks.length < 2) return null;
  const { mean, spread } = acrossSystems(await readShown(state), systems.length, tracks.length);
  const points = tracks.map((name, track) => ({ name, track, x: mean[track], y: spread[track] }))
    .filter(({ x, y }) => Number.isFinite(x) && Number.isFinite(y));
  if (!points.length) return null;
  const canvas = el("canvas", { class: "difficulty", role: "img",
    "aria-label": "Tracks by the mean of the systems and by the difference of best and worst; the list of tracks has the same numbers" });
  const box = el("div", { class: "difficultybox" }, canvas);
  const map = { state, points, canvas, box };
  const nearest = (event) => {
    const frame = canvas.getBoundingClientRect();
    const distance = (point) => Math.hypot(map.left(point.x) - (event.clientX - frame.left), map.top(point.y) - (event.clientY - frame.top));
    const found = points.reduce((best, point) => (distance(point) < distance(best) ? point : best));
    return distance(found) <= NEAR ? found : null;
  };
  const write = formatter(state.about, state.percent);
  canvas.addEventListener("pointermove", (event) => {
    const found = nearest(event);
    canvas.style.cursor = found ? "pointer" : "default";
    tip(found && [found.name, `mean ${write(found.x)}`, `spread ${write(found.y)}`], event.clientX, event.clientY);
  });
  canvas.addEventListener("pointerleave", () => tip(null));
  canvas.addEventListener("click", (event) => {
    const found = nearest(event);
    if (!found) return;
    tip(null);
    open(found.track, "tracks");
  });
  letBrush(canvas, ({ left, right, top, bottom }) => {
    const inside = points.filter(({ x, y }) => map.left(x) >= left && map.left(x) <= right && map.top(y) >= top && map.top(y) <= bottom);
    if (!inside.length) return;
    const chips = [["mean", "x"], ["spread", "y"]].map(([of, axis]) => ["score", state.about.name, of, ...rangeAround(...endsOf(inside.map((point) => point[axis])))]);
    state.change((now) => addChips(now, ...chips));
  });
  new ResizeObserver(() => paint(map)).observe(box);
  const good = state.about.sign < 0 ? "left" : "right";
  const note = state.about.sign ? `Each dot is a track. ${good === "right" ? "Right" : "Left"}: every system does well. High: the systems differ. ` +
    `Low at the ${good === "right" ? "left" : "right"}: all of them fail alike, so that the reference may be wrong. Drag over dots to see these tracks alone.` : "Each dot is a track. Drag over dots to see these tracks alone.";
  return section("difficulty", "Difficulty of the tracks", note, box);
}

/** The dots on both scales. */
function paint(map) {
  const { state, points, canvas, box } = map;
  const wide = box.clientWidth || 600;
  const context = sharpen(canvas, wide, HIGH);
  const range = (values) => {
    const [low, high] = endsOf(values);
    return low < high ? [low - 0.03 * (high - low), high + 0.03 * (high - low)] : [low - 0.5, low + 0.5];
  };
  const [x, y] = [range(points.map((point) => point.x)), range(points.map((point) => point.y))];
  map.left = (value) => LEFT + ((value - x[0]) / (x[1] - x[0])) * (wide - LEFT - RIGHT);
  map.top = (value) => HIGH - BELOW - ((value - y[0]) / (y[1] - y[0])) * (HIGH - BELOW - ABOVE);
  context.font = "12px system-ui, sans-serif";
  context.lineWidth = 1;
  for (const [ends, along] of [[x, true], [y, false]]) {
    const ticks = niceTicks(...ends).filter((value) => value >= ends[0] && value <= ends[1]);
    const write = tickFormatter(state.about, state.percent, ticks);
    for (const value of ticks) {
      context.strokeStyle = colour("line");
      context.fillStyle = colour("quiet");
      context.beginPath();
      if (along) {
        context.moveTo(map.left(value), ABOVE);
        context.lineTo(map.left(value), HIGH - BELOW);
        context.textAlign = "center";
        context.fillText(write(value), map.left(value), HIGH - BELOW + 15);
      } else {
        context.moveTo(LEFT, map.top(value));
        context.lineTo(wide - RIGHT, map.top(value));
        context.textAlign = "right";
        context.fillText(write(value), LEFT - 6, map.top(value) + 4);
      }
      context.stroke();
    }
  }
  const unit = unitOf(state.about, state.percent);
  context.textAlign = "center";
  context.fillText(`Mean of ${titleOf(state.about)} over the systems${unit}`, (LEFT + wide) / 2, HIGH - 6);
  context.save();
  context.translate(13, (HIGH - BELOW + ABOVE) / 2);
  context.rotate(-Math.PI / 2);
  context.fillText(`Spread${unit}`, 0, 0);
  context.restore();
  context.fillStyle = colour("accent");
  context.globalAlpha = 0.55;
  for (const point of points) {
    context.beginPath();
    context.arc(map.left(point.x), map.top(point.y), 4, 0, 2 * Math.PI);
    context.fill();
  }
  context.globalAlpha = 1;
}

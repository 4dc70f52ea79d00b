/** Rectangles that are dragged over a chart, to look at a part of it. */

import { el } from "./dom.js";

/** Pixels that the pointer goes before a press is a drag and not a click. */
const FAR = 5;

/**
 * Call `done` with the ends of a rectangle, in pixels of the node; Escape gives it up, and a click stays a click.
 * @param {Element} node
 * @param {(box: {left: number, right: number, top: number, bottom: number}) => void} done
 * @param {boolean} along whether only left and right matter
 */
export function letBrush(node, done, along = false) {
  let [start, shape, dragged] = [null, null, false];
  const place = (event) => {
    const frame = node.getBoundingClientRect();
    const within = (value, most) => Math.max(0, Math.min(most, value));
    return { frame, x: within(event.clientX - frame.left, frame.width), y: within(event.clientY - frame.top, frame.height) };
  };
  const end = () => {
    shape?.remove();
    [start, shape] = [null, null];
    document.removeEventListener("keydown", escape, true);
  };
  const escape = (event) => { if (event.key === "Escape") end(); };
  const boxOf = (now) => ({ left: Math.min(start.x, now.x), right: Math.max(start.x, now.x),
    top: along ? 0 : Math.min(start.y, now.y), bottom: along ? now.frame.height : Math.max(start.y, now.y) });
  node.classList.add("brushed");
  node.addEventListener("pointerdown", (event) => {
    dragged = false;
    if (event.button === 0) start = place(event);
  });
  node.addEventListener("pointermove", (event) => {
    if (!start) return;
    const now = place(event);
    if (!shape) {
      if (Math.abs(now.x - start.x) < FAR && (along || Math.abs(now.y - start.y) < FAR)) return;
      dragged = true;
      shape = el("div", { class: "brush" });
      document.body.append(shape);
      node.setPointerCapture(event.pointerId);
      document.addEventListener("keydown", escape, true);
    }
    const { left, right, top, bottom } = boxOf(now);
    Object.assign(shape.style, { left: `${now.frame.left + left}px`, top: `${now.frame.top + top}px`, width: `${right - left}px`, height: `${bottom - top}px` });
  });
  node.addEventListener("pointerup", (event) => {
    const box = shape && boxOf(place(event));
    end();
    if (box) done(box);
  });
  node.addEventListener("pointercancel", end);
  node.addEventListener("click", (event) => {
    if (dragged) event.stopImmediatePropagation();
    dragged = false;
  }, true);
}

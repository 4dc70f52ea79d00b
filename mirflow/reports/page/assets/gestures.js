/** What fingers, mouse and keys do to the lanes of a timeline. */

/** Room beside the first and the last moment, so that marks there are whole. */
export const EDGE = 5;
/** Pixels between two fingers below which they are no measure of anything. */
const NEAR = 12;

/** The wheel, a mouse, one finger or two. */
export function listen(view, canvas) {
  const placeOf = (event) => event.clientX - canvas.getBoundingClientRect().left;
  const at = (event) => view.timeAt(placeOf(event));
  canvas.addEventListener("wheel", (event) => {
    // Among other parts of a page the wheel scrolls it.
    if (view.does.aside && !event.ctrlKey) return;
    event.preventDefault();
    const sideways = event.shiftKey ? event.deltaY : event.deltaX;
    if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY)) view.pan((sideways / view.inner) * (view.to - view.from));
    else view.zoom(Math.exp(-event.deltaY / 400), at(event));
  }, { passive: false });
  const fingers = new Map();
  let held = null;
  let pinch = null;
  const heightOf = (event) => event.clientY - canvas.getBoundingClientRect().top;
  canvas.addEventListener("pointerdown", (event) => {
    view.point(null);
    fingers.set(event.pointerId, placeOf(event));
    canvas.setPointerCapture(event.pointerId);
    if (fingers.size === 2) {
      held = null;
      pinch = Array.from(fingers, ([finger, place]) => ({ finger, time: view.timeAt(place) }));
    } else if (fingers.size === 1) {
      held = { x: event.clientX, y: event.clientY, from: view.from, to: view.to, scroll: view.node.scrollTop, moved: false, marks: event.shiftKey ? at(event) : null };
    }
  });
  canvas.addEventListener("pointermove", (event) => {
    if (fingers.has(event.pointerId)) fingers.set(event.pointerId, placeOf(event));
    if (pinch) pinchTo(view, pinch, fingers);
    else if (held) drag(view, held, event);
    else if (!fingers.size) view.point(at(event), view.noteAt(canvas, heightOf(event)));
  });
  const release = (event) => {
    fingers.delete(event.pointerId);
    if (event.type === "pointerup" && held && !held.moved) {
      view.pick(canvas, heightOf(event));
      view.moveTo(at(event));
      view.does.sought();
    }
    held = null;
    // The finger that stays is no click and does not pan: it is on its way up.
    if (pinch && !pinch.every(({ finger }) => fingers.has(finger))) pinch = null;
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => view.point(null));
  // One finger up or down scrolls, which the browser does; two are ours.
  for (const kind of ["touchstart", "touchmove"]) {
    canvas.addEventListener(kind, (event) => { if (event.touches.length > 1) event.preventDefault(); }, { passive: false });
  }
}

/** The times that were under two fingers stay under them. */
function pinchTo(view, [a, b], fingers) {
  const [first, second] = fingers.get(a.finger) < fingers.get(b.finger) ? [a, b] : [b, a];
  const [left, right] = [fingers.get(first.finger), fingers.get(second.finger)];
  if (right - left < NEAR || second.time <= first.time) return;
  const length = ((second.time - first.time) * view.inner) / (right - left);
  const from = first.time - ((left - EDGE) / view.inner) * length;
  view.show(from, from + length);
}

function drag(view, held, event) {
  const by = event.clientX - held.x;
  held.moved = held.moved || Math.abs(by) > 3 || Math.abs(event.clientY - held.y) > 3;
  if (!held.moved) return;
  if (held.marks !== null) {
    view.does.mark([held.marks, view.timeAt(event.clientX - event.target.getBoundingClientRect().left)]);
    return;
  }
  const shift = (-by / view.inner) * (held.to - held.from);
  view.show(held.from + shift, held.to + shift);
  if (event.pointerType === "mouse") view.node.scrollTop = held.scroll - (event.clientY - held.y);
}

/** A key: what it does is in the note below the lanes. */
export function press(view, event) {
  // On some keyboards brackets need a modifier.
  if ((event.ctrlKey || event.metaKey || event.altKey) && !event.getModifierState("AltGraph")) return;
  const length = view.to - view.from;
  const forth = new Map([["ArrowRight", 1], ["ArrowLeft", -1]]).get(event.key) || 0;
  const go = (time) => {
    view.moveTo(time);
    view.announce();
  };
  const actions = new Map([
    ["ArrowRight", () => (event.shiftKey ? view.pan(length / 10) : go(view.cursor + forth * length / 100))],
    ["ArrowLeft", () => (event.shiftKey ? view.pan(-length / 10) : go(view.cursor + forth * length / 100))],
    ["PageDown", () => go(view.cursor + length)], ["PageUp", () => go(view.cursor - length)],
    ["Home", () => go(0)], ["End", () => go(view.whole)],
    ["+", () => view.zoom(1.5, view.cursor)], ["=", () => view.zoom(1.5, view.cursor)], ["-", () => view.zoom(1 / 1.5, view.cursor)],
    ["0", () => view.fit()], [" ", () => view.does.toggle()], ["ArrowDown", () => view.turn(1)], ["ArrowUp", () => view.turn(-1)]]);
  const action = actions.get(event.key) || view.does.keys.get(event.key.toLowerCase());
  if (!action) return;
  event.preventDefault();
  action();
}

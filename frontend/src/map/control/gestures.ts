// Pointer, wheel and touch on the stage, reported by meaning. Capture is taken on the stage's canvas itself, never on
// a container, which would swallow the clicks of the buttons in it.

import { scaleOf } from "../../lib/dom.ts";
import type { Mode } from "../data/state.ts";

const CLICK_SLOP_PX = 4; // that a click may wander
const DOUBLE_CLICK_MS = 320;

export interface GestureHooks {
  pan: (dx: number, dy: number) => void;
  zoom: (factor: number, x: number, y: number, gliding: boolean) => void;
  hover: (x: number, y: number) => void;
  leave: () => void;
  click: (x: number, y: number, event: PointerEvent) => void;
  home: () => void;
  lasso: (path: number[], box: boolean) => void;
  lassoEnd: (path: number[], box: boolean, event: PointerEvent) => void;
}

/** Listen on `surface`; `mode()` says what a drag means. Returns a cleanup function. */
export function listen(surface: HTMLElement, mode: () => Mode, on: GestureHooks): () => void {
  const down = new Map<number, [number, number]>();
  const stop = new AbortController();
  let drawing: { path: number[]; box: boolean } | null = null;
  let distance = 0;
  let isPinch = false;
  let lastClick = { time: 0, x: 0, y: 0 };

  const place = (event: MouseEvent): [number, number] => {
    const box = surface.getBoundingClientRect();
    const scale = scaleOf(surface);
    return [(event.clientX - box.left) / scale, (event.clientY - box.top) / scale];
  };
  const hear = <K extends keyof HTMLElementEventMap>(
    name: K,
    handler: (event: HTMLElementEventMap[K]) => void,
    options: AddEventListenerOptions = {},
  ) => surface.addEventListener(name, handler, { signal: stop.signal, ...options });

  hear("pointerdown", (event) => {
    if (event.button !== 0) return;
    surface.setAttribute("data-pointed", ""); // focus by pointer needs no ring
    surface.focus({ preventScroll: true });
    surface.setPointerCapture(event.pointerId);
    const [x, y] = place(event);
    down.set(event.pointerId, [x, y]);
    if (down.size === 1) {
      distance = 0;
      isPinch = false;
      const kind = event.shiftKey && mode() === "pan" ? "lasso" : mode();
      drawing = kind === "pan" || kind === "here" ? null : { path: [x, y], box: kind === "box" };
    } else {
      isPinch = true;
      drawing = null;
      on.lasso([], false);
    }
  });

  hear("pointermove", (event) => {
    const [x, y] = place(event);
    const before = down.get(event.pointerId);
    if (!before) {
      if (event.pointerType !== "touch") on.hover(x, y);
      return;
    }
    const [dx, dy] = [x - before[0], y - before[1]];
    if (down.size === 2) {
      const other = [...down].find(([id]) => id !== event.pointerId)?.[1] ?? before;
      const [was, is] = [
        Math.hypot(before[0] - other[0], before[1] - other[1]),
        Math.hypot(x - other[0], y - other[1]),
      ];
      on.pan(dx / 2, dy / 2);
      if (was > 1) on.zoom(is / was, (x + other[0]) / 2, (y + other[1]) / 2, false);
      down.set(event.pointerId, [x, y]);
      return;
    }
    distance += Math.hypot(dx, dy);
    if (drawing) {
      if (drawing.box) {
        const [x0, y0] = drawing.path;
        drawing.path = [x0, y0, x, y0, x, y, x0, y];
      } else if (Math.hypot(x - (drawing.path.at(-2) ?? x), y - (drawing.path.at(-1) ?? y)) > 2)
        drawing.path.push(x, y);
      down.set(event.pointerId, [x, y]);
      on.lasso(drawing.path, drawing.box);
    } else if (distance > CLICK_SLOP_PX && !isPinch) {
      on.pan(dx, dy);
      down.set(event.pointerId, [x, y]);
    }
  });

  const release = (event: PointerEvent) => {
    if (!down.delete(event.pointerId)) return;
    if (down.size) return;
    const [x, y] = place(event);
    const lasso = drawing;
    drawing = null;
    if (event.type === "pointercancel") {
      on.lasso([], false);
      return;
    }
    if (distance > CLICK_SLOP_PX || isPinch) {
      if (lasso) on.lassoEnd(lasso.path, lasso.box, event);
      return;
    }
    on.lasso([], false);
    const twice =
      event.timeStamp - lastClick.time < DOUBLE_CLICK_MS && Math.hypot(x - lastClick.x, y - lastClick.y) < 24;
    lastClick = { time: twice ? 0 : event.timeStamp, x, y };
    if (twice) on.home();
    else on.click(x, y, event);
  };
  hear("pointerup", release);
  hear("pointercancel", release);
  hear("pointerleave", (event) => {
    if (event.pointerType !== "touch") on.leave();
  }); // a finger leaves with every tap
  hear("keydown", () => surface.removeAttribute("data-pointed"));
  hear("blur", () => surface.removeAttribute("data-pointed"));
  hear(
    "wheel",
    (event) => {
      event.preventDefault();
      const lines = event.deltaMode === 1 ? 18 : event.deltaMode === 2 ? 360 : 1;
      const delta = Math.max(-240, Math.min(240, event.deltaY * lines));
      // A pinch on a trackpad comes as a wheel with ctrl; its steps are small.
      const factor = Math.exp(-delta * (event.ctrlKey ? 0.01 : 0.0022));
      on.zoom(factor, ...place(event), Math.abs(delta) > 40);
    },
    { passive: false },
  );
  hear("contextmenu", (event) => {
    if (down.size) event.preventDefault();
  });

  return () => stop.abort();
}

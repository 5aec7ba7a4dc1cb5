// The drawing pad: pen, finger or mouse leave ink; a moment after the pen is lifted Python receives it.
import type { QueryPadProps } from "../../protocol.ts";
import { context2d, h } from "../../lib/dom.ts";
import { mount, type ComponentArguments } from "../../lib/mount.ts";
import style from "./queryPad.css";
import { encodeDrawing, WIDTH, type Stroke } from "./strokes.ts";

const SUBMIT_DELAY_MS = 120; // after pen-up, so that Python reruns once for a figure of two strokes

// Drawings outlive their component: switching a tab unmounts it, and a drawing should not be lost.
const drawings = new Map<string, Stroke[]>();

export default function ({ parentElement, key = "query_pad", data, setStateValue }: ComponentArguments<QueryPadProps>) {
  return mount(
    parentElement,
    style,
    (parent) => mountPad(parent, key, SUBMIT_DELAY_MS),
    (pad) => {
      pad.send = (drawing) => setStateValue("drawing", drawing);
      pad.update(data);
    },
  );
}

/** A pad; `pad.send` is given each drawing, `delay` milliseconds after the pen is lifted. */
export function mountPad(parent: ParentNode, key: string, delay: number) {
  const canvas = h("canvas", {
    tabindex: 0,
    role: "img",
    "aria-label": "Drawing pad. Draw with pen, finger or mouse.",
  });
  const buttons = [
    h("button", { type: "button", "data-do": "undo", click: () => change(strokes.slice(0, -1)) }, "Undo"),
    h("button", { type: "button", "data-do": "clear", click: () => change([]) }, "Clear"),
  ];
  const hint = h("span", "hint");
  const root = h("div", "query-pad", canvas, h("div", "beside", ...buttons, hint));
  parent.append(root);
  const context = context2d(canvas);
  let strokes = drawings.get(key) ?? [];
  let stroke: Stroke | null = null;
  let words = "";
  let timer: ReturnType<typeof setTimeout> | undefined;
  const watcher = new ResizeObserver(render);
  watcher.observe(canvas);
  const pad = {
    send: (_drawing: ReturnType<typeof encodeDrawing>) => {},
    update(data: QueryPadProps) {
      words = data.hint;
      render();
      root.dataset.ready = "true";
    },
    destroy() {
      clearTimeout(timer);
      watcher.disconnect();
      root.remove();
    },
  };

  function render(): void {
    const side = canvas.clientWidth * devicePixelRatio;
    if (canvas.width !== side) canvas.width = canvas.height = side;
    context.clearRect(0, 0, side, side);
    context.strokeStyle = getComputedStyle(root).color;
    context.lineWidth = WIDTH * side;
    context.lineCap = context.lineJoin = "round";
    for (const points of strokes) {
      context.beginPath();
      context.moveTo(points[0][0] * side, points[0][1] * side);
      for (const [x, y] of points) context.lineTo(x * side, y * side);
      context.stroke();
    }
    root.dataset.strokes = String(strokes.length);
    hint.textContent = strokes.length ? "" : words;
    for (const button of buttons) button.disabled = !strokes.length;
  }

  function change(next: Stroke[]): void {
    strokes = next;
    drawings.set(key, strokes);
    render();
    clearTimeout(timer);
    timer = setTimeout(() => pad.send(encodeDrawing(strokes)), delay);
  }

  function pointOf(event: PointerEvent): [number, number] {
    const box = canvas.getBoundingClientRect();
    return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
  }

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    event.preventDefault();
    clearTimeout(timer);
    canvas.setPointerCapture(event.pointerId);
    stroke = [pointOf(event)];
    strokes = [...strokes, stroke];
    render();
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!stroke) return;
    for (const part of event.getCoalescedEvents?.() ?? [event]) stroke.push(pointOf(part));
    render();
  });
  const lift = () => {
    if (!stroke) return;
    stroke = null;
    change(strokes);
  };
  canvas.addEventListener("pointerup", lift);
  canvas.addEventListener("pointercancel", lift);
  canvas.addEventListener("keydown", (event) => {
    if (event.key === "Escape") change([]);
    if (event.key === "z" && (event.ctrlKey || event.metaKey)) change(strokes.slice(0, -1));
  });
  return pad;
}

// The drawing pad: pen, finger or mouse leave ink; a moment after the pen is lifted Python receives it.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { encodeBase64 } from "../../lib/base64.ts";
import { context2d, pointerPlace } from "../../lib/dom.ts";
import { useSide } from "../../lib/hooks.ts";
import { panel } from "../../lib/panel.tsx";
import type { Drawing, QueryPadProps } from "../../protocol.ts";
import style from "./queryPad.css";

/** The way of a pen, in the unit square. */
export type Stroke = [number, number][];

export const SIDE = 56; // pixels a side of what is sent: four times the net's input, so that scaling stays smooth
export const WIDTH = 0.075; // of the pad: about two pixels of a digit 28 pixels high

/** The ink of `strokes` as SIDE × SIDE bytes, 255 where the pen went; edges are smooth over one pixel. */
export function rasterize(strokes: Stroke[], side = SIDE, width = WIDTH): Uint8Array {
  const ink = new Uint8Array(side * side);
  const radius = (width * side) / 2;
  for (const stroke of strokes) {
    for (let i = 0; i < stroke.length; i++) {
      segment(ink, side, stroke[Math.max(0, i - 1)], stroke[i], radius);
    }
  }
  return ink;
}

function segment(ink: Uint8Array, side: number, from: Stroke[number], to: Stroke[number], radius: number): void {
  const [ax, ay, bx, by] = [from[0] * side, from[1] * side, to[0] * side, to[1] * side];
  const [dx, dy] = [bx - ax, by - ay];
  const length2 = dx * dx + dy * dy;
  const reach = radius + 1;
  const clamp = (value: number) => Math.max(0, Math.min(side - 1, value));
  const [left, right] = [clamp(Math.floor(Math.min(ax, bx) - reach)), clamp(Math.ceil(Math.max(ax, bx) + reach))];
  const [top, bottom] = [clamp(Math.floor(Math.min(ay, by) - reach)), clamp(Math.ceil(Math.max(ay, by) + reach))];
  for (let y = top; y <= bottom; y++) {
    for (let x = left; x <= right; x++) {
      const [px, py] = [x + 0.5 - ax, y + 0.5 - ay];
      const along = length2 ? Math.max(0, Math.min(1, (px * dx + py * dy) / length2)) : 0;
      const distance = Math.hypot(px - along * dx, py - along * dy);
      const value = Math.round(255 * Math.max(0, Math.min(1, radius - distance + 0.5)));
      const at = y * side + x;
      if (value > ink[at]) ink[at] = value;
    }
  }
}

/** The message to Python: the image, its side, and how many strokes made it; null for an empty pad. */
export function encodeDrawing(strokes: Stroke[]): Drawing | null {
  if (!strokes.length) return null;
  return { side: SIDE, strokes: strokes.length, ink: encodeBase64(rasterize(strokes)) };
}

const SUBMIT_DELAY_MS = 120; // after pen-up, so that Python reruns once for a figure of two strokes

// Drawings outlive their component: switching a tab unmounts it, and a drawing should not be lost.
const drawings = new Map<string, Stroke[]>();

export default panel<QueryPadProps>(style, ({ hint, point, host }) => (
  <Pad
    name={host.key ?? "query_pad"}
    delay={SUBMIT_DELAY_MS}
    hint={point ? "Click a place" : hint}
    point={point}
    send={(drawing) => host.setStateValue("drawing", drawing)}
  />
));

interface PadProps {
  name: string;
  hint: string;
  /** Milliseconds after the pen is lifted. */
  delay: number;
  /** The drawing is one point, x and y from -1 to 1. */
  point?: boolean;
  send(this: void, drawing: Drawing | null): void;
}

/** Half of the pad is so much of the plane; see dmlviz/ops/dots.py. */
const HALF = 28 / 2 / 9.5;
const AXES = ["x", "y"] as const;

export function Pad({ name, hint, delay, point, send }: PadProps) {
  const [canvas, side] = useSide<HTMLCanvasElement>();
  const strokes = useRef(drawings.get(name) ?? []);
  const stroke = useRef<Stroke | null>(null); // under the pen
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const newest = useRef(send);
  newest.current = send;
  const [, setCount] = useState(0);
  const keep = (next: Stroke[]) => {
    strokes.current = next;
    setCount((count) => count + 1);
  };
  const change = (next: Stroke[]) => {
    keep(next);
    drawings.set(name, next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => newest.current(encodeDrawing(next)), delay);
  };
  const undo = () => change(strokes.current.slice(0, -1));
  const lift = () => {
    if (stroke.current) change(strokes.current);
    stroke.current = null;
  };
  const paint = () => {
    const node = canvas.current!;
    const context = context2d(node);
    if (node.width !== side) node.width = node.height = side;
    context.clearRect(0, 0, side, side);
    context.strokeStyle = getComputedStyle(node).color;
    context.lineWidth = WIDTH * side;
    context.lineCap = context.lineJoin = "round";
    for (const points of strokes.current) {
      context.beginPath();
      context.moveTo(points[0][0] * side, points[0][1] * side);
      for (const [x, y] of points) context.lineTo(x * side, y * side);
      context.stroke();
      if (points.length > 1) continue;
      context.beginPath();
      context.arc(points[0][0] * side, points[0][1] * side, (WIDTH * side) / 2, 0, 2 * Math.PI);
      context.fillStyle = context.strokeStyle;
      context.fill();
    }
  };
  useLayoutEffect(paint);
  useEffect(() => () => clearTimeout(timer.current), []);
  const isEmpty = !strokes.current.length;
  const middle = strokes.current[0]?.[0] ?? [0.5, 0.5];
  const place = [2 * middle[0] - 1, 1 - 2 * middle[1]].map((value) => Math.max(-1, Math.min(1, value * HALF)));
  const moveTo = (axis: number, value: number) => {
    const [x, y] = place.map((old, i) => (i === axis ? Math.max(-1, Math.min(1, value || 0)) : old) / HALF);
    change([[[(x + 1) / 2, (1 - y) / 2]]]);
  };
  return (
    <div class="query-pad" data-ready="true" data-strokes={strokes.current.length}>
      <canvas
        ref={canvas}
        tabindex={0}
        role="img"
        aria-label="Drawing pad. Draw with pen, finger or mouse."
        onPointerDown={(event) => {
          if (event.button !== 0) return;
          event.preventDefault();
          clearTimeout(timer.current);
          event.currentTarget.setPointerCapture(event.pointerId);
          stroke.current = [pointerPlace(event, event.currentTarget)];
          keep([...(point ? [] : strokes.current), stroke.current]);
        }}
        onPointerMove={(event) => {
          if (!stroke.current) return;
          if (point) keep([(stroke.current = [pointerPlace(event, event.currentTarget)])]);
          for (const part of point ? [] : (event.getCoalescedEvents?.() ?? [event]))
            stroke.current.push(pointerPlace(part, event.currentTarget));
          paint();
        }}
        onPointerUp={lift}
        onPointerCancel={lift}
        onKeyDown={(event) => {
          if (event.key === "Escape") change([]);
          if (event.key === "z" && (event.ctrlKey || event.metaKey)) undo();
        }}
      />
      <div class="beside">
        {point ? (
          AXES.map((axis, i) => (
            <span>
              {axis}{" "}
              <input
                type="number"
                aria-label={axis}
                min={-1}
                max={1}
                step={0.05}
                value={isEmpty ? "" : place[i].toFixed(2)}
                onChange={({ currentTarget }) => moveTo(i, Number(currentTarget.value))}
              />
            </span>
          ))
        ) : (
          <button data-do="undo" disabled={isEmpty} onClick={undo} children="Undo" />
        )}
        <button data-do="clear" disabled={isEmpty} onClick={() => change([])} children="Clear" />
      </div>
      <span class="hint">{isEmpty && hint}</span>
    </div>
  );
}

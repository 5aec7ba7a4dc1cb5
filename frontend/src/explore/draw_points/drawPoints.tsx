// A plane to draw points on, in classes: pen, finger or mouse scatter them; they are sent as a table of x, y and label.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { context2d, pointerPlace } from "../../lib/dom.ts";
import { messageOf } from "../../lib/format.ts";
import { useSide } from "../../lib/hooks.ts";
import { rerun } from "../../lib/mount.ts";
import { classColors } from "../../lib/palette.ts";
import { dataOf, panel, themeOf } from "../../lib/panel.tsx";
import { fetchAnswer } from "../../lib/server.ts";
import { css } from "../../lib/theme.ts";
import type { DrawPointsProps } from "../../protocol.ts";
import style from "./drawPoints.css";

/** A point from -1 to 1, y upward, and its class. */
export type Point = [x: number, y: number, label: number];

const CLASSES = 6;
const LEAST = 10; // points of a class: to train on, to choose by and to test on
const SCATTER = 0.04; // about the pen
const APART = 0.025; // the pen goes so far from a point to the next
const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

/** The table that is sent. */
export const tableOf = (points: Point[]): string =>
  ["x,y,label", ...points.map(([x, y, label]) => `${x.toFixed(4)},${y.toFixed(4)},class ${label + 1}`)].join("\n");

/** Why these points cannot be trained on yet; "" where they can. */
export function missing(points: Point[]): string {
  const counts = new Map<number, number>();
  for (const [, , label] of points) counts.set(label, (counts.get(label) ?? 0) + 1);
  if (counts.size < 2) return "Draw points of two classes or more.";
  const few = [...counts].find(([, count]) => count < LEAST);
  return few ? `A class has ${LEAST} points or more; class ${few[0] + 1} has ${few[1]}.` : "";
}

const within = (value: number) => Math.max(-1, Math.min(1, value));

// They outlive the dialog, which may be closed by mistake.
let kept: Point[][] = [];

export default panel<DrawPointsProps>(style, ({ url, host }) => {
  const [canvas, side] = useSide<HTMLCanvasElement>();
  const [strokes, setStrokes] = useState(kept);
  const [label, setLabel] = useState(0);
  const [trouble, say] = useState("");
  const [isSending, setSending] = useState(false);
  const pen = useRef<[number, number] | null>(null);
  const cursor = useRef<[number, number]>([0, 0]);
  const points = strokes.flat();
  const colors = classColors(CLASSES, themeOf(host).dark);
  const lacks = missing(points);
  useEffect(() => void (kept = strokes), [strokes]);

  const put = (x: number, y: number, scatter: number) => {
    const [size, angle] = [scatter * Math.sqrt(-2 * Math.log(1 - Math.random())), 2 * Math.PI * Math.random()];
    const point: Point = [within(x + size * Math.cos(angle)), within(y + size * Math.sin(angle)), label];
    setStrokes((all) => [...all.slice(0, -1), [...(all.at(-1) ?? []), point]]);
  };
  const begin = () => setStrokes((all) => [...all, []]);
  const placeOf = (event: PointerEvent): [number, number] => {
    const [across, down] = pointerPlace(event, canvas.current!);
    return [2 * across - 1, 1 - 2 * down];
  };
  const move = (event: PointerEvent) => {
    for (const part of event.getCoalescedEvents?.() ?? [event]) {
      const [x, y] = placeOf(part);
      if (!pen.current || Math.hypot(x - pen.current[0], y - pen.current[1]) < APART) continue;
      pen.current = [x, y];
      put(x, y, SCATTER);
    }
  };
  const onKey = (event: KeyboardEvent) => {
    const step = KEYS[event.key as keyof typeof KEYS];
    if (step) cursor.current = cursor.current.map((at, i) => within(at + 0.05 * step[i])) as [number, number];
    else if (event.key === "Enter" || event.key === " ") {
      begin();
      put(...cursor.current, 0);
    } else if (event.key === "z" && (event.ctrlKey || event.metaKey)) setStrokes(strokes.slice(0, -1));
    else return;
    event.preventDefault();
    paint();
  };
  const paint = () => {
    const node = canvas.current!;
    if (node.width !== side) node.width = node.height = side;
    const context = context2d(node);
    const theme = themeOf(host);
    const at = (x: number, y: number): [number, number] => [((x + 1) / 2) * side, ((1 - y) / 2) * side];
    context.clearRect(0, 0, side, side);
    context.fillStyle = css(theme.muted, 0.3);
    context.fillRect(0, side / 2, side, 1);
    context.fillRect(side / 2, 0, 1, side);
    for (const [x, y, of] of points) {
      context.beginPath();
      context.arc(...at(x, y), Math.max(2, side / 120), 0, 2 * Math.PI);
      context.fillStyle = css(colors[of]);
      context.fill();
    }
    if (!canvas.current!.matches(":focus-visible")) return;
    context.strokeStyle = css(theme.text);
    context.strokeRect(...(at(...cursor.current).map((v) => v - 5) as [number, number]), 10, 10);
  };
  useLayoutEffect(paint);
  const send = async () => {
    setSending(true);
    const body = new FormData();
    body.append("file", new File([tableOf(points)], "Drawn points.csv"));
    try {
      await fetchAnswer(url, "The points", { method: "POST", body });
      rerun(host);
    } catch (error) {
      say(messageOf(error));
      setSending(false);
    }
  };
  return (
    <section class="draw-points" aria-label="Draw points" {...dataOf({ ready: true, points: points.length })}>
      <canvas
        ref={canvas}
        tabindex={0}
        role="img"
        aria-label={`A plane with ${points.length} points. Draw with pen, finger or mouse, or with arrows and Enter.`}
        onKeyDown={onKey}
        onBlur={paint}
        onPointerDown={(event) => {
          if (event.button !== 0) return;
          event.currentTarget.setPointerCapture(event.pointerId);
          pen.current = placeOf(event);
          begin();
          put(...pen.current, 0);
        }}
        onPointerMove={move}
        onPointerUp={() => (pen.current = null)}
        onPointerCancel={() => (pen.current = null)}
      />
      <div class="beside">
        <div role="radiogroup" aria-label="Class">
          {colors.map((color, i) => (
            <button
              role="radio"
              aria-checked={label === i}
              aria-label={`Class ${i + 1}`}
              style={{ background: css(color) }}
              onClick={() => setLabel(i)}
            >
              {points.filter(([, , of]) => of === i).length || ""}
            </button>
          ))}
        </div>
        <button disabled={!strokes.length} onClick={() => setStrokes(strokes.slice(0, -1))} children="Undo" />
        <button disabled={!strokes.length} onClick={() => setStrokes([])} children="Clear" />
        <button class="use" disabled={Boolean(lacks) || isSending} onClick={() => void send()}>
          Use these points
        </button>
        <p role="status">{trouble || (points.length ? lacks : "Choose a color and draw.")}</p>
      </div>
    </section>
  );
});

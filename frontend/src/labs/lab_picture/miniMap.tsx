// A picture's tiles in the embedding: its first two principal axes. Click a point to choose its tile.
import { useMemo } from "preact/hooks";
import { maxOf } from "../../lib/extent.ts";
import { circle } from "../../lib/canvas.ts";
import { context2d, pointerPlace } from "../../lib/dom.ts";
import { classColors } from "../../lib/palette.ts";
import { css, type Theme } from "../../lib/theme.ts";
import { fitOf, nearest, place } from "../lab_planes/planeGeometry.ts";

const ROUNDS = 60;

/** Each row on the first two principal axes of all rows: x, y of row i at 2i and 2i + 1. */
export function principalAxes(rows: Int8Array, dimensions: number): Float32Array {
  const n = rows.length / dimensions;
  const mean = new Float64Array(dimensions);
  rows.forEach((value, i) => (mean[i % dimensions] += value / n));
  const spread = new Float64Array(dimensions * dimensions);
  for (let row = 0; row < n; row++) {
    for (let a = 0; a < dimensions; a++) {
      const own = rows[row * dimensions + a] - mean[a];
      for (let b = 0; b <= a; b++) spread[a * dimensions + b] += (own * (rows[row * dimensions + b] - mean[b])) / n;
    }
  }
  for (let a = 0; a < dimensions; a++)
    for (let b = 0; b < a; b++) spread[b * dimensions + a] = spread[a * dimensions + b];
  const first = topAxis(spread, dimensions, null);
  const second = topAxis(spread, dimensions, first);
  const result = new Float32Array(2 * n);
  for (let row = 0; row < n; row++) {
    for (let a = 0; a < dimensions; a++) {
      const own = rows[row * dimensions + a] - mean[a];
      result[2 * row] += own * first[a];
      result[2 * row + 1] += own * second[a];
    }
  }
  return result;
}

/** The axis of greatest spread, at a right angle to `known`, by repeated multiplication. */
function topAxis(spread: Float64Array, dimensions: number, first: Float64Array | null): Float64Array {
  let axis = Float64Array.from({ length: dimensions }, (_, i) => 1 / (i + 1));
  for (let round = 0; round < ROUNDS; round++) {
    const next = new Float64Array(dimensions);
    for (let a = 0; a < dimensions; a++)
      for (let b = 0; b < dimensions; b++) next[a] += spread[a * dimensions + b] * axis[b];
    if (first) {
      const along = next.reduce((sum, value, i) => sum + value * first[i], 0);
      next.forEach((_, i) => (next[i] -= along * first[i]));
    }
    const length = Math.sqrt(next.reduce((sum, value) => sum + value ** 2, 0));
    if (!length) break;
    axis = next.map((value) => value / length);
  }
  return axis;
}

const REACH = 20; // pixels between a click and a point
const SIDE = 520;

interface Shown {
  rows: Int8Array;
  dimensions: number;
  kinds: readonly number[] | null;
  best: readonly number[];
  chosen: number;
  theme: Theme;
  choose(this: void, place: number): void;
}

/** All tiles faintly, in the colors of their kinds where those are known, the best ones and the chosen one. */
export function MiniMap({ rows, dimensions, kinds, best, chosen, theme, choose }: Shown) {
  const places = useMemo(() => {
    const points = principalAxes(rows, dimensions);
    return place(points, fitOf(points, false));
  }, [rows]);
  const paint = (view: HTMLCanvasElement) => {
    const colors = classColors(kinds ? maxOf(kinds) + 1 : 1, theme.dark);
    const context = context2d(view);
    context.clearRect(0, 0, SIDE, SIDE);
    const dot = (place: number, radius: number, color: string) => {
      context.fillStyle = color;
      circle(context, places[2 * place] * SIDE, places[2 * place + 1] * SIDE, radius);
      context.fill();
    };
    for (let place = 0; 2 * place < places.length; place++)
      dot(place, 2, css(kinds ? colors[kinds[place]] : theme.muted, 0.4));
    for (const place of best) {
      dot(place, 6, css(theme.background));
      dot(place, 4.5, "#2f9ee4");
    }
    dot(chosen, 10, css(theme.background));
    dot(chosen, 8, "#e4572e");
  };
  return (
    <canvas
      {...{ role: "img", width: SIDE, height: SIDE }}
      aria-label="Where the tiles lie in the embedding: click a point to choose its tile"
      ref={(view) => void (view && paint(view))}
      onPointerDown={(event) => {
        const view = event.currentTarget;
        const place = nearest(places, ...pointerPlace(event, view), REACH / view.clientWidth, () => true);
        if (place >= 0) choose(place);
      }}
    />
  );
}

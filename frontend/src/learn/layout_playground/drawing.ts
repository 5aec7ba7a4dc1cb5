// Draws the points of a live map, and what holds the pinned one.
import { boxAround } from "../../playground/projection.ts";
import { maxOf } from "../../lib/extent.ts";
import type { Rgb } from "../../lib/theme.ts";
import type { LiveLayout } from "../../projection/live.ts";

const ROOM = 1.08; // around the map
const RADIUS = 5;
const REACH = 0.05; // of the canvas, to hit a point

/** Places on a canvas of side `size`. */
function toCanvas(positions: Float32Array, size: number): Float32Array {
  const { center, scale } = boxAround([positions], ROOM);
  return positions.map((x, i) => size * (0.5 + ((i & 1 ? -1 : 1) * (x - center[i & 1])) / (2 * scale)));
}

export function draw(
  context: CanvasRenderingContext2D,
  { positions, edges }: LiveLayout,
  labels: number[],
  colors: Rgb[],
  pinned: number | null,
  ink: Rgb,
): void {
  const size = context.canvas.width;
  const places = toCanvas(positions, size);
  context.clearRect(0, 0, size, size);
  if (pinned !== null && edges) {
    const { heads, tails, weights } = edges;
    const own = Array.from(weights.keys()).filter((e) => heads[e] === pinned || tails[e] === pinned);
    const strongest = maxOf(own.map((e) => weights[e]));
    context.strokeStyle = `rgb(${ink.join()})`;
    for (const e of own) {
      context.lineWidth = (4 * weights[e]) / strongest;
      context.beginPath();
      context.moveTo(places[2 * heads[e]], places[2 * heads[e] + 1]);
      context.lineTo(places[2 * tails[e]], places[2 * tails[e] + 1]);
      context.stroke();
    }
  }
  for (let i = 0; i < labels.length; i++) {
    context.fillStyle = `rgb(${colors[labels[i]].join()})`;
    context.beginPath();
    context.arc(places[2 * i], places[2 * i + 1], i === pinned ? 2 * RADIUS : RADIUS, 0, 2 * Math.PI);
    context.fill();
  }
}

/** The point at a click; null where there is none, or where it is the pinned one. */
export function nearestPoint(event: MouseEvent, positions: Float32Array, pinned: number | null): number | null {
  const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
  const [x, y] = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
  const places = toCanvas(positions, 1);
  let [nearest, distance] = [null as number | null, REACH];
  for (let i = 0; i < places.length; i += 2) {
    const away = Math.hypot(places[i] - x, places[i + 1] - y);
    if (away < distance) [nearest, distance] = [i / 2, away];
  }
  return nearest === pinned ? null : nearest;
}

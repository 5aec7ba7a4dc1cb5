// Positions of a plane's points, the nearest point, and statistics of their directions. Pure: no DOM.
import { maxOf } from "../../lib/extent.ts";
import { circle, line } from "../../lib/canvas.ts";
import { css, type Rgb, type Theme } from "../../lib/theme.ts";

export const RADIUS = 0.3; // of the circle, in sides of the canvas
const HISTOGRAM = 0.17; // its greatest height
const BINS = 180;

export interface Directions {
  angles: Float32Array;
  labels: Uint8Array;
  colors: Rgb[];
  centers: readonly (readonly number[])[];
  shows: (item: number) => boolean;
}

export function drawCircle(context: CanvasRenderingContext2D, theme: Theme, about: Directions): void {
  const { colors, centers } = about;
  wedges(centers).forEach(([from, to], label) => {
    context.fillStyle = css(colors[label], theme.dark ? 0.22 : 0.16);
    context.beginPath();
    context.moveTo(0.5, 0.5);
    context.arc(0.5, 0.5, RADIUS, -to, -from);
    context.fill();
  });
  context.strokeStyle = css(theme.muted, 0.6);
  context.lineWidth = 0.004;
  circle(context, 0.5, 0.5, RADIUS);
  context.stroke();
  drawTemplates(context, colors, centers, RADIUS);
  drawHistogram(context, about);
}

/** A spoke for each template, as long as `length`. */
export function drawTemplates(
  context: CanvasRenderingContext2D,
  colors: Rgb[],
  centers: readonly (readonly number[])[],
  length: number,
): void {
  centers.forEach(([x, y], label) => {
    const size = Math.hypot(x, y) || 1;
    context.strokeStyle = css(colors[label]);
    context.lineWidth = 0.012;
    context.lineCap = "round";
    line(context, [0.5, 0.5], [0.5 + (length * x) / size, 0.5 - (length * y) / size]);
  });
}

function drawHistogram(context: CanvasRenderingContext2D, { angles, labels, colors, centers, shows }: Directions) {
  const counts = histogram(angles, labels, centers.length, BINS, shows);
  const totals = counts[0].map((_, bin) => counts.reduce((sum, one) => sum + one[bin], 0));
  const highest = Math.sqrt(maxOf(totals, 1));
  const width = (2 * Math.PI) / BINS;
  for (let bin = 0; bin < BINS; bin++) {
    let below = 0;
    counts.forEach((one, label) => {
      if (!one[bin]) return;
      // Roots of the counts: a narrow bundle is a hundred times as high as a wide one, which should still be seen.
      const height = (count: number) => RADIUS + 0.015 + (HISTOGRAM * Math.sqrt(count)) / highest;
      const [inner, outer] = [height(below), height(below + one[bin])];
      below += one[bin];
      context.fillStyle = css(colors[label], 0.9);
      context.beginPath();
      context.arc(0.5, 0.5, outer, -(bin + 1) * width, -bin * width);
      context.arc(0.5, 0.5, inner, -bin * width, -(bin + 1) * width, true);
      context.fill();
    });
  }
}

/** x, y of point i at 2i and 2i + 1. */
export type Points = Float32Array;

/** From the plane to a square of side 1, y upward in the plane and downward in the square. */
export interface Fit {
  x: number;
  y: number;
  scale: number;
}

/** The square that holds all points; around the origin where directions count. */
export function fitOf(points: Points, aroundOrigin: boolean, margin = 0.04): Fit {
  let [left, right, bottom, top] = [Infinity, -Infinity, Infinity, -Infinity];
  for (let i = 0; i < points.length; i += 2) {
    left = Math.min(left, points[i]);
    right = Math.max(right, points[i]);
    bottom = Math.min(bottom, points[i + 1]);
    top = Math.max(top, points[i + 1]);
  }
  if (aroundOrigin) {
    const reach = Math.max(Math.abs(left), Math.abs(right), Math.abs(bottom), Math.abs(top));
    [left, right, bottom, top] = [-reach, reach, -reach, reach];
  }
  const extent = Math.max(right - left, top - bottom) || 1;
  return { x: (left + right) / 2, y: (bottom + top) / 2, scale: (1 - 2 * margin) / extent };
}

/** The places of all points in the unit square. */
export function place(points: Points, { x, y, scale }: Fit): Points {
  const result = new Float32Array(points.length);
  for (let i = 0; i < points.length; i += 2) {
    result[i] = 0.5 + scale * (points[i] - x);
    result[i + 1] = 0.5 - scale * (points[i + 1] - y);
  }
  return result;
}

/** The nearest of the items that `shows` lets through, within `reach`; −1 for none. */
export function nearest(places: Points, x: number, y: number, reach: number, shows: (item: number) => boolean): number {
  let [best, least] = [-1, reach * reach];
  for (let item = 0; 2 * item < places.length; item++) {
    const distance = (places[2 * item] - x) ** 2 + (places[2 * item + 1] - y) ** 2;
    if (distance < least && shows(item)) [best, least] = [item, distance];
  }
  return best;
}

/** The direction of each point, in radians. */
export const directions = (points: Points): Float32Array =>
  Float32Array.from({ length: points.length / 2 }, (_, i) => Math.atan2(points[2 * i + 1], points[2 * i]));

/** The points' places on a circle of a radius around the middle of the unit square. */
export function onCircle(angles: Float32Array, radius: number): Points {
  const result = new Float32Array(2 * angles.length);
  angles.forEach((angle, i) => {
    result[2 * i] = 0.5 + radius * Math.cos(angle);
    result[2 * i + 1] = 0.5 - radius * Math.sin(angle);
  });
  return result;
}

const TURN = 2 * Math.PI;
const wrap = (angle: number): number => ((angle % TURN) + TURN) % TURN;

/** The wedge of each template: from, to (counterclockwise), in radians; every direction nearest to it lies there. */
export function wedges(centers: readonly (readonly number[])[]): [number, number][] {
  const angles = centers.map(([x, y]) => wrap(Math.atan2(y, x)));
  const order = angles.map((_, i) => i).sort((a, b) => angles[a] - angles[b]);
  const result: [number, number][] = angles.map((angle) => [angle, angle]);
  order.forEach((own, i) => {
    const next = order[(i + 1) % order.length];
    const gap = order.length === 1 ? TURN : wrap(angles[next] - angles[own]);
    result[own][1] = angles[own] + gap / 2;
    result[next][0] = angles[next] - gap / 2;
  });
  return result;
}

/** The angle between a direction and a template, in degrees. */
export function angleTo(angle: number, [x, y]: readonly number[]): number {
  const between = wrap(angle - Math.atan2(y, x));
  return (Math.min(between, TURN - between) * 360) / TURN;
}

/** Counts of the items accepted by `shows` in each of `bins` sectors, for each class. */
export function histogram(
  angles: Float32Array,
  labels: Uint8Array,
  classes: number,
  bins: number,
  shows: (item: number) => boolean,
): number[][] {
  const counts = Array.from({ length: classes }, () => new Array<number>(bins).fill(0));
  angles.forEach((angle, item) => {
    if (shows(item)) counts[labels[item]][Math.min(bins - 1, Math.floor((wrap(angle) / TURN) * bins))]++;
  });
  return counts;
}

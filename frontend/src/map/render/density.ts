// Where points are dense: contours of a kernel density estimate (d3-contour), drawn over the points.
import { contourDensity, type ContourMultiPolygon } from "d3-contour";
import { css, type Rgb, type Theme } from "../../lib/theme.ts";
import type { Model } from "../data/model.ts";
import type { Scene } from "./scene.ts";

// Of d3-contour 4; its types are of version 3.
declare module "d3-contour" {
  interface ContourDensity<Datum> {
    contours(data: Datum[]): ((value: number) => ContourMultiPolygon) & { readonly max: number };
  }
}

const SIDE = 512; // cells of the estimate along the longer side of the map
const BANDWIDTH = 11; // cells
const SHARES = [0.12, 0.4, 0.75]; // of the greatest density of a class, at which a contour runs
const SHARES_OF_ALL = [0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.75, 0.9];
const MAX_CLASSES = 24; // above it one estimate for all together
const MIN_POINTS = 5; // a class with fewer has no contour

interface Contours {
  /** From cells to the world: x = left + cell · scale. */
  left: number;
  top: number;
  scale: number;
  levels: { path: Path2D; color: Rgb | null; share: number }[];
}

/** Keeps the contours of what the map shows, and draws them wherever the eye is. */
export class Density {
  private contours: Contours | null = null;
  private of: unknown[] = [];

  /** Draw the contours; computed again only where other points stand still. */
  draw(context: CanvasRenderingContext2D, scene: Scene, model: Model, colors: Rgb[], theme: Theme): void {
    const of = [scene.frame, scene.usable, model.groupIds, colors];
    if (scene.settled && of.some((part, i) => part !== this.of[i])) {
      this.of = of;
      this.contours = estimate(scene.places(), scene.usable, model, colors);
    }
    if (!this.contours || !scene.settled) return;
    const { left, top, scale, levels } = this.contours;
    const [x, y] = scene.toScreen([left, top]);
    const zoom = scene.eye.k * scale;
    context.save();
    context.translate(x, y);
    context.scale(zoom, -zoom);
    for (const { path, color, share } of levels) {
      context.strokeStyle = css(color ?? theme.text, 0.35 + 0.5 * share);
      context.lineWidth = (color ? 1.6 : 1.1) / zoom;
      context.stroke(path);
      context.fillStyle = css(color ?? theme.text, color ? 0.06 : 0.04);
      context.fill(path);
    }
    context.restore();
  }
}

function estimate(places: Float32Array, usable: Uint8Array, model: Model, colors: Rgb[]): Contours | null {
  const groups = new Map<number, [number, number][]>();
  const single = model.groups.length > MAX_CLASSES;
  let [left, right, bottom, top] = [Infinity, -Infinity, Infinity, -Infinity];
  for (let i = 0; i < model.n; i++) {
    if (!usable[i]) continue;
    const [x, y] = [places[2 * i], places[2 * i + 1]];
    const group = single ? -1 : model.groupIds[i];
    if (!groups.has(group)) groups.set(group, []);
    groups.get(group)?.push([x, y]);
    [left, right] = [Math.min(left, x), Math.max(right, x)];
    [bottom, top] = [Math.min(bottom, y), Math.max(top, y)];
  }
  const extent = Math.max(right - left, top - bottom);
  if (!(extent > 0)) return null;
  const margin = 3 * BANDWIDTH;
  const scale = extent / (SIDE - 2 * margin);
  const size: [number, number] = [
    Math.ceil((right - left) / scale) + 2 * margin,
    Math.ceil((top - bottom) / scale) + 2 * margin,
  ];
  const corner = { left: left - margin * scale, top: bottom - margin * scale };
  const levels: Contours["levels"] = [];
  for (const [group, points] of groups) {
    if (points.length < MIN_POINTS) continue;
    const contourAt = contourDensity<[number, number]>()
      .x(([x]) => (x - corner.left) / scale)
      .y(([, y]) => (y - corner.top) / scale)
      .size(size)
      .cellSize(4)
      .bandwidth(BANDWIDTH)
      .contours(points);
    for (const share of single ? SHARES_OF_ALL : SHARES)
      levels.push({ path: pathOf(contourAt(share * contourAt.max)), color: colors[group] ?? null, share });
  }
  return { ...corner, scale, levels };
}

function pathOf({ coordinates }: ContourMultiPolygon): Path2D {
  const path = new Path2D();
  for (const ring of coordinates.flat()) {
    ring.forEach(([x, y], i) => (i ? path.lineTo(x, y) : path.moveTo(x, y)));
    path.closePath();
  }
  return path;
}

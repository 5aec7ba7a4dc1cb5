// Where the points of a group are dense: a Gaussian kernel density on a grid, and the outlines within which it is highest
// that hold given shares of the group (highest density regions; Hyndman 1996).
import { maxOf } from "../../lib/extent.ts";
import { contours as isolines } from "d3-contour";
import type { Point } from "./camera.ts";

const SIDE = 320; // cells along the longer side of the map
const BANDWIDTHS = [0.01, 0.1] as const; // least and greatest, of the longer side of the map
const MARGIN = 3; // bandwidths beyond the points
const SCOTT = 0.8; // of Scott's bandwidth, which is for one normal distribution: classes have parts
/** Fewer points than that have no outline, and no part of one holds fewer. */
export const MIN_POINTS = 5;
// Numbers of outlines by the size of a group, each with the shares of the group that they hold.
const SHARES: [least: number, shares: number[]][] = [
  [150, [0.85, 0.5, 0.2]],
  [25, [0.85, 0.4]],
  [MIN_POINTS, [0.8]],
];
const SHARES_OF_ALL = [0.95, 0.85, 0.7, 0.5, 0.3, 0.12];

export interface Outline {
  group: number;
  /** Share of the group inside. */
  share: number;
  /** Density of the points along it, from 0 to 1 for the densest outline of all groups. */
  density: number;
  /** In the world: rings, and the holes in them. */
  rings: Point[][];
}

interface Grid {
  left: number;
  bottom: number;
  cell: number;
  width: number;
  height: number;
}

/**
 * The outlines of each group of usable items, from the outside in. `groupIds` null: one group, number -1, with more
 * outlines. The text says why there are none.
 */
export function outlinesOf(
  places: Float32Array,
  usable: Uint8Array,
  groupIds: ArrayLike<number> | null,
): Outline[] | "few points" | "one spot" {
  const groups = new Map<number, number[]>();
  for (let i = 0; i < usable.length; i++) {
    if (!usable[i]) continue;
    const group = groupIds?.[i] ?? -1;
    const items = groups.get(group);
    if (items) items.push(i);
    else groups.set(group, [i]);
  }
  const [left, bottom, right, top] = extentOf(places, groups.values());
  const extent = Math.max(right - left, top - bottom);
  const large = [...groups].filter(([, items]) => items.length >= MIN_POINTS);
  if (!large.length) return "few points";
  if (!(extent > 0)) return "one spot";
  const margin = MARGIN * BANDWIDTHS[1] * extent;
  const cell = (extent + 2 * margin) / SIDE;
  const grid = {
    left: left - margin,
    bottom: bottom - margin,
    cell,
    width: Math.ceil((right - left + 2 * margin) / cell),
    height: Math.ceil((top - bottom + 2 * margin) / cell),
  };
  const outlines = large.flatMap(([group, items]) => {
    const shares = groupIds ? (SHARES.find(([least]) => items.length >= least)?.[1] ?? []) : SHARES_OF_ALL;
    return outlinesOfGroup(group, items, places, grid, extent, shares);
  });
  const densest = maxOf(outlines.map(({ density }) => density));
  return outlines.map((outline) => ({ ...outline, density: outline.density / densest }));
}

function outlinesOfGroup(
  group: number,
  items: number[],
  places: Float32Array,
  grid: Grid,
  extent: number,
  shares: number[],
): Outline[] {
  const at = Float32Array.from({ length: 2 * items.length }, (_, j) =>
    j % 2
      ? (places[2 * items[j >> 1] + 1] - grid.bottom) / grid.cell
      : (places[2 * items[j >> 1]] - grid.left) / grid.cell,
  );
  const [least, most] = BANDWIDTHS.map((share) => (share * extent) / grid.cell);
  const bandwidth = Math.min(most, Math.max(least, SCOTT * scottsBandwidth(at)));
  const density = densityOf(at, grid, bandwidth);
  const own = new Float32Array(items.length);
  for (let j = 0; j < own.length; j++) own[j] = density[cellOf(at, j, grid)];
  own.sort();
  const line = isolines().size([grid.width, grid.height]);
  return shares.flatMap((share) => {
    const level = own[Math.floor((1 - share) * (own.length - 1))];
    const { coordinates } = line.contour(density as unknown as number[], level * 0.999); // the points at it lie within
    const parts = coordinates.filter(([outer]) => holds(outer as Point[], at, MIN_POINTS));
    const rings = parts.flat().map((ring) => {
      return ring.map(([x, y]): Point => [grid.left + x * grid.cell, grid.bottom + y * grid.cell]);
    });
    return rings.length ? [{ group, share, density: level, rings }] : [];
  });
}

/** Scott's rule for two dimensions, with a spread that outliers do not widen: of half of the points about their median. */
function scottsBandwidth(at: Float32Array): number {
  const n = at.length / 2;
  const middle = [0, 1].map((axis) => median(Float32Array.from({ length: n }, (_, j) => at[2 * j + axis])));
  const spread = median(
    Float32Array.from({ length: n }, (_, j) => Math.hypot(at[2 * j] - middle[0], at[2 * j + 1] - middle[1])),
  );
  return (spread / Math.sqrt(2 * Math.LN2)) * n ** (-1 / 6);
}

const median = (values: Float32Array) => values.sort()[values.length >> 1];

const cellOf = (at: Float32Array, j: number, { width, height }: Grid) =>
  Math.min(width - 1, Math.floor(at[2 * j])) + width * Math.min(height - 1, Math.floor(at[2 * j + 1]));

/** Points a cell, blurred: three running means along each axis come near a Gaussian, at a cost without its width. */
function densityOf(at: Float32Array, grid: Grid, bandwidth: number): Float32Array {
  const { width, height } = grid;
  let density = new Float32Array(width * height);
  for (let j = 0; j < at.length / 2; j++) density[cellOf(at, j, grid)]++;
  const reach = Math.max(1, Math.round((Math.sqrt(1 + 4 * bandwidth ** 2) - 1) / 2)); // whose variance is the Gaussian's
  for (let pass = 0; pass < 3; pass++) {
    density = runningMeans(density, [width, 1], [height, width], reach);
    density = runningMeans(density, [height, width], [width, 1], reach);
  }
  return density;
}

/** Means of 2 · reach + 1 neighbors along one axis, for all of the other; of both their length and their stride. */
function runningMeans(
  values: Float32Array,
  [length, stride]: [number, number],
  [lines, step]: [number, number],
  reach: number,
): Float32Array<ArrayBuffer> {
  const means = new Float32Array(values.length);
  const size = 2 * reach + 1;
  for (let line = 0; line < lines; line++) {
    let sum = 0;
    for (let i = -reach; i < length; i++) {
      if (i + reach < length) sum += values[line * step + (i + reach) * stride];
      if (i - reach > 0) sum -= values[line * step + (i - reach - 1) * stride];
      if (i >= 0) means[line * step + i * stride] = Math.max(0, sum) / size;
    }
  }
  return means;
}

function* range(n: number): Generator<number> {
  for (let i = 0; i < n; i++) yield i;
}

function extentOf(places: Float32Array, groups: Iterable<Iterable<number>>): [number, number, number, number] {
  let [left, bottom, right, top] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const items of groups) {
    for (const i of items) {
      const [x, y] = [places[2 * i], places[2 * i + 1]];
      if (x < left) left = x;
      if (x > right) right = x;
      if (y < bottom) bottom = y;
      if (y > top) top = y;
    }
  }
  return [left, bottom, right, top];
}

/** True if so many of the points lie within a ring. */
function holds(ring: Point[], at: Float32Array, many: number): boolean {
  const box = extentOf(Float32Array.from(ring.flat()), [range(ring.length)]);
  let count = 0;
  for (let j = 0; j < at.length / 2; j++) {
    const [x, y] = [at[2 * j], at[2 * j + 1]];
    if (x < box[0] || y < box[1] || x > box[2] || y > box[3] || !isInside(x, y, ring)) continue;
    if (++count >= many) return true;
  }
  return false;
}

function isInside(x: number, y: number, ring: Point[]): boolean {
  let inside = false;
  for (let i = 0, j = ring.length - 1; i < ring.length; j = i++) {
    const [[x0, y0], [x1, y1]] = [ring[i], ring[j]];
    if (y0 > y !== y1 > y && x < ((x1 - x0) * (y - y0)) / (y1 - y0) + x0) inside = !inside;
  }
  return inside;
}

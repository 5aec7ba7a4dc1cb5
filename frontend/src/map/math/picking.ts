// Picking points: nearest to the pointer, within a lasso, within a box. Positions are world x, y pairs.

import type { Bounds } from "./camera.ts";

/** Items by cell, row after row of cells. */
export interface Grid {
  xy: Float32Array;
  x0: number;
  y0: number;
  cell: number;
  columns: number;
  rows: number;
  starts: Uint32Array;
  items: Uint32Array;
}

/** Index of the points that `usable` admits (a byte an item), for quick nearest-point questions. */
export function buildGrid(xy: Float32Array, usable: Uint8Array): Grid {
  let [x0, y0, x1, y1, count] = [Infinity, Infinity, -Infinity, -Infinity, 0];
  for (let i = 0; i < usable.length; i++) {
    if (!usable[i]) continue;
    const x = xy[2 * i];
    const y = xy[2 * i + 1];
    if (x < x0) x0 = x;
    if (x > x1) x1 = x;
    if (y < y0) y0 = y;
    if (y > y1) y1 = y;
    count++;
  }
  const side = Math.max(1, Math.min(256, Math.round(Math.sqrt(count / 3))));
  const cell = Math.max((x1 - x0) / side, (y1 - y0) / side) || 1;
  const columns = count ? Math.floor((x1 - x0) / cell) + 1 : 1;
  const rows = count ? Math.floor((y1 - y0) / cell) + 1 : 1;
  const starts = new Uint32Array(columns * rows + 1);
  const cellOf = (i: number) => Math.floor((xy[2 * i + 1] - y0) / cell) * columns + Math.floor((xy[2 * i] - x0) / cell);
  for (let i = 0; i < usable.length; i++) if (usable[i]) starts[cellOf(i) + 1]++;
  for (let c = 0; c < columns * rows; c++) starts[c + 1] += starts[c];
  const items = new Uint32Array(count);
  const next = starts.slice();
  for (let i = 0; i < usable.length; i++) if (usable[i]) items[next[cellOf(i)]++] = i;
  return { xy, x0, y0, cell, columns, rows, starts, items };
}

/** The item nearest to (x, y) within `reach`, or -1; of equally near ones the first. */
export function nearest(grid: Grid, x: number, y: number, reach: number): number {
  const { xy, x0, y0, cell, columns, rows, starts, items } = grid;
  if (!items.length) return -1;
  const clamp = (value: number, most: number) => Math.max(0, Math.min(most, Math.floor(value)));
  const from = clamp((x - reach - x0) / cell, columns - 1);
  const to = clamp((x + reach - x0) / cell, columns - 1);
  const low = clamp((y - reach - y0) / cell, rows - 1);
  const high = clamp((y + reach - y0) / cell, rows - 1);
  let best = -1;
  let shortest = reach * reach;
  for (let row = low; row <= high; row++) {
    for (let at = starts[row * columns + from]; at < starts[row * columns + to + 1]; at++) {
      const i = items[at];
      const d = (xy[2 * i] - x) ** 2 + (xy[2 * i + 1] - y) ** 2;
      if (d < shortest || (d === shortest && (best < 0 || i < best))) {
        shortest = d;
        best = i;
      }
    }
  }
  return best;
}

/** The `count` usable items nearest to a place, and how far they are; of equally near ones the first. */
export function nearestItems(
  xy: Float32Array,
  usable: Uint8Array,
  [x, y]: readonly [number, number],
  count: number,
): { item: number; distance: number }[] {
  const best: { item: number; distance: number }[] = [];
  for (let item = 0; item < usable.length; item++) {
    if (!usable[item]) continue;
    const distance = Math.hypot(xy[2 * item] - x, xy[2 * item + 1] - y);
    if (best.length === count && !(distance < best[count - 1].distance)) continue;
    if (best.length === count) best.pop();
    const rank = best.findIndex((other) => distance < other.distance);
    best.splice(rank < 0 ? best.length : rank, 0, { item, distance });
  }
  return best;
}

/** Mask of the usable points inside a closed path [x, y, x, y, …] (even-odd rule). */
export function insidePath(xy: Float32Array, usable: Uint8Array, path: readonly number[]): Uint8Array {
  const mask = new Uint8Array(usable.length);
  if (path.length < 6) return mask;
  let [x0, y0, x1, y1] = [Infinity, Infinity, -Infinity, -Infinity];
  for (let p = 0; p < path.length; p += 2) {
    x0 = Math.min(x0, path[p]);
    x1 = Math.max(x1, path[p]);
    y0 = Math.min(y0, path[p + 1]);
    y1 = Math.max(y1, path[p + 1]);
  }
  for (let i = 0; i < usable.length; i++) {
    if (!usable[i]) continue;
    const x = xy[2 * i];
    const y = xy[2 * i + 1];
    if (x < x0 || x > x1 || y < y0 || y > y1) continue;
    let inside = 0;
    for (let p = 0, q = path.length - 2; p < path.length; q = p, p += 2) {
      const crosses = path[p + 1] > y !== path[q + 1] > y;
      if (crosses && x < ((path[q] - path[p]) * (y - path[p + 1])) / (path[q + 1] - path[p + 1]) + path[p]) inside ^= 1;
    }
    mask[i] = inside;
  }
  return mask;
}

/** Mask of the usable points inside the box between two corners, borders included. */
export function insideBox(xy: Float32Array, usable: Uint8Array, [ax, ay, bx, by]: Bounds): Uint8Array {
  const [x0, x1, y0, y1] = [Math.min(ax, bx), Math.max(ax, bx), Math.min(ay, by), Math.max(ay, by)];
  const mask = new Uint8Array(usable.length);
  for (let i = 0; i < usable.length; i++) {
    const x = xy[2 * i];
    const y = xy[2 * i + 1];
    mask[i] = usable[i] && x >= x0 && x <= x1 && y >= y0 && y <= y1 ? 1 : 0;
  }
  return mask;
}

/** The usable item to go to from `item` in a direction (unit vector, world): near, and not far off to the side; or -1. */
export function towards(
  xy: Float32Array,
  usable: Uint8Array,
  item: number,
  [dx, dy]: readonly [number, number],
): number {
  let best = -1;
  let least = Infinity;
  for (let i = 0; i < usable.length; i++) {
    if (!usable[i] || i === item) continue;
    const x = xy[2 * i] - xy[2 * item];
    const y = xy[2 * i + 1] - xy[2 * item + 1];
    const along = x * dx + y * dy;
    const aside = Math.abs(x * dy - y * dx);
    if (along <= 0 || aside > along) continue;
    const cost = along + 2 * aside;
    if (cost < least) {
      least = cost;
      best = i;
    }
  }
  return best;
}

// At deep zoom points become their pictures, as many as there is room for; on demand at every zoom.
import type { Sprites } from "../../lib/sprites.ts";
import { css, type Rgb } from "../../lib/theme.ts";

/** The zoom from which pictures are drawn. */
export const MIN_ZOOM = 3;
const MAX_ON_STAGE = 700;

/** Side of a thumbnail in pixels at this zoom; 0 while points stay points, which with `always` they never do. */
export function thumbnailSize(zoom: number, onStage: number, tile: number, always = false): number {
  if (!always && (zoom < MIN_ZOOM || onStage > MAX_ON_STAGE)) return 0;
  const size = Math.min(56, 26 + 4 * Math.log2(Math.max(1, zoom / MIN_ZOOM)) ** 1.4);
  return tile < 16 ? Math.round(size / tile) * tile : Math.round(size);
}

/**
 * The `items` that get a thumbnail: in order, each that overlaps none before it. `places` are their stage positions
 * [x, y, …], in the same order.
 */
export function roomFor(items: readonly number[], places: readonly number[], size: number): number[] {
  const cell = size + 2;
  const cells = new Map<number, [number, number]>(); // by row and column
  const keyOf = (column: number, row: number) => row * 2 ** 20 + column;
  const indices: number[] = [];
  for (let j = 0; j < items.length; j++) {
    const [x, y] = [places[2 * j], places[2 * j + 1]];
    const [column, row] = [Math.floor(x / cell), Math.floor(y / cell)];
    let free = true;
    for (let r = row - 1; free && r <= row + 1; r++) {
      for (let c = column - 1; free && c <= column + 1; c++) {
        const other = cells.get(keyOf(c, r));
        free = other === undefined || Math.abs(other[0] - x) >= cell || Math.abs(other[1] - y) >= cell;
      }
    }
    if (!free) continue;
    cells.set(keyOf(column, row), [x, y]);
    indices.push(j);
  }
  return indices;
}

/** Draw the pictures of `items` about their places, framed in their class's color; returns the items drawn. */
export function drawThumbnails(
  context: CanvasRenderingContext2D,
  sprites: Sprites,
  items: readonly number[],
  places: readonly number[],
  size: number,
  frameOf: (item: number) => Rgb,
  alphaOf: (item: number) => number,
): number[] {
  const list: number[] = [];
  for (const j of roomFor(items, places, size)) {
    const item = items[j];
    const [x, y] = [Math.round(places[2 * j] - size / 2), Math.round(places[2 * j + 1] - size / 2)];
    context.globalAlpha = alphaOf(item);
    if (!sprites.draw(context, item, x, y, size)) continue;
    context.lineWidth = 2;
    context.strokeStyle = css(frameOf(item));
    context.strokeRect(x - 1, y - 1, size + 2, size + 2);
    list.push(item);
  }
  context.globalAlpha = 1;
  return list;
}

const LEVELS = 7; // the finest has 128 cells along the longer side

/**
 * All items, first those that represent many: for cells of half the size at each level, the one nearest to the mean of
 * each cell, fuller cells first. The order depends on the places alone, so that pictures stay while the camera moves.
 */
export function pictureOrder(xy: Float32Array, usable: Uint8Array): Uint32Array {
  const n = usable.length;
  const order = new Uint32Array(n);
  const flags = new Uint8Array(n);
  let count = 0;
  const place = (i: number) => {
    if (flags[i]) return;
    flags[i] = 1;
    order[count++] = i;
  };
  let [left, right, bottom, top] = [Infinity, -Infinity, Infinity, -Infinity];
  for (let i = 0; i < n; i++) {
    if (!usable[i]) continue;
    [left, right] = [Math.min(left, xy[2 * i]), Math.max(right, xy[2 * i])];
    [bottom, top] = [Math.min(bottom, xy[2 * i + 1]), Math.max(top, xy[2 * i + 1])];
  }
  const extent = Math.max(right - left, top - bottom);
  for (let level = 1; extent > 0 && level <= LEVELS; level++) {
    const side = 2 ** level;
    const clamp = (share: number) => Math.min(side - 1, Math.floor(share * side));
    const cellOf = (i: number) => clamp((xy[2 * i + 1] - bottom) / extent) * side + clamp((xy[2 * i] - left) / extent);
    const sums = new Float64Array(3 * side * side); // x, y and number
    for (let i = 0; i < n; i++) {
      if (!usable[i]) continue;
      const c = 3 * cellOf(i);
      sums[c] += xy[2 * i];
      sums[c + 1] += xy[2 * i + 1];
      sums[c + 2]++;
    }
    const best = new Int32Array(side * side).fill(-1);
    const nearest = new Float64Array(side * side).fill(Infinity);
    for (let i = 0; i < n; i++) {
      if (!usable[i]) continue;
      const cell = cellOf(i);
      const number = sums[3 * cell + 2];
      const d = (xy[2 * i] - sums[3 * cell] / number) ** 2 + (xy[2 * i + 1] - sums[3 * cell + 1] / number) ** 2;
      if (d < nearest[cell]) [nearest[cell], best[cell]] = [d, i];
    }
    const cells = [...best.keys()].filter((cell) => best[cell] >= 0);
    cells.sort((a, b) => sums[3 * b + 2] - sums[3 * a + 2] || a - b);
    for (const cell of cells) place(best[cell]);
  }
  for (let i = 0; i < n; i++) place(i);
  return order;
}

// @ts-nocheck
// At deep zoom points become their pictures, as many as there is room for.
import { css } from "../../lib/theme.ts";

/** How close the eye must be for pictures. */
export const LEAST_ZOOM = 3;
const MOST_ON_STAGE = 700;

/** Side of a thumbnail in pixels at this zoom; 0 while points stay points. */
export function thumbnailSize(zoom, onStage, tile) {
  if (zoom < LEAST_ZOOM || onStage > MOST_ON_STAGE) return 0;
  const wanted = Math.min(56, 26 + 4 * Math.log2(zoom / LEAST_ZOOM) ** 1.4);
  return tile < 16 ? Math.round(wanted / tile) * tile : Math.round(wanted);
}

/**
 * Which of `items` get a thumbnail: in order, each that overlaps none before it. `places` are their stage
 * positions [x, y, …], in the same order.
 */
export function roomFor(items, places, size) {
  const cell = size + 2;
  const taken = new Map();
  const chosen = [];
  for (let j = 0; j < items.length; j++) {
    const [x, y] = [places[2 * j], places[2 * j + 1]];
    const [column, row] = [Math.floor(x / cell), Math.floor(y / cell)];
    let free = true;
    for (let r = row - 1; free && r <= row + 1; r++) {
      for (let c = column - 1; free && c <= column + 1; c++) {
        const other = taken.get(`${c},${r}`);
        free = other === undefined || Math.abs(other[0] - x) >= cell || Math.abs(other[1] - y) >= cell;
      }
    }
    if (!free) continue;
    taken.set(`${column},${row}`, [x, y]);
    chosen.push(j);
  }
  return chosen;
}

/** Draw the pictures of `items` about their places, framed in their class's colour; returns the items drawn. */
export function drawThumbnails(context, sprites, items, places, size, frameOf, alphaOf) {
  const drawn = [];
  for (const j of roomFor(items, places, size)) {
    const item = items[j];
    const [x, y] = [Math.round(places[2 * j] - size / 2), Math.round(places[2 * j + 1] - size / 2)];
    context.globalAlpha = alphaOf(item);
    if (!sprites.draw(context, item, x, y, size)) continue;
    context.lineWidth = 2;
    context.strokeStyle = css(frameOf(item));
    context.strokeRect(x - 1, y - 1, size + 2, size + 2);
    drawn.push(item);
  }
  context.globalAlpha = 1;
  return drawn;
}

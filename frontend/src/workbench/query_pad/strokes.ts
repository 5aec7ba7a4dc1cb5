// Strokes as lists of points in the unit square, and the ink they leave on a small gray image. Pure: no DOM.

import type { Drawing } from "../../protocol.ts";
import { encodeBase64 } from "../../lib/base64.ts";

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

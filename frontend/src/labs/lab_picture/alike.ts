// Similarity of the places of a picture. Pure: no DOM.
import { context2d } from "../../lib/dom.ts";
import { encodeBase64 } from "../../lib/base64.ts";

export interface Limits {
  least: number;
  most: number;
  cell: number;
}

/** Number of tiles in a row of a picture: as many as its shorter side holds, within the limits. */
export const columnsOf = (shorter: number, { least, most, cell }: Limits): number =>
  Math.max(least, Math.min(most, Math.floor(shorter / cell)));

/** Gray values of pixels in color. */
export function grayOf(rgba: Uint8ClampedArray): Uint8Array {
  const gray = new Uint8Array(rgba.length / 4);
  for (let i = 0; i < gray.length; i++)
    gray[i] = Math.round(0.299 * rgba[4 * i] + 0.587 * rgba[4 * i + 1] + 0.114 * rgba[4 * i + 2]);
  return gray;
}

/** The middle square of a picture in whole tiles: as a picture to show, and as gray bytes in base64 to send. */
export async function readPicture(file: File, limits: Limits) {
  const bitmap = await createImageBitmap(file).catch(() => {
    throw new Error(`${file.name} is no picture that this browser can read: choose a PNG or a JPEG.`);
  });
  const shorter = Math.min(bitmap.width, bitmap.height);
  const columns = columnsOf(shorter, limits);
  const side = columns * limits.cell;
  const view = document.createElement("canvas");
  view.width = view.height = side;
  const context = context2d(view, { willReadFrequently: true });
  context.imageSmoothingQuality = "high";
  const [x, y] = [(bitmap.width - shorter) / 2, (bitmap.height - shorter) / 2];
  context.drawImage(bitmap, x, y, shorter, shorter, 0, 0, side, side);
  bitmap.close();
  const pixels = encodeBase64(grayOf(context.getImageData(0, 0, side, side).data));
  return { columns, side, pixels, url: view.toDataURL("image/jpeg", 0.9) };
}

/** Dot products of one row with every row; `rows` holds n × dimensions signed bytes. */
export function similarities(rows: Int8Array, dimensions: number, place: number): Float32Array {
  const count = rows.length / dimensions;
  const result = new Float32Array(count);
  const own = rows.subarray(place * dimensions, (place + 1) * dimensions);
  for (let i = 0; i < count; i++) {
    let sum = 0;
    for (let j = 0; j < dimensions; j++) sum += own[j] * rows[i * dimensions + j];
    result[i] = sum / (127 * 127);
  }
  return result;
}

/** The places with the highest values, best first, without `except`; of equal ones the lower number first. */
export function highest(values: ArrayLike<number>, count: number, except = -1): number[] {
  return Array.from(values, (_, i) => i)
    .filter((i) => i !== except)
    .sort((a, b) => values[b] - values[a] || a - b)
    .slice(0, count);
}

/** The grid of places: where they are, and which is under a point of the picture. */
export interface Grid {
  columns: number;
  first: number;
  step: number;
}

/** The middle of a place, in pixels of the picture: x, y. */
export const middleOf = ({ columns, first, step }: Grid, place: number): [number, number] => [
  first + step * (place % columns),
  first + step * Math.floor(place / columns),
];

/** The place nearest to a point of the picture. */
export function placeAt({ columns, first, step }: Grid, x: number, y: number): number {
  const along = (value: number) => Math.max(0, Math.min(columns - 1, Math.round((value - first) / step)));
  return along(y) * columns + along(x);
}

/** The place that an arrow key leads to; null for another key. */
export function move({ columns }: Grid, place: number, key: string): number | null {
  const by = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[key];
  if (!by) return null;
  const within = (value: number) => Math.max(0, Math.min(columns - 1, value));
  return within(Math.floor(place / columns) + by[1]) * columns + within((place % columns) + by[0]);
}

// A picture of the visitor's own as a square of gray tiles.
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

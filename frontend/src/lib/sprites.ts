// Thumbnails from sheets of tiles, item after item in the official order; and small gray pictures sent as bytes.
import type { Ink, SpriteSheets } from "../protocol.ts";
import { decodeBase64 } from "./base64.ts";
import { context2d } from "./dom.ts";
import { serverUrl } from "./server.ts";

const COLUMNS = 100; // tiles in a row of a sheet, and tiles on a sheet, as dmlviz/data/sprite_sheet.py lays them out
const PER_SHEET = 10_000;

/** Place of item `item`: its sheet's number and address, and its corner there in pixels. */
export function tileOf(sprites: SpriteSheets, item: number) {
  const { columns = COLUMNS, per_sheet = PER_SHEET } = sprites;
  const within = item % per_sheet;
  const sheet = Math.floor(item / per_sheet);
  return {
    sheet,
    url: serverUrl(sprites.urls[sheet] ?? ""),
    x: (within % columns) * sprites.tile,
    y: Math.floor(within / columns) * sprites.tile,
  };
}

/** CSS properties of an element that shows tile `item` in `size` pixels. */
export function tileStyle(sprites: SpriteSheets, item: number, size: number) {
  const { url, x, y } = tileOf(sprites, item);
  const zoom = size / sprites.tile;
  return {
    width: `${size}px`,
    height: `${size}px`,
    backgroundImage: url ? `url("${url}")` : "none",
    backgroundPosition: `${-x * zoom}px ${-y * zoom}px`,
    // The last sheet may hold fewer rows, so that only the width is fixed.
    backgroundSize: `${(sprites.columns ?? COLUMNS) * size}px auto`,
    imageRendering: "pixelated",
  };
}

/** Draw base64 bytes, one a pixel of `width` × `height` for gray or three for color, on a canvas. */
export function paintBytes(canvas: HTMLCanvasElement, { ink, width, height }: Ink): void {
  const bytes = decodeBase64(ink);
  [canvas.width, canvas.height] = [width, height];
  const image = new ImageData(width, height);
  const channels = bytes.length / (width * height);
  for (let i = 0; i < width * height; i++) {
    const [red, green, blue] = [0, 1, 2].map((channel) => bytes[i * channels + Math.min(channel, channels - 1)]);
    image.data.set([red, green, blue, 255], 4 * i);
  }
  context2d(canvas).putImageData(image, 0, 0);
}

/** The sheets of one data set as images for a canvas, loaded when first asked for. */
export class Sprites {
  private images = new Map<number, HTMLImageElement>();

  constructor(
    readonly layout: SpriteSheets,
    private onload: () => void = () => {},
  ) {}

  /** Draw item `item` into the square at (x, y) of a 2-D context; false while its sheet is still on the way. */
  draw(context: CanvasRenderingContext2D, item: number, x: number, y: number, size: number): boolean {
    const { sheet, x: sx, y: sy } = tileOf(this.layout, item);
    const image = this.image(sheet);
    if (!image) return false;
    const { tile } = this.layout;
    context.imageSmoothingEnabled = false;
    context.drawImage(image, sx, sy, tile, tile, x, y, size, size);
    return true;
  }

  /** The decoded sheet, or null (and a request) when it is not there yet. */
  image(sheet: number): HTMLImageElement | null {
    const known = this.images.get(sheet);
    if (known) return known.complete && known.naturalWidth ? known : null;
    const url = this.layout.urls[sheet];
    if (!url) return null;
    const image = new Image();
    image.decoding = "async";
    image.onload = () => this.onload();
    image.src = serverUrl(url);
    this.images.set(sheet, image);
    return null;
  }
}

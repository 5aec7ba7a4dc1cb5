// The distances of a batch as a picture: rows and columns in the order of the classes, near pairs dark.
import { context2d } from "../lib/dom.ts";
import { maxOf } from "../lib/extent.ts";
import { css, mix, type Rgb, type Theme } from "../lib/theme.ts";
import { classBands, sortByClass, type Band, type LoadedBatch } from "./batch.ts";

const BAND_PX = 8; // pixels of the band that names a class by its color

/** Two images. */
export type Pair = [number, number];

export interface MatrixLook {
  theme: Theme;
  colors: Rgb[];
  positive: Rgb;
  negative: Rgb;
  /** True if the chosen comparisons are marked. */
  marks: boolean;
  values: boolean;
  pair: Pair | null;
  /** Of the device, a CSS pixel. */
  pixels: number;
}

export class DistanceMatrix {
  /** The greatest distance. */
  readonly top: number;
  /** See `marked`. */
  readonly marks: Uint8Array;
  private order: number[];
  private bands: Band[];
  private image: HTMLCanvasElement | null = null;
  private key = "";

  /** Of a batch with its distances (n × n). */
  constructor(
    private b: LoadedBatch,
    private distances: Float32Array,
  ) {
    this.order = sortByClass(b.labels);
    this.bands = classBands(b.labels, this.order);
    this.top = maxOf(distances, 0) || 1;
    this.marks = marked(b);
  }

  /** The pair under the pointer, null outside and on the diagonal. */
  pairAt(canvas: HTMLCanvasElement, event: MouseEvent): Pair | null {
    const { n } = this.b;
    const box = canvas.getBoundingClientRect();
    const cell = (at: number, from: number) => Math.floor(((at - from - BAND_PX) / (box.width - BAND_PX)) * n);
    const [row, column] = [cell(event.clientY, box.top), cell(event.clientX, box.left)];
    if (!(row >= 0 && column >= 0 && row < n && column < n) || row === column) return null;
    return [this.order[row], this.order[column]];
  }

  render(canvas: HTMLCanvasElement, look: MatrixLook): void {
    const { theme, colors, positive, negative, marks, values, pair, pixels } = look;
    const { b } = this;
    const width = Math.round(Math.max(80, canvas.clientWidth) * pixels);
    if (canvas.width !== width) canvas.width = canvas.height = width;
    const context = context2d(canvas);
    const key = `${marks} ${values} ${theme.dark}`;
    if (this.key !== key || !this.image) {
      this.key = key;
      this.image = this.picture(b, theme, marks ? [positive, negative] : null, values);
    }
    const edge = BAND_PX * pixels;
    const cell = (width - edge) / b.n;
    context.clearRect(0, 0, width, width);
    context.imageSmoothingEnabled = false;
    context.drawImage(this.image, edge, edge, width - edge, width - edge);
    for (const { label, from, to } of this.bands) {
      context.fillStyle = css(colors[label]);
      context.fillRect(edge + from * cell, 0, (to - from) * cell - pixels * 0.5, edge - 2 * pixels);
      context.fillRect(0, edge + from * cell, edge - 2 * pixels, (to - from) * cell - pixels * 0.5);
    }
    if (!pair) return;
    const place = pair.map((image) => this.order.indexOf(image));
    context.strokeStyle = css(theme.text);
    context.lineWidth = 1.5 * pixels;
    const room = Math.max(0, 3 * pixels - cell / 2);
    context.strokeRect(edge + place[1] * cell - room, edge + place[0] * cell - room, cell + 2 * room, cell + 2 * room);
  }

  private picture(b: LoadedBatch, theme: Theme, marks: [Rgb, Rgb] | null, values: boolean): HTMLCanvasElement {
    const { n } = b;
    const small = document.createElement("canvas");
    small.width = small.height = n;
    const image = new ImageData(n, n);
    const [near, far] = shades(theme);
    this.order.forEach((i, row) =>
      this.order.forEach((j, column) => {
        const at = i * n + j;
        const share = values ? this.distances[at] / this.top : 1;
        let color = mix(near, far, share);
        const kind = marks ? this.marks[at] : 0;
        if (marks && kind) color = mix(color, marks[b.groups[i] === b.groups[j] ? 0 : 1], 0.35 + 0.2 * kind);
        image.data.set([...color, 255], 4 * (row * n + column));
      }),
    );
    context2d(small).putImageData(image, 0, 0);
    return small;
  }
}

/** The shades of the nearest and of the farthest pair. */
export const shades = ({ background, text }: Theme): [Rgb, Rgb] => [
  mix(background, text, 0.82),
  mix(background, text, 0.05),
];

/** n × n: 0 where a pair was not chosen, else 1 to 3 for easy to hard; only where a miner or a sampler chose. */
export function marked(
  b: Pick<LoadedBatch, "n" | "rows" | "hardness" | "anchored" | "tuples">,
): Uint8Array<ArrayBuffer> {
  const marks = new Uint8Array(b.n * b.n);
  if (b.tuples.kind === "classes" || b.tuples.by !== "selection") return marks;
  b.rows.forEach((row, k) => {
    const partners = b.tuples.kind === "pairs" ? [row[1]] : row.slice(1);
    for (const partner of partners) {
      const places =
        b.tuples.kind === "pairs" && !b.anchored
          ? [row[0] * b.n + partner, partner * b.n + row[0]]
          : [row[0] * b.n + partner];
      for (const at of places) marks[at] = Math.max(marks[at], b.hardness[k] + 1);
    }
  });
  return marks;
}

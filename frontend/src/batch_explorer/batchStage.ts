// Positions of a batch's images on the canvas, before and after the step. Pure: no DOM.
import type { LoadedBatch, Row } from "./batch.ts";
import { magnification } from "./stepAnimation.ts";

const PADDING = 26;

export type Point = [number, number];
type Box = [number, number, number, number];

export class BatchStage {
  /** Canvas pixels a unit of the picture. */
  scale = 1;
  private corner: Point = [0, 0];
  private progress = 0;
  /** Positions of the images after the step. */
  private ends: number[];
  private boxes: [Box, Box];

  constructor(readonly b: LoadedBatch) {
    const by = magnification(b) ?? 1;
    this.ends = Array.from(b.places, (at, k) => at + by * (b.moved[k] - at));
    const still: ArrayLike<number>[] = [b.places, ...(b.centers ? [b.centers.places] : [])];
    this.boxes = [around(still), around([...still, this.ends])];
  }

  /** Fit everything into a canvas of so many CSS pixels; the images have `progress` (0 to 1) the way of the step. */
  fit(width: number, height: number, progress: number): void {
    this.progress = progress;
    const [small, large] = this.boxes;
    const [x0, y0, x1, y1] = small.map((edge, k) => edge + (large[k] - edge) * progress);
    this.scale = Math.min(
      (width - 2 * PADDING) / Math.max(1e-12, x1 - x0),
      (height - 2 * PADDING) / Math.max(1e-12, y1 - y0),
    );
    this.corner = [width / 2 - ((x0 + x1) / 2) * this.scale, height / 2 + ((y0 + y1) / 2) * this.scale];
  }

  /** A place of the picture in canvas pixels (before the device's own scale). */
  place(x: number, y: number): Point {
    return [this.corner[0] + x * this.scale, this.corner[1] - y * this.scale];
  }

  placeOf(places: ArrayLike<number>, i: number): Point {
    return this.place(places[2 * i], places[2 * i + 1]);
  }

  /** Current position of image i. */
  where(i: number): Point {
    const { places } = this.b;
    const at = (k: number) => places[2 * i + k] + (this.ends[2 * i + k] - places[2 * i + k]) * this.progress;
    return this.place(at(0), at(1));
  }

  /** The image within `reach` of a point, or null. */
  imageAt([x, y]: Point, reach = 9): number | null {
    let best: number | null = null;
    let least = reach;
    for (let i = 0; i < this.b.n; i++) {
      const at = this.where(i);
      const far = Math.hypot(at[0] - x, at[1] - y);
      if (far < least) [least, best] = [far, i];
    }
    return best;
  }

  /** Ends of a comparison's lines from its first image: [place, whether it should be near]. */
  endpoints(row: Row): [Point, boolean][] {
    const { tuples, groups } = this.b;
    if (tuples.kind === "classes") {
      return [row[1], row[2]].flatMap((label, k): [Point, boolean][] => {
        const place = this.nearestCenter(row[0], label);
        return place ? [[place, k === 0]] : [];
      });
    }
    return row.slice(1).map((image) => [this.where(image), groups[image] === groups[row[0]]]);
  }

  private nearestCenter(image: number, label: number): Point | null {
    if (!this.b.centers) return null;
    const { labels, places } = this.b.centers;
    const from = this.where(image);
    let best: Point | null = null;
    let least = Infinity;
    labels.forEach((own, row) => {
      if (own !== label) return;
      const at = this.placeOf(places, row);
      const far = Math.hypot(at[0] - from[0], at[1] - from[1]);
      if (far < least) [best, least] = [at, far];
    });
    return best;
  }
}

/** The box around all of several lists of x, y. */
function around(lists: ArrayLike<number>[]): Box {
  const box: Box = [Infinity, Infinity, -Infinity, -Infinity];
  for (const places of lists) {
    for (let i = 0; i < places.length; i += 2) {
      box[0] = Math.min(box[0], places[i]);
      box[1] = Math.min(box[1], places[i + 1]);
      box[2] = Math.max(box[2], places[i]);
      box[3] = Math.max(box[3], places[i + 1]);
    }
  }
  return box[0] > box[2] ? [-1, -1, 1, 1] : box;
}

// Rotation of a map of three dimensions. The camera keeps it when the data change.

import type { FrameMeta } from "../../protocol.ts";
import type { Bounds, Point } from "./camera.ts";
import type { PlacedFrame } from "./tween.ts";

const SHARE_OF_TURN = 0.9; // turns for a drag across the whole stage
const MISSING = -32768; // of an item that has no place
const MIN_OPACITY = 0.42; // opacity of what lies farthest back

const multiply = (a: number[], b: number[]): number[] =>
  a.map((_, at) => [0, 1, 2].reduce((sum, i) => sum + a[3 * Math.floor(at / 3) + i] * b[3 * i + (at % 3)], 0));
const aboutUp = (angle: number) => [Math.cos(angle), 0, Math.sin(angle), 0, 1, 0, -Math.sin(angle), 0, Math.cos(angle)];
const aboutRight = (angle: number) => [
  1,
  0,
  0,
  0,
  Math.cos(angle),
  -Math.sin(angle),
  0,
  Math.sin(angle),
  Math.cos(angle),
];

export class Orbit {
  // From slightly above and aside, so that a cloud does not look flat.
  matrix = multiply(aboutRight(0.42), aboutUp(-0.6));
  version = 0;
  /** The matrix, row by row, that turns or mirrors maps of two dimensions onto the one beside them. */
  flat: number[] | null = null;

  /** Turn by a drag of (dx, dy) pixels on a stage of that size. */
  turn(dx: number, dy: number, size: number): void {
    const angle = (2 * Math.PI * SHARE_OF_TURN) / Math.max(size, 1);
    this.matrix = multiply(multiply(aboutRight(dy * angle), aboutUp(dx * angle)), this.matrix);
    this.version++;
  }

  /** Screen position of a point [x, y, z]: [x, y, depth towards the camera], relative to the pivot. */
  project([x, y, z]: readonly number[], [px, py, pz]: readonly number[] = [0, 0, 0]): [number, number, number] {
    const [a, b, c, d, e, f, g, h, i] = this.matrix;
    const [u, v, w] = [x - px, y - py, z - pz];
    return [a * u + b * v + c * w, d * u + e * v + f * w, g * u + h * v + i * w];
  }

  /** Position in the flat world of a place of two or three coordinates. */
  toPlane(place: readonly number[], pivot?: readonly number[]): Point {
    const [x, y] = place.length === 3 ? this.project(place, pivot) : place;
    if (place.length === 3 || !this.flat) return [x, y];
    const [a, b, c, d] = this.flat;
    return [a * x + c * y, b * x + d * y];
  }

  /** Turn pairs x, y of a flat map, in place. */
  turnFlat(xy: Float32Array): Float32Array {
    if (this.flat) for (let j = 0; j < xy.length; j += 2) [xy[j], xy[j + 1]] = this.toPlane([xy[j], xy[j + 1]]);
    return xy;
  }
}

/** `reach` is how far its points are from the pivot at most; `version` that of the orbit it was last seen from. */
export type PlacedFrame3d = PlacedFrame &
  Required<Pick<PlacedFrame, "xyz" | "pivot" | "reach" | "shade">> & { version: number };

/** A frame of three dimensions, as `placeItems` gives one of two, with its `xyz`; `xy` and `shade` follow with `rotated`. */
export function place3d(
  buffer: ArrayBuffer,
  frame: FrameMeta,
  tracked: Int32Array | null,
  total: number,
  pivot: readonly number[] = frame.center,
): PlacedFrame3d {
  const { n, center, scale } = frame;
  if (buffer.byteLength !== n * 6)
    throw new Error(`frame ${frame.id} has ${buffer.byteLength} bytes; ${n} × 3 places need ${n * 6}`);
  const rows = frame.items === "tracked" ? tracked : null;
  if (frame.items === "tracked" && rows?.length !== n) {
    throw new Error(`frame ${frame.id} holds ${n} tracked items; the run watches ${tracked?.length ?? 0}`);
  }
  const raw = new DataView(buffer);
  const xyz = new Float32Array(3 * total);
  const present = new Uint8Array(total);
  let reach = 0;
  for (let j = 0; j < n; j++) {
    const item = rows ? rows[j] : j;
    let far = 0;
    if (raw.getInt16(6 * j, true) === MISSING) continue;
    for (let axis = 0; axis < 3; axis++) {
      const value = center[axis] + (raw.getInt16(6 * j + 2 * axis, true) / 32767) * scale;
      xyz[3 * item + axis] = value;
      far += (value - pivot[axis]) ** 2;
    }
    present[item] = 1;
    reach = Math.max(reach, far);
  }
  reach = Math.sqrt(reach) || 1;
  const bounds: Bounds = [-reach, -reach, reach, reach];
  return {
    xyz,
    pivot,
    reach,
    present,
    count: n,
    bounds,
    xy: new Float32Array(2 * total),
    shade: new Uint8Array(total),
    version: -1,
  };
}

/** The frame as the orbit shows it now. */
export function rotated(placed: PlacedFrame3d, orbit: Orbit): PlacedFrame3d {
  if (placed.version === orbit.version) return placed;
  placed.version = orbit.version;
  const { xyz, xy, shade, pivot, reach } = placed;
  const [a, b, c, d, e, f, g, h, k] = orbit.matrix;
  for (let i = 0, j = 0; j < xy.length; i += 3, j += 2) {
    const [u, v, w] = [xyz[i] - pivot[0], xyz[i + 1] - pivot[1], xyz[i + 2] - pivot[2]];
    xy[j] = a * u + b * v + c * w;
    xy[j + 1] = d * u + e * v + f * w;
    const depth = (g * u + h * v + k * w) / reach; // -1 at the back, 1 in front
    shade[j >> 1] = Math.round(255 * (MIN_OPACITY + (1 - MIN_OPACITY) * Math.min(1, Math.max(0, (depth + 1) / 2))));
  }
  return placed;
}

// The camera of a flat map. All functions are pure.

/** x, y: the world point in the middle of the stage; k: pixels a world unit. */
export interface View {
  x: number;
  y: number;
  k: number;
}

export interface Insets {
  left?: number;
  right?: number;
  top?: number;
  bottom?: number;
}

/** The stage in pixels; insets are covered by other things. */
export interface Port {
  width: number;
  height: number;
  insets?: Insets;
}

/** x0, y0, x1, y1 */
export type Bounds = [number, number, number, number];
export type Point = [number, number];

const MAX_ZOOM = 400; // closer than Home
const MIN_ZOOM = 0.25;

/** World to stage pixels; the world's y points up. */
export const toScreen = (view: View, port: Port, x: number, y: number): Point => [
  (x - view.x) * view.k + port.width / 2,
  port.height / 2 - (y - view.y) * view.k,
];

/** Stage pixels to world. */
export const toWorld = (view: View, port: Port, sx: number, sy: number): Point => [
  (sx - port.width / 2) / view.k + view.x,
  (port.height / 2 - sy) / view.k + view.y,
];

/** Zoom by `factor` about the stage point (sx, sy), which stays where it is; `home` bounds how far. */
export function zoomAbout(
  view: View,
  port: Port,
  sx: number,
  sy: number,
  factor: number,
  home: View | null = null,
): View {
  const zoom = home ? Math.min(home.k * MAX_ZOOM, Math.max(home.k * MIN_ZOOM, view.k * factor)) : view.k * factor;
  const [x, y] = toWorld(view, port, sx, sy);
  const ratio = view.k / zoom;
  return { x: x + (view.x - x) * ratio, y: y + (view.y - y) * ratio, k: zoom };
}

/** Move the picture by (dx, dy) pixels. */
export const pan = (view: View, dx: number, dy: number): View => ({
  x: view.x - dx / view.k,
  y: view.y + dy / view.k,
  k: view.k,
});

/**
 * The view that shows `bounds` within the stage less its insets. A box without
 * extent (one point, or all of them on one) is shown as if it were `least` wide.
 */
export function fit(bounds: Bounds, port: Port, least = 1e-6): View {
  const { left = 0, right = 0, top = 0, bottom = 0 } = port.insets ?? {};
  const free = { width: Math.max(40, port.width - left - right), height: Math.max(40, port.height - top - bottom) };
  const width = Math.max(bounds[2] - bounds[0], least);
  const height = Math.max(bounds[3] - bounds[1], least);
  const k = Math.min(free.width / width, free.height / height);
  const shiftX = (left - right) / 2 / k;
  const shiftY = (bottom - top) / 2 / k;
  return { x: (bounds[0] + bounds[2]) / 2 - shiftX, y: (bounds[1] + bounds[3]) / 2 - shiftY, k };
}

/** Between two views: scale runs geometrically about the one stage point that both show alike. */
export function between(a: View, b: View, share: number): View {
  if (share <= 0) return a;
  if (share >= 1) return b;
  const k = a.k * (b.k / a.k) ** share;
  const apart = 1 / a.k - 1 / b.k;
  const along = Math.abs(apart) * a.k < 1e-4 ? share : (1 / a.k - 1 / k) / apart;
  return { x: a.x + (b.x - a.x) * along, y: a.y + (b.y - a.y) * along, k };
}

/** Distance of two views, in pixels at the stage's edge. */
export function distance(a: View, b: View, port: Port): number {
  const reach = Math.max(port.width, port.height) / 2;
  return Math.max(Math.abs(Math.log(b.k / a.k)) * reach, Math.hypot(b.x - a.x, b.y - a.y) * b.k);
}

/** World positions that lie under view `b` where `xy` lie under view `a`; differences only when `shift` is false. */
export function carry(xy: Float32Array, a: View, b: View, shift = true): Float32Array {
  const ratio = a.k / b.k;
  const move = shift ? [b.x - a.x * ratio, b.y - a.y * ratio] : [0, 0];
  return xy.map((v, j) => v * ratio + move[j & 1]);
}

/** The smallest box around two boxes; either may be null. */
export function union(a: Bounds | null, b: Bounds | null): Bounds | null {
  if (!a || !b) return a ?? b;
  return [Math.min(a[0], b[0]), Math.min(a[1], b[1]), Math.max(a[2], b[2]), Math.max(a[3], b[3])];
}

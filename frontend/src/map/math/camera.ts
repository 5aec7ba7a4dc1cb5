// @ts-nocheck
// Where the eye is: {x, y} the world point in the middle of the stage, k pixels a world unit. All functions are pure.

const MOST = 400;
const LEAST = 0.25;

/** World to stage pixels; the world's y points up. */
export const toScreen = (view, port, x, y) => [
  (x - view.x) * view.k + port.width / 2,
  port.height / 2 - (y - view.y) * view.k,
];

/** Stage pixels to world. */
export const toWorld = (view, port, sx, sy) => [
  (sx - port.width / 2) / view.k + view.x,
  (port.height / 2 - sy) / view.k + view.y,
];

/** Zoom by `factor` about the stage point (sx, sy), which stays where it is; `home` bounds how far. */
export function zoomAbout(view, port, sx, sy, factor, home = null) {
  const bounded = home ? Math.min(home.k * MOST, Math.max(home.k * LEAST, view.k * factor)) : view.k * factor;
  const [x, y] = toWorld(view, port, sx, sy);
  const ratio = view.k / bounded;
  return { x: x + (view.x - x) * ratio, y: y + (view.y - y) * ratio, k: bounded };
}

/** Move the picture by (dx, dy) pixels. */
export const pan = (view, dx, dy) => ({ x: view.x - dx / view.k, y: view.y + dy / view.k, k: view.k });

/**
 * The view that shows `bounds` ([x0, y0, x1, y1]) within the stage less its insets. A box without
 * extent (one point, or all of them on one) is shown as if it were `least` wide.
 */
export function fit(bounds, port, least = 1e-6) {
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
export function between(a, b, share) {
  if (share <= 0) return a;
  if (share >= 1) return b;
  const k = a.k * (b.k / a.k) ** share;
  const apart = 1 / a.k - 1 / b.k;
  const along = Math.abs(apart) * a.k < 1e-4 ? share : (1 / a.k - 1 / k) / apart;
  return { x: a.x + (b.x - a.x) * along, y: a.y + (b.y - a.y) * along, k };
}

/** How far apart two views are, in pixels at the stage's edge. */
export function distance(a, b, port) {
  const reach = Math.max(port.width, port.height) / 2;
  return Math.max(Math.abs(Math.log(b.k / a.k)) * reach, Math.hypot(b.x - a.x, b.y - a.y) * b.k);
}

/** World positions that lie under view `b` where `xy` lie under view `a`; differences only when `shift` is false. */
export function carry(xy, a, b, shift = true) {
  const ratio = a.k / b.k;
  const move = shift ? [b.x - a.x * ratio, b.y - a.y * ratio] : [0, 0];
  return xy.map((v, j) => v * ratio + move[j & 1]);
}

/** The smallest box around two boxes; either may be null. */
export function union(a, b) {
  if (!a || !b) return a ?? b;
  return [Math.min(a[0], b[0]), Math.min(a[1], b[1]), Math.max(a[2], b[2]), Math.max(a[3], b[3])];
}

// Nearest neighbors by Euclidean distance, or that of a Poincaré ball, exactly. Pure: no DOM.

/** The `k` rows (n × d) nearest to a point: [row, distance], nearest first, of equals the first; never `self`. */
export function nearestRows(
  rows: Float32Array,
  point: Float32Array,
  k: number,
  self = -1,
  curvature = 0,
): [number, number][] {
  return nearestOf(squaredDistances(rows, point, curvature), k, self);
}

/** The same of squared distances to all rows. */
export function nearestOf(squares: Float64Array, k: number, self = -1): [number, number][] {
  const best: number[] = [];
  for (let row = 0; row < squares.length; row++) {
    if (row === self || (best.length === k && squares[row] >= squares[best[k - 1]])) continue;
    let place = best.length;
    while (place > 0 && squares[best[place - 1]] > squares[row]) place--;
    best.splice(place, 0, row);
    if (best.length > k) best.pop();
  }
  return best.map((row) => [row, Math.sqrt(squares[row])]);
}

/** Where a map places a point of these neighbors: amid the nearest three of those that it shows; null without any. */
export function placeAmid(near: [row: number, distance: number][], positions: Float32Array): [number, number] | null {
  const shown = near.map(([row]) => row).filter((row) => Number.isFinite(positions[2 * row]));
  const nearest = shown.slice(0, 3);
  const mean = (axis: number) => nearest.reduce((sum, row) => sum + positions[2 * row + axis] / nearest.length, 0);
  return nearest.length ? [mean(0), mean(1)] : null;
}

/** The squared distances of rows to a point, of a Poincaré ball where `curvature` is above 0. */
export function squaredDistances(rows: Float32Array, point: Float32Array, curvature = 0): Float64Array {
  const d = point.length;
  const squares = new Float64Array(rows.length / d);
  const own = room(point, 0, d, curvature);
  for (let row = 0, at = 0; row < squares.length; row++) {
    let sum = 0;
    for (let k = 0; k < d; k++) sum += (rows[at++] - point[k]) ** 2;
    squares[row] = curvature ? inBall(sum, room(rows, at - d, d, curvature) * own, curvature) : sum;
  }
  return squares;
}

/** The squared distance in a ball of two points, from that of their coordinates and the product of their rooms. */
export function inBall(squared: number, rooms: number, curvature: number): number {
  return (2 * Math.asinh(Math.sqrt((curvature * squared) / rooms))) ** 2 / curvature;
}

/** As dmlviz/ops/ball.py: sinh²(√c d/2) = c ‖x − y‖² / ((1 − c‖x‖²)(1 − c‖y‖²)). */
export function room(rows: Float32Array, at: number, d: number, curvature: number): number {
  let left = 1;
  for (let k = at; k < at + d; k++) left -= curvature * rows[k] ** 2;
  return Math.max(left, 1e-12);
}

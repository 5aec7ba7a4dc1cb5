// The first two principal axes of rows of signed bytes. Pure: no DOM.

const ROUNDS = 60;

/** Each row on the first two principal axes of all rows: x, y of row i at 2i and 2i + 1. */
export function principalAxes(rows: Int8Array, dimensions: number): Float32Array {
  const n = rows.length / dimensions;
  const mean = new Float64Array(dimensions);
  rows.forEach((value, i) => (mean[i % dimensions] += value / n));
  const spread = new Float64Array(dimensions * dimensions);
  for (let row = 0; row < n; row++) {
    for (let a = 0; a < dimensions; a++) {
      const own = rows[row * dimensions + a] - mean[a];
      for (let b = 0; b <= a; b++) spread[a * dimensions + b] += (own * (rows[row * dimensions + b] - mean[b])) / n;
    }
  }
  for (let a = 0; a < dimensions; a++)
    for (let b = 0; b < a; b++) spread[b * dimensions + a] = spread[a * dimensions + b];
  const first = topAxis(spread, dimensions, null);
  const second = topAxis(spread, dimensions, first);
  const result = new Float32Array(2 * n);
  for (let row = 0; row < n; row++) {
    for (let a = 0; a < dimensions; a++) {
      const own = rows[row * dimensions + a] - mean[a];
      result[2 * row] += own * first[a];
      result[2 * row + 1] += own * second[a];
    }
  }
  return result;
}

/** The axis of greatest spread, at a right angle to `known`, by repeated multiplication. */
function topAxis(spread: Float64Array, dimensions: number, known: Float64Array | null): Float64Array {
  let axis = Float64Array.from({ length: dimensions }, (_, i) => 1 / (i + 1));
  for (let round = 0; round < ROUNDS; round++) {
    const next = new Float64Array(dimensions);
    for (let a = 0; a < dimensions; a++)
      for (let b = 0; b < dimensions; b++) next[a] += spread[a * dimensions + b] * axis[b];
    if (known) {
      const along = next.reduce((sum, value, i) => sum + value * known[i], 0);
      next.forEach((_, i) => (next[i] -= along * known[i]));
    }
    const length = Math.hypot(...next);
    if (!length) break;
    axis = next.map((value) => value / length);
  }
  return axis;
}

// Nearest neighbors by Euclidean distance, exactly. Pure: no DOM.

/** The `k` rows (n × d) nearest to a point: [row, distance], nearest first, of equals the first; never `self`. */
export function nearestRows(rows: Float32Array, point: Float32Array, k: number, self = -1): [number, number][] {
  return nearestOf(squaredDistances(rows, point), k, self);
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

export function squaredDistances(rows: Float32Array, point: Float32Array): Float64Array {
  const d = point.length;
  const squares = new Float64Array(rows.length / d);
  for (let row = 0, at = 0; row < squares.length; row++) {
    let sum = 0;
    for (let k = 0; k < d; k++) sum += (rows[at++] - point[k]) ** 2;
    squares[row] = sum;
  }
  return squares;
}

// PCA, and the turn of one map onto another. Pure: no DOM.

/** The first two principal components of rows (n × d): their positions (n × 2), mean 0. */
export function pca(rows: Float32Array, d: number): Float32Array {
  const n = rows.length / d;
  const mean = new Float64Array(d);
  for (let i = 0; i < rows.length; i++) mean[i % d] += rows[i] / n;
  const centered = Float64Array.from(rows, (x, i) => x - mean[i % d]);
  const covariance = new Float64Array(d * d);
  for (let start = 0; start < centered.length; start += d)
    for (let p = 0; p < d; p++)
      for (let q = 0; q <= p; q++) covariance[p * d + q] += centered[start + p] * centered[start + q];
  for (let p = 0; p < d; p++) for (let q = p + 1; q < d; q++) covariance[p * d + q] = covariance[q * d + p];
  const first = leading(covariance, d, []);
  const axes = [first, d > 1 ? leading(covariance, d, [first]) : new Float64Array(d)];
  const positions = new Float32Array(2 * n);
  for (let i = 0; i < n; i++)
    for (let axis = 0; axis < 2; axis++) {
      let sum = 0;
      for (let q = 0; q < d; q++) sum += centered[i * d + q] * axes[axis][q];
      positions[2 * i + axis] = sum;
    }
  return positions;
}

/** The eigenvector of the largest eigenvalue at right angles to `others`: powers of the matrix, squared each time. */
function leading(matrix: Float64Array, d: number, others: Float64Array[]): Float64Array {
  let vector = Float64Array.from({ length: d }, (_, q) => 1 + Math.sin(q + 1)); // at right angles to none
  for (let turn = 0; turn < 500; turn++) {
    const next = new Float64Array(d);
    for (let p = 0; p < d; p++) for (let q = 0; q < d; q++) next[p] += matrix[p * d + q] * vector[q];
    for (const other of others) {
      const along = next.reduce((sum, x, q) => sum + x * other[q], 0);
      for (let q = 0; q < d; q++) next[q] -= along * other[q];
    }
    const length = Math.sqrt(next.reduce((sum, x) => sum + x * x, 0));
    if (!(length > 0)) break; // no variance is left
    let change = 0;
    for (let q = 0; q < d; q++) {
      next[q] /= length;
      change += (next[q] - vector[q]) ** 2;
    }
    vector = next;
    if (change < 1e-16) break;
  }
  return vector;
}

/** Turn and mirror `positions` (n × 2) so that they come nearest to `target`, and move them there (Procrustes). */
export function aligned(positions: Float32Array, target: Float32Array): Float32Array {
  const n = positions.length / 2;
  const mean = [0, 0, 0, 0];
  for (let i = 0; i < positions.length; i++) {
    mean[i & 1] += positions[i] / n;
    mean[2 + (i & 1)] += target[i] / n;
  }
  let [xx, xz, zx, zz] = [0, 0, 0, 0];
  for (let i = 0; i < positions.length; i += 2) {
    const [x, z] = [positions[i] - mean[0], positions[i + 1] - mean[1]];
    const [u, v] = [target[i] - mean[2], target[i + 1] - mean[3]];
    xx += x * u;
    xz += x * v;
    zx += z * u;
    zz += z * v;
  }
  // The best turn, and the best turn of the mirrored map: whichever brings it nearer.
  const [turned, mirrored] = [Math.hypot(xx + zz, xz - zx), Math.hypot(xx - zz, xz + zx)];
  const mirror = mirrored > turned ? -1 : 1;
  const length = Math.max(turned, mirrored) || 1;
  const [cos, sin] = [(xx + mirror * zz) / length, (xz - mirror * zx) / length];
  const result = new Float32Array(positions.length);
  for (let i = 0; i < positions.length; i += 2) {
    const [x, z] = [positions[i] - mean[0], mirror * (positions[i + 1] - mean[1])];
    result[i] = cos * x - sin * z + mean[2];
    result[i + 1] = sin * x + cos * z + mean[3];
  }
  return result;
}

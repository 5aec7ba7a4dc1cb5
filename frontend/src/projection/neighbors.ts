// The nearest others of each point, exactly. Pure: no DOM.
import { inBall, room } from "../standalone/nearest.ts";

/** The k nearest others of each of n points, nearest first (n × k). */
export interface Neighbors {
  k: number;
  indices: Int32Array;
  squared: Float64Array;
}

/** Find them among rows (n × d) by Euclidean distance, or that of a Poincaré ball where `curvature` is above 0. */
export function nearestOthers(rows: Float32Array, d: number, k: number, curvature = 0): Neighbors {
  const n = rows.length / d;
  const rooms = Float64Array.from({ length: curvature && n }, (_, i) => room(rows, i * d, d, curvature));
  k = Math.min(k, n - 1);
  const apart = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    apart[i * n + i] = Infinity;
    for (let j = 0; j < i; j++) {
      let sum = 0;
      for (let q = 0, a = i * d, b = j * d; q < d; q++, a++, b++) {
        const difference = rows[a] - rows[b];
        sum += difference * difference;
      }
      apart[i * n + j] = apart[j * n + i] = curvature ? inBall(sum, rooms[i] * rooms[j], curvature) : sum;
    }
  }
  const indices = new Int32Array(n * k);
  const squared = new Float64Array(n * k);
  const scratch = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    const all = apart.subarray(i * n, (i + 1) * n);
    scratch.set(all);
    const farthest = k ? smallest(scratch, k - 1) : -1;
    const chosen = indices.subarray(i * k, (i + 1) * k);
    let count = 0;
    for (let j = 0; j < n; j++) if (all[j] < farthest) chosen[count++] = j;
    for (let j = 0; count < k && j < n; j++) if (all[j] === farthest && j !== i) chosen[count++] = j;
    chosen.sort((one, other) => all[one] - all[other] || one - other);
    for (let e = 0; e < k; e++) squared[i * k + e] = all[chosen[e]];
  }
  return { k, indices, squared };
}

/** The value that would stand at `place` if `values` were sorted; they are left in another order (Hoare's selection). */
function smallest(values: Float64Array, place: number): number {
  let [low, high] = [0, values.length - 1];
  while (low < high) {
    const pivot = values[(low + high) >> 1];
    let [i, j] = [low, high];
    while (i <= j) {
      while (values[i] < pivot) i++;
      while (values[j] > pivot) j--;
      if (i > j) break;
      const moved = values[i];
      values[i++] = values[j];
      values[j--] = moved;
    }
    if (place <= j) high = j;
    else if (place >= i) low = i;
    else break;
  }
  return values[place];
}

/** Rows (n × d) of length 1, whose Euclidean distances rank as their cosines do; a row of zeros stays. */
export function normalized(rows: Float32Array, d: number): Float32Array {
  const result = rows.slice();
  for (let start = 0; start < rows.length; start += d) {
    let sum = 0;
    for (let q = start; q < start + d; q++) sum += rows[q] ** 2;
    if (sum > 0) for (let q = start; q < start + d; q++) result[q] = rows[q] / Math.sqrt(sum);
  }
  return result;
}

/** The mean number of the first `count` neighbors in the space that are among as many on the map. */
export function keptNeighbors(inSpace: Neighbors, positions: Float32Array, count = 10): number {
  const onMap = nearestOthers(positions, 2, count);
  const n = positions.length / 2;
  let kept = 0;
  for (let i = 0; i < n; i++) {
    const near = new Set(inSpace.indices.subarray(i * inSpace.k, i * inSpace.k + onMap.k));
    for (let place = i * onMap.k; place < (i + 1) * onMap.k; place++) kept += Number(near.has(onMap.indices[place]));
  }
  return kept / n;
}

/** Pairs of points i < j that attract each other, and how strongly. */
export interface Edges {
  heads: Int32Array;
  tails: Int32Array;
  weights: Float64Array;
}

/** One edge for each pair of neighbors, from what either end gives the other (n × k): `join` is given both, 0 by default. */
export function edgesOf(near: Neighbors, given: Float64Array, join: (one: number, other: number) => number): Edges {
  const { k, indices } = near;
  const n = given.length / k;
  const dense = new Float64Array(n * n);
  for (let i = 0, place = 0; i < n; i++)
    for (let e = 0; e < k; e++, place++) dense[i * n + indices[place]] = given[place];
  const [heads, tails] = [new Int32Array(given.length), new Int32Array(given.length)];
  const weights = new Float64Array(given.length);
  let count = 0;
  for (let i = 0, place = 0; i < n; i++)
    for (let e = 0; e < k; e++, place++) {
      const j = indices[place];
      const back = dense[j * n + i];
      if (j < i && back > 0) continue; // it stands with j
      const weight = join(given[place], back);
      if (!(weight > 0)) continue;
      heads[count] = Math.min(i, j);
      tails[count] = Math.max(i, j);
      weights[count++] = weight;
    }
  return { heads: heads.subarray(0, count), tails: tails.subarray(0, count), weights: weights.subarray(0, count) };
}

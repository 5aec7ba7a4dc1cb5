// The nearest others of each point, exactly. Pure: no DOM.

/** The k nearest others of each of n points, nearest first (n × k). */
export interface Neighbors {
  k: number;
  indices: Int32Array;
  squared: Float64Array;
}

/** Find them among rows (n × d) by Euclidean distance. */
export function nearestOthers(rows: Float32Array, d: number, k: number): Neighbors {
  const n = rows.length / d;
  k = Math.min(k, n - 1);
  const indices = new Int32Array(n * k);
  const squared = new Float64Array(n * k).fill(Infinity);
  for (let i = 0; i < n; i++)
    for (let j = 0; j < n; j++) {
      if (j === i) continue;
      let sum = 0;
      for (let q = 0, a = i * d, b = j * d; q < d; q++, a++, b++) {
        const apart = rows[a] - rows[b];
        sum += apart * apart;
      }
      let place = i * k + k - 1;
      if (!(sum < squared[place])) continue;
      for (; place > i * k && sum < squared[place - 1]; place--) {
        squared[place] = squared[place - 1];
        indices[place] = indices[place - 1];
      }
      squared[place] = sum;
      indices[place] = j;
    }
  return { k, indices, squared };
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

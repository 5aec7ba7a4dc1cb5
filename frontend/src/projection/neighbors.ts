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
      for (let q = 0; q < d; q++) sum += (rows[i * d + q] - rows[j * d + q]) ** 2;
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
  const n = given.length / near.k;
  const dense = new Float64Array(n * n);
  for (let place = 0; place < given.length; place++)
    dense[Math.floor(place / near.k) * n + near.indices[place]] = given[place];
  const edges: [number, number, number][] = [];
  for (let i = 0; i < n; i++)
    for (let j = i + 1; j < n; j++) {
      const weight = join(dense[i * n + j], dense[j * n + i]);
      if (weight > 0) edges.push([i, j, weight]);
    }
  return {
    heads: Int32Array.from(edges, ([head]) => head),
    tails: Int32Array.from(edges, ([, tail]) => tail),
    weights: Float64Array.from(edges, ([, , weight]) => weight),
  };
}

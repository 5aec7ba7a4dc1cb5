// How well embeddings find their class, as dmlviz/metrics says: each image asks all others. Pure: no DOM.

import { nearestOf, squaredDistances } from "../standalone/nearest.ts";

export interface Scores extends Record<string, number> {
  precision_at_1: number;
  map_at_r: number;
  r_precision: number;
  queries: number;
  mean_positive_distance: number;
  mean_negative_distance: number;
  mean_norm: number;
}

/** Scores of embeddings (n × d), of a Poincaré ball where `curvature` is above 0, with their classes; classes of one image have no neighbor of their own. */
export function scoresOf(embeddings: Float32Array, labels: ArrayLike<number>, d: number, curvature = 0): Scores {
  const n = embeddings.length / d;
  const sizes = new Map<number, number>();
  for (let i = 0; i < n; i++) sizes.set(labels[i], (sizes.get(labels[i]) ?? 0) + 1);
  let [first, ranked, precise, queries] = [0, 0, 0, 0];
  const center = new Float32Array(d);
  const sums = { own: 0, owns: 0, other: 0, others: 0, norm: 0 };
  for (let i = 0; i < n; i++) {
    const point = embeddings.subarray(i * d, (i + 1) * d);
    const squares = squaredDistances(embeddings, point, curvature);
    const own = sizes.get(labels[i]) ?? 1;
    let [near, all] = [0, 0];
    for (let j = 0; j < n; j++) {
      const distance = Math.sqrt(squares[j]);
      all += distance;
      if (labels[i] === labels[j]) near += distance; // the image itself is at 0
    }
    sums.own += near;
    sums.owns += own - 1;
    sums.other += all - near;
    sums.others += n - own;
    sums.norm += Math.sqrt(squaredDistances(point, center, curvature)[0]) / n;
    const r = own - 1;
    if (r < 1) continue;
    queries++;
    let hits = 0;
    nearestOf(squares, r, i).forEach(([row], rank) => {
      if (labels[row] !== labels[i]) return;
      hits++;
      if (rank === 0) first++;
      ranked += hits / (rank + 1) / r;
    });
    precise += hits / r;
  }
  return {
    precision_at_1: first / queries,
    map_at_r: ranked / queries,
    r_precision: precise / queries,
    queries,
    mean_positive_distance: sums.own / sums.owns,
    mean_negative_distance: sums.other / sums.others,
    mean_norm: sums.norm,
  };
}

// Distances between the images of a batch. Pure: no DOM.
import type { BatchAnswer } from "../protocol.ts";

/** The distance measure; "cosine" is 1 − cosine. */
export type Measure = BatchAnswer["thresholds"]["measure"];

const SHORTEST = 1e-12; // below this a point has no direction

/** The embeddings of a batch. */
export class ImageSpace {
  private directions: Float64Array[] | null = null;

  constructor(private readonly points: Float64Array[]) {}

  /** The distance of images i and j; a cosine is 0 where one has no direction. */
  distance(i: number, j: number, measure: Measure): number {
    if (measure === "cosine") {
      this.directions ??= this.points.map(direction);
      return i === j ? 0 : 1 - dot(this.directions[i], this.directions[j]);
    }
    const squared = squaredDistance(this.points[i], this.points[j]);
    return measure === "sqeuclidean" ? squared : Math.sqrt(squared);
  }

  /** All distances, n × n, row after row. */
  matrix(measure: Measure): Float32Array<ArrayBuffer> {
    const n = this.points.length;
    const distances = new Float32Array(n * n);
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < i; j++) distances[i * n + j] = distances[j * n + i] = this.distance(i, j, measure);
    }
    return distances;
  }
}

function dot(a: Float64Array, b: Float64Array): number {
  let total = 0;
  for (let k = 0; k < a.length; k++) total += a[k] * b[k];
  return total;
}

function squaredDistance(a: Float64Array, b: Float64Array): number {
  let total = 0;
  for (let k = 0; k < a.length; k++) total += (a[k] - b[k]) ** 2;
  return total;
}

function direction(point: Float64Array): Float64Array {
  const length = Math.sqrt(dot(point, point));
  return point.map((x) => (length < SHORTEST ? 0 : x / length));
}

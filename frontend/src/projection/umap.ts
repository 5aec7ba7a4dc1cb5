// UMAP (McInnes, Healy, Melville 2018) of a few thousand points, as dmlviz/projection/umap.py. Pure: no DOM.
import { edgesOf, type Edges, type Neighbors } from "./neighbors.ts";

const BISECTIONS = 64;
const LEAST_SIGMA = 1e-3;
const NEGATIVES = 5; // for each attraction
const CLIP = 4; // of what one force moves a coordinate

/** Strengths exp(−(d − ρ)/σ) of neighbors (n × k): ρ is the first distance that is not 0, and each row sums to log2(k + 1). */
export function membershipStrengths({ k }: Neighbors, distances: Float64Array): Float64Array {
  const n = distances.length / k;
  const result = new Float64Array(distances.length);
  const target = Math.log2(k + 1);
  const mean = distances.reduce((sum, d) => sum + d, 0) / (n * (k + 1));
  for (let start = 0; start < distances.length; start += k) {
    const row = distances.subarray(start, start + k);
    const nearest = row.find((d) => d > 0) ?? 0;
    let [low, sigma, high] = [0, (mean * (k + 1)) / k || 1, Infinity];
    for (let turn = 0; turn < BISECTIONS; turn++) {
      let sum = 0;
      for (let e = 0; e < k; e++) sum += Math.exp(-Math.max(row[e] - nearest, 0) / sigma);
      if (Math.abs(sum - target) < 1e-7) break;
      if (sum > target) high = sigma;
      else low = sigma;
      sigma = high === Infinity ? 2 * sigma : (low + high) / 2;
    }
    const ownMean = row.reduce((sum, d) => sum + d, 0) / (k + 1);
    sigma = Math.max(sigma, LEAST_SIGMA * (nearest > 0 ? ownMean : mean)) || 1;
    for (let e = 0; e < k; e++) result[start + e] = Math.exp(-Math.max(row[e] - nearest, 0) / sigma);
  }
  return result;
}

/** The fuzzy graph: the union a + b − ab of both directions. Distances are Euclidean, or 1 − cosine of rows of length 1. */
export function fuzzyGraph(near: Neighbors, cosine = false): Edges {
  const distances = near.squared.map(cosine ? (d) => d / 2 : Math.sqrt);
  return edgesOf(near, membershipStrengths(near, distances), (one, other) => one + other - one * other);
}

/** a and b with 1/(1 + a d^2b) nearest to 1 up to `minDist`, and e^(minDist − d) beyond (Gauss–Newton, damped). */
export function curve(minDist: number): [number, number] {
  const places = Array.from({ length: 299 }, (_, i) => ((i + 1) * 3) / 299);
  const errorsOf = (a: number, b: number) =>
    places.map((d) => 1 / (1 + a * d ** (2 * b)) - Math.min(1, Math.exp(minDist - d)));
  const squares = (a: number, b: number) => errorsOf(a, b).reduce((sum, error) => sum + error * error, 0);
  let [a, b, damping] = [1.5, 0.9, 1e-3];
  for (let turn = 0; turn < 60; turn++) {
    let [aa, ab, bb, ga, gb] = [0, 0, 0, 0, 0];
    errorsOf(a, b).forEach((error, i) => {
      const power = places[i] ** (2 * b);
      const value = 1 / (1 + a * power);
      const [da, db] = [-value * value * power, -value * value * a * power * 2 * Math.log(places[i])];
      aa += da * da;
      ab += da * db;
      bb += db * db;
      ga += da * error;
      gb += db * error;
    });
    const [p, q] = [aa * (1 + damping), bb * (1 + damping)];
    const determinant = p * q - ab * ab;
    const [nextA, nextB] = [a - (q * ga - ab * gb) / determinant, b - (p * gb - ab * ga) / determinant];
    const better = nextA > 0 && nextB > 0 && squares(nextA, nextB) <= squares(a, b);
    if (better) [a, b] = [nextA, nextB];
    damping *= better ? 0.3 : 10;
  }
  return [a, b];
}

/** Positions (n × 2) that edges attract, and points drawn by chance repel. */
export class UMAP {
  readonly positions: Float32Array;
  private held!: Edges;
  private due!: Float64Array;
  private strongest!: number;

  constructor(
    start: Float32Array,
    edges: Edges,
    private random: () => number,
    public ab: [number, number],
  ) {
    this.positions = start.slice();
    this.edges = edges;
  }

  get edges(): Edges {
    return this.held;
  }

  set edges(edges: Edges) {
    this.held = edges;
    this.due = Float64Array.from(edges.heads, () => this.random());
    this.strongest = edges.weights.reduce((most, weight) => Math.max(most, weight), 1e-12);
  }

  /** One iteration: an edge pulls as often as its weight asks for, the strongest once from either end. */
  step(rate: number): void {
    const { positions: y, due } = this;
    const { heads, tails, weights } = this.held;
    const n = y.length / 2;
    for (let e = 0; e < heads.length; e++) {
      due[e] += (2 * weights[e]) / this.strongest;
      for (; due[e] >= 1; due[e]--) {
        const first = this.random() < 0.5;
        const [own, other] = first ? [heads[e], tails[e]] : [tails[e], heads[e]];
        this.move(own, other, true, rate);
        for (let s = 0; s < NEGATIVES; s++) {
          const chance = Math.floor(this.random() * n);
          if (chance !== own) this.move(own, chance, false, rate);
        }
      }
    }
    let [x, z] = [0, 0];
    for (let i = 0; i < y.length; i += 2) [x, z] = [x + y[i] / n, z + y[i + 1] / n];
    for (let i = 0; i < y.length; i += 2) [y[i], y[i + 1]] = [y[i] - x, y[i + 1] - z];
  }

  /** Factor of the difference of two points by which the one is pulled to the other, or pushed away from it. */
  force(squared: number, attracts: boolean): number {
    const [a, b] = this.ab;
    const grown = a * squared ** b;
    return attracts ? (-2 * b * grown) / (squared * (1 + grown)) : (2 * b) / ((squared + 0.001) * (1 + grown));
  }

  /** The cross entropy of the weights and 1/(1 + a d^2b) on the map, over all pairs. */
  crossEntropy(): number {
    const { positions: y, ab } = this;
    const { heads, tails, weights } = this.held;
    const [a, b] = ab;
    const grown = (i: number, j: number) =>
      a * Math.max((y[2 * i] - y[2 * j]) ** 2 + (y[2 * i + 1] - y[2 * j + 1]) ** 2, 1e-9) ** b;
    let sum = 0;
    for (let i = 0; i < y.length / 2; i++) for (let j = 0; j < i; j++) sum += Math.log1p(1 / grown(i, j));
    for (let e = 0; e < heads.length; e++) {
      const [weight, far] = [weights[e], grown(heads[e], tails[e])];
      const rest = 1 - weight;
      sum += weight * (Math.log(weight) + Math.log(far)) + (rest > 0 ? rest * Math.log(rest) : 0);
    }
    return sum;
  }

  private move(own: number, other: number, attracts: boolean, rate: number): void {
    const { positions: y } = this;
    const [i, j] = [2 * own, 2 * other];
    const squared = Math.max((y[i] - y[j]) ** 2 + (y[i + 1] - y[j + 1]) ** 2, 1e-12);
    const factor = this.force(squared, attracts);
    for (let axis = 0; axis < 2; axis++) {
      const moved = rate * Math.max(-CLIP, Math.min(CLIP, factor * (y[i + axis] - y[j + axis])));
      y[i + axis] += moved;
      if (attracts) y[j + axis] -= moved;
    }
  }
}

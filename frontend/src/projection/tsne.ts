// t-SNE (van der Maaten, Hinton 2008) of a few thousand points, exactly, as dmlviz/projection/tsne.py. Pure: no DOM.
import { edgesOf, type Edges, type Neighbors } from "./neighbors.ts";

const MOMENTUM = 0.8;
const LONGEST = 5;
const BISECTIONS = 60;

/** p(j|i) of neighbors (n × k): each row has the entropy log(perplexity). */
export function conditionalProbabilities({ k, squared }: Neighbors, perplexity: number): Float64Array {
  const result = new Float64Array(squared.length);
  const target = Math.log(perplexity);
  for (let start = 0; start < squared.length; start += k) {
    const row = squared.subarray(start, start + k);
    const size = row.reduce((sum, value) => sum + value - row[0], 0) / k || 1;
    let [low, precision, high] = [0, 1, Infinity];
    let total = 0;
    for (let turn = 0; turn < BISECTIONS; turn++) {
      let [weighted, squares] = [0, 0];
      total = 0;
      for (let e = 0; e < k; e++) {
        const distance = (row[e] - row[0]) / size;
        const weight = (result[start + e] = Math.exp(-precision * distance));
        total += weight;
        weighted += weight * distance;
        squares += weight * distance * distance;
      }
      const mean = weighted / total;
      const excess = Math.log(total) + precision * mean - target;
      if (Math.abs(excess) < 1e-6) break;
      if (excess > 0) low = precision;
      else high = precision;
      // Newton's step, where it stays between the bounds.
      const next = precision + excess / (precision * (squares / total - mean * mean));
      const isInside = next > low && next < high && turn < BISECTIONS / 2;
      precision = isInside ? next : high === Infinity ? 2 * precision : (low + high) / 2;
    }
    for (let e = 0; e < k; e++) result[start + e] /= total;
  }
  return result;
}

/** p(i, j) of all pairs, of sum 1/2: each pair stands once. */
export function affinities(near: Neighbors, perplexity: number): Edges {
  const n = near.squared.length / near.k;
  return edgesOf(near, conditionalProbabilities(near, perplexity), (one, other) => (one + other) / (2 * n));
}

/** Positions (n × 2), and how they move: velocities and gains. */
export class TSNE {
  readonly positions: Float32Array;
  private velocity: Float64Array;
  private gains: Float64Array;
  private force: Float64Array;

  constructor(
    start: Float32Array,
    public edges: Edges,
  ) {
    this.positions = start.slice();
    this.velocity = new Float64Array(start.length);
    this.gains = new Float64Array(start.length).fill(1);
    this.force = new Float64Array(start.length);
  }

  /** Forget velocities and gains. */
  restart(): void {
    this.velocity.fill(0);
    this.gains.fill(1);
  }

  /** Half the gradient of KL(P ‖ Q) with P times `attraction` (n × 2). */
  gradient(attraction: number): Float64Array {
    const { positions: y, force, edges } = this;
    const { heads, tails, weights } = edges;
    const total = this.repel();
    for (let c = 0; c < force.length; c++) force[c] *= -2 / total;
    for (let e = 0; e < heads.length; e++) {
      const [a, b] = [2 * heads[e], 2 * tails[e]];
      const [x, z] = [y[a] - y[b], y[a + 1] - y[b + 1]];
      const pull = (2 * attraction * weights[e]) / (1 + x * x + z * z);
      force[a] += pull * x;
      force[a + 1] += pull * z;
      force[b] -= pull * x;
      force[b + 1] -= pull * z;
    }
    return force;
  }

  /** Move every point once. */
  step(attraction: number): void {
    const { positions: y, velocity, gains } = this;
    const half = this.gradient(attraction);
    const rate = y.length / attraction; // 2 · n / attraction, of half the gradient
    const mean = [0, 0];
    for (let i = 0; i < y.length; i += 2) {
      for (let c = i; c < i + 2; c++) {
        const opposite = Math.sign(velocity[c]) !== Math.sign(half[c]);
        gains[c] = opposite ? gains[c] + 0.2 : Math.max(gains[c] * 0.8, 0.01);
        velocity[c] = MOMENTUM * velocity[c] - rate * gains[c] * half[c];
      }
      const long = Math.max(Math.hypot(velocity[i], velocity[i + 1]) / LONGEST, 1);
      for (let c = i; c < i + 2; c++) {
        velocity[c] /= long;
        y[c] += velocity[c];
        mean[c - i] += (2 * y[c]) / y.length;
      }
    }
    for (let c = 0; c < y.length; c++) y[c] -= mean[c & 1];
  }

  /** KL(P ‖ Q) as it is now. */
  divergence(): number {
    const { positions: y, edges } = this;
    const { heads, tails, weights } = edges;
    let sum = Math.log(this.repel());
    for (let e = 0; e < heads.length; e++) {
      const [a, b] = [2 * heads[e], 2 * tails[e]];
      const squared = (y[a] - y[b]) ** 2 + (y[a + 1] - y[b + 1]) ** 2;
      sum += 2 * weights[e] * (Math.log(weights[e]) + Math.log1p(squared));
    }
    return sum;
  }

  /** Write Σⱼ q² (yᵢ − yⱼ) with q = 1 / (1 + |yᵢ − yⱼ|²) into `force`, and return Σ q. */
  private repel(): number {
    const { positions: y, force } = this;
    force.fill(0);
    let total = 0;
    for (let i = 0; i < y.length; i += 2) {
      const [x, z] = [y[i], y[i + 1]];
      let [pushX, pushZ] = [0, 0];
      for (let j = i + 2; j < y.length; j += 2) {
        const dx = x - y[j];
        const dz = z - y[j + 1];
        const q = 1 / (1 + dx * dx + dz * dz);
        const push = q * q;
        total += q;
        pushX += push * dx;
        pushZ += push * dz;
        force[j] -= push * dx;
        force[j + 1] -= push * dz;
      }
      force[i] += pushX;
      force[i + 1] += pushZ;
    }
    return 2 * total;
  }
}

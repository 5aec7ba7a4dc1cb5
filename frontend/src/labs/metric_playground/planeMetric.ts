// A metric in the plane, d² = (x − y)ᵀA(x − y): of two groups of points, and learned from them. Pure: no DOM.
import { minOf } from "../../lib/extent.ts";

export type Point = [number, number];
/** A symmetric matrix [[a, b], [b, c]]. */
export interface Matrix {
  a: number;
  b: number;
  c: number;
}
/** W, 2 × 2, row after row; A = WᵀW. */
export type Weights = [number, number, number, number];

export const EUCLID: Matrix = { a: 1, b: 0, c: 1 };
export const LEARNERS = ["xing", "nca", "lmnn"] as const;
export type Learner = (typeof LEARNERS)[number];

/** A group: its middle, how long and wide it is, and its tilt in radians. */
export interface Group {
  middle: Point;
  long: number;
  wide: number;
  tilt: number;
}

export const squared = ({ a, b, c }: Matrix, [x1, y1]: Point, [x2, y2]: Point): number => {
  const [dx, dy] = [x1 - x2, y1 - y2];
  return a * dx * dx + 2 * b * dx * dy + c * dy * dy;
};

/** A = WᵀW. */
export const matrixOf = ([p, q, r, s]: Weights): Matrix => ({ a: p * p + r * r, b: p * q + r * s, c: q * q + s * s });

/** The covariance of a group. */
export function covariance({ long, wide, tilt }: Group): Matrix {
  const [cos, sin] = [Math.cos(tilt), Math.sin(tilt)];
  const [l, w] = [long * long, wide * wide];
  return { a: l * cos * cos + w * sin * sin, b: (l - w) * cos * sin, c: l * sin * sin + w * cos * cos };
}

/** The inverse; the matrix of Mahalanobis' distance is that of the covariance. */
export function inverse({ a, b, c }: Matrix): Matrix {
  const det = a * c - b * b;
  return { a: c / det, b: -b / det, c: a / det };
}

/** Eigenvalues, the larger first, and the direction of the first in radians. */
export function eigen({ a, b, c }: Matrix): { large: number; small: number; angle: number } {
  const mean = (a + c) / 2;
  const away = Math.hypot((a - c) / 2, b);
  return { large: mean + away, small: mean - away, angle: Math.atan2(2 * b, a - c) / 2 };
}

/** Points of a group: fixed normal numbers, stretched and turned, so that dragging moves the same points. */
export function pointsOf({ middle, long, wide, tilt }: Group, normals: Point[]): Point[] {
  const [cos, sin] = [Math.cos(tilt), Math.sin(tilt)];
  return normals.map(([u, v]) => [
    middle[0] + long * u * cos - wide * v * sin,
    middle[1] + long * u * sin + wide * v * cos,
  ]);
}

/** `count` pairs of normal numbers, always the same ones for a seed. */
export function normals(count: number, seed: number): Point[] {
  let state = seed >>> 0;
  const uniform = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state + 1) / 4294967297;
  };
  return Array.from({ length: count }, () => {
    const [radius, angle] = [Math.sqrt(-2 * Math.log(uniform())), 2 * Math.PI * uniform()];
    return [radius * Math.cos(angle), radius * Math.sin(angle)];
  });
}

/**
 * The loss of a learner and its gradient for W. "nca": share of neighbors, drawn by softmax(−d²), of another class.
 * "lmnn": each point pulls the three nearest of its class and pushes others that come within 1 of them. "xing": squared
 * distances within a class, minus the logarithm of the summed distances between classes.
 */
export function objective(learner: Learner, w: Weights, points: Point[], labels: number[]): [number, Weights] {
  const gradient: Weights = [0, 0, 0, 0];
  const places = points.map(([x, y]): Point => [w[0] * x + w[1] * y, w[2] * x + w[3] * y]);
  const d2 = (i: number, j: number) => (places[i][0] - places[j][0]) ** 2 + (places[i][1] - places[j][1]) ** 2;
  /** Add `weight` times the gradient of d²(i, j): 2 W (x − y)(x − y)ᵀ. */
  const add = (i: number, j: number, weight: number) => {
    const [dx, dy] = [points[i][0] - points[j][0], points[i][1] - points[j][1]];
    const [ex, ey] = [places[i][0] - places[j][0], places[i][1] - places[j][1]];
    gradient[0] += 2 * weight * ex * dx;
    gradient[1] += 2 * weight * ex * dy;
    gradient[2] += 2 * weight * ey * dx;
    gradient[3] += 2 * weight * ey * dy;
  };
  const losses = { xing, nca, lmnn };
  return [losses[learner](points.length, labels, d2, add), gradient];
}

type Distance = (i: number, j: number) => number;
type Add = (i: number, j: number, weight: number) => void;

function xing(n: number, labels: number[], d2: Distance, add: Add): number {
  let [within, between, pairs] = [0, 0, 0];
  for (let i = 0; i < n; i++)
    for (let j = 0; j < i; j++)
      if (labels[i] === labels[j]) [within, pairs] = [within + d2(i, j), pairs + 1];
      else between += Math.sqrt(d2(i, j) + 1e-9);
  for (let i = 0; i < n; i++)
    for (let j = 0; j < i; j++)
      add(i, j, labels[i] === labels[j] ? 1 / pairs : -1 / (2 * between * Math.sqrt(d2(i, j) + 1e-9)));
  return within / pairs - Math.log(between);
}

function nca(n: number, labels: number[], d2: Distance, add: Add): number {
  let loss = 0;
  for (let i = 0; i < n; i++) {
    const others = Array.from({ length: n }, (_, j) => j).filter((j) => j !== i);
    const nearest = minOf(others.map((j) => d2(i, j)));
    const raw = others.map((j) => Math.exp(nearest - d2(i, j)));
    const total = raw.reduce((sum, value) => sum + value, 0);
    const shares = raw.map((value) => value / total);
    const right = others.reduce((sum, j, k) => sum + (labels[j] === labels[i] ? shares[k] : 0), 0);
    loss += (1 - right) / n;
    // ∂(−right)/∂d²(i, j) = p_ij · ([same] − right)
    others.forEach((j, k) => add(i, j, (shares[k] * ((labels[j] === labels[i] ? 1 : 0) - right)) / n));
  }
  return loss;
}

const TARGETS = 3;

function lmnn(n: number, labels: number[], d2: Distance, add: Add): number {
  let loss = 0;
  for (let i = 0; i < n; i++) {
    const same = Array.from({ length: n }, (_, j) => j).filter((j) => j !== i && labels[j] === labels[i]);
    const targets = same.sort((a, b) => d2(i, a) - d2(i, b)).slice(0, TARGETS);
    for (const target of targets) {
      loss += d2(i, target) / (2 * n);
      add(i, target, 1 / (2 * n));
      for (let k = 0; k < n; k++) {
        const over = labels[k] === labels[i] ? 0 : 1 + d2(i, target) - d2(i, k);
        if (over <= 0) continue;
        loss += over / (2 * n);
        add(i, target, 1 / (2 * n));
        add(i, k, -1 / (2 * n));
      }
    }
  }
  return loss;
}

/** W after a step of gradient descent, no longer than `most`. */
export function descend(w: Weights, gradient: Weights, rate: number, most = 0.05): Weights {
  const length = Math.hypot(gradient[0], gradient[1], gradient[2], gradient[3]) * rate;
  const by = length > most ? (rate * most) / length : rate;
  return w.map((value, i) => value - by * gradient[i]) as Weights;
}

/** The share of points whose nearest other point is of another class. */
export function nearestError(matrix: Matrix, points: Point[], labels: number[]): number {
  const wrong = points.filter((point, i) => {
    let [best, label] = [Infinity, -1];
    points.forEach((other, j) => {
      const distance = j === i ? Infinity : squared(matrix, point, other);
      if (distance < best) [best, label] = [distance, labels[j]];
    });
    return label !== labels[i];
  });
  return wrong.length / points.length;
}

// A few points with labels, as a loss sees them: distances, cosines, who is of whose class.
import { add, div, dot, number, relu, sqrt, square, sub, sum } from "./tape.js";

const SMALL = 1e-12;

/** Points (arrays of numbers or values) with class ids; `triplets`, when given, are the only ones that count. */
export class Batch {
  constructor(points, labels, { triplets = null, own = null } = {}) {
    Object.assign(this, { points, labels, triplets, own, known: new Map() });
    this.all = points.map((_, i) => i);
  }

  same(i, j) {
    return this.labels[i] === this.labels[j];
  }

  /** P(a): the others of a's class. */
  positives(a) {
    return this.all.filter((j) => j !== a && this.same(a, j));
  }

  /** N(a): all of other classes. */
  negatives(a) {
    return this.all.filter((j) => !this.same(a, j));
  }

  /** Images that have a positive and a negative. */
  complete() {
    return this.all.filter((a) => this.positives(a).length && this.negatives(a).length);
  }

  /** Every pair [i, j] with i < j, or both ways round. */
  pairs(directed = false) {
    return this.all.flatMap((i) => this.all.filter((j) => (directed ? i !== j : i < j)).map((j) => [i, j]));
  }

  /** Pairs of one class, both ways round. */
  positivePairs() {
    return this.pairs(true).filter(([i, j]) => this.same(i, j));
  }

  /** The triplets [anchor, positive, negative] that count. */
  triples() {
    return this.triplets ?? this.positivePairs().flatMap(([a, p]) => this.negatives(a).map((n) => [a, p, n]));
  }

  /** The distance of i and j: "euclidean", "sqeuclidean" or "cosine". */
  d(i, j, kind = "euclidean") {
    const key = `${kind} ${Math.min(i, j)} ${Math.max(i, j)}`;
    if (!this.known.has(key)) this.known.set(key, distance(this.points[i], this.points[j], kind));
    return this.known.get(key);
  }

  /** The cosine of i and j. */
  s(i, j) {
    return sub(1, this.d(i, j, "cosine"));
  }
}

/** Of two points. */
export function distance(a, b, kind = "euclidean") {
  if (kind === "cosine") return sub(1, cosine(a, b));
  const squared = sum(a.map((x, i) => square(sub(x, b[i]))));
  return kind === "sqeuclidean" ? squared : sqrt(squared);
}

export const norm = (a) => sqrt(dot(a, a));

/** The cosine of two points; 0 where one has no direction. */
export function cosine(a, b) {
  const [p, q] = [norm(a), norm(b)];
  return number(p) < SMALL || number(q) < SMALL ? 0 : div(div(dot(a, b), p), q);
}

/** The mean of points. */
export const mean = (points) => points[0].map((_, k) => div(sum(points.map((point) => point[k])), points.length));

/** Terms and how they become one number. A hinge is active above 0, a smooth term above 0.01. */
export const terms = (values, { reduction = "mean" } = {}, smooth = false) => ({ values, reduction, smooth });

export function reduced({ values, reduction }) {
  const total = sum(values);
  if (reduction === "sum") return total;
  const count = reduction === "nonzero" ? values.filter((value) => number(value) > 0).length : values.length;
  return div(total, Math.max(count, 1));
}

/** [t]₊ of a sum. */
export const hinge = (...parts) => relu(parts.reduce(add));

// @ts-nocheck
// A few points with labels, as a loss sees them: distances, cosines, who is of whose class, who is compared with whom.
import { div, dot, number, sqrt, squaredDistance, sub, sum } from "./autodiff.ts";

const SMALL = 1e-12;

/**
 * Points (arrays of numbers or values) with class ids. `pairs` or `triplets`, when given, are the only ones that count,
 * `anchored` pairs for their first image alone; `own` is what the loss learns itself.
 */
export class Batch {
  constructor(points, labels, { pairs = null, triplets = null, anchored = false, own = {} } = {}) {
    Object.assign(this, { points, labels, triplets, own, beside: [], known: {} });
    this.all = points.map((_, i) => i);
    this.listed =
      pairs ??
      triplets?.flatMap(([a, p, n]) => [
        [a, p],
        [a, n],
      ]);
    this.anchored = anchored || triplets !== null;
  }

  same(i, j) {
    return this.labels[i] === this.labels[j];
  }

  /** Whom a is compared with. */
  partners(a) {
    const listed = () => this.listed.flatMap(([i, j]) => (i === a ? [j] : j === a && !this.anchored ? [i] : []));
    return (this.beside[a] ??= this.listed ? [...new Set(listed())] : this.all.filter((j) => j !== a));
  }

  /** P(a): those of a's class. */
  positives(a) {
    return this.partners(a).filter((j) => this.same(a, j));
  }

  /** N(a): those of other classes. */
  negatives(a) {
    return this.partners(a).filter((j) => !this.same(a, j));
  }

  /** Every pair [i, j] once, or both ways round. */
  pairs(directed = false) {
    if (!this.listed)
      return this.all.flatMap((i) => this.all.filter((j) => (directed ? i !== j : i < j)).map((j) => [i, j]));
    return directed && !this.anchored
      ? this.listed.flatMap(([i, j]) => [
          [i, j],
          [j, i],
        ])
      : this.listed;
  }

  /** Pairs of one class, both ways round. */
  positivePairs() {
    return this.all.flatMap((a) => this.positives(a).map((p) => [a, p]));
  }

  /** Every triplet [anchor, positive, negative]. */
  triples() {
    return this.triplets ?? this.positivePairs().flatMap(([a, p]) => this.negatives(a).map((n) => [a, p, n]));
  }

  /** The classes: [{label, members}]. */
  classes() {
    return [...new Set(this.labels)].map((label) => ({
      label,
      members: this.all.filter((i) => this.labels[i] === label),
    }));
  }

  /** The distance of i and j: "euclidean", "sqeuclidean" or "cosine". */
  d(i, j, kind = "euclidean") {
    if (kind === "cosine") return sub(1, this.s(i, j));
    return this.once(kind, i, j, () => distance(this.points[i], this.points[j], kind));
  }

  /** The cosine of i and j; 0 where one has no direction. */
  s(i, j) {
    this.directions ??= this.points.map(direction);
    return this.once("cosine", i, j, () => dot(this.directions[i], this.directions[j]));
  }

  /** The scalar product of i and j. */
  dot(i, j) {
    return dot(this.points[i], this.points[j]);
  }

  once(kind, i, j, measure) {
    const rows = (this.known[kind] ??= this.all.map(() => []));
    return (rows[Math.max(i, j)][Math.min(i, j)] ??= measure());
  }
}

/** Of two points. */
export function distance(a, b, kind = "euclidean") {
  if (kind === "cosine") return sub(1, dot(direction(a), direction(b)));
  const squared = squaredDistance(a, b);
  return kind === "sqeuclidean" ? squared : sqrt(squared);
}

export const norm = (a) => sqrt(dot(a, a));

/** A point brought to length 1; one at the origin stays there. */
export function direction(a) {
  const length = norm(a);
  return a.map((x) => (number(length) < SMALL ? 0 : div(x, length)));
}

/** The mean of points. */
export const mean = (points) => points[0].map((_, k) => div(sum(points.map((point) => point[k])), points.length));

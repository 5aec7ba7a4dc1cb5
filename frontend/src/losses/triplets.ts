// @ts-nocheck
// Losses on triplets; the same formulas as dmlviz/losses/triplets.py, clusters.py and hierarchical.py. What a loss is
// made of, see index.js.
import { distance, mean } from "./batch.ts";
import { figure as f } from "./format.ts";
import { POSITIVES, TRIPLETS, WITH_BOTH } from "./termDomains.ts";
import { classTree } from "./classTree.ts";
import { add, div, lse, max, min, mul, number, relu, softplus, sub } from "./autodiff.ts";

/** A term for each triplet, of the distances to positive and negative. */
const overTriplets = (batch, kind, term, text, smooth = false) => ({
  over: TRIPLETS,
  smooth,
  term: (a, p, n) => term(batch.d(a, p, kind), batch.d(a, n, kind)),
  text: (a, p, n) => text(f(batch.d(a, p, kind)), f(batch.d(a, n, kind))),
});

const triplet = (batch, { margin, distance: kind }) =>
  overTriplets(
    batch,
    kind,
    (near, far) => relu(add(margin, sub(near, far))),
    (near, far) => `[m + d_{ap} - d_{an}]_+ = [${f(margin)} + ${near} - ${far}]_+`,
  );

const softTriplet = (batch, { distance: kind }) =>
  overTriplets(
    batch,
    kind,
    (near, far) => softplus(sub(near, far)),
    (near, far) => `\\log(1 + e^{d_{ap} - d_{an}}) = \\log(1 + e^{${near} - ${far}})`,
    true,
  );

export const TRIPLET_LOSSES = {
  triplet,

  triplet_ratio: (batch, { margin, distance: kind }) =>
    overTriplets(
      batch,
      kind,
      (near, far) => relu(sub(1, div(far, add(near, margin)))),
      (near, far) =>
        `\\Big[1 - \\frac{d_{an}}{m + d_{ap}}\\Big]_+ = \\Big[1 - \\frac{${far}}{${f(margin)} + ${near}}\\Big]_+`,
    ),

  triplet_soft: softTriplet,

  batch_hard: (batch, params) => {
    const hardest = (a) => {
      const d = (i) => number(batch.d(a, i, params.distance));
      const farthest = batch.positives(a).reduce((p, i) => (d(i) > d(p) ? i : p));
      return [a, farthest, batch.negatives(a).reduce((n, i) => (d(i) < d(n) ? i : n))];
    };
    return {
      ...(params.margin === "soft" ? softTriplet : triplet)(batch, params),
      over: { ...TRIPLETS, every: () => WITH_BOTH.every(batch).map(([a]) => hardest(a)) },
    };
  },

  angular: (batch, { alpha }) => {
    const tangent = Math.tan((alpha * Math.PI) / 180) ** 2;
    const negatives = (a, p) =>
      batch.triplets?.filter((listed) => listed[0] === a && listed[1] === p).map((listed) => listed[2]) ??
      batch.negatives(a);
    const exponent = (a, p) => {
      const apart = negatives(a, p).map((n) => mul(4 * tangent, add(batch.s(a, n), batch.s(p, n))));
      return sub(lse(apart), mul(2 * (1 + tangent), batch.s(a, p)));
    };
    return {
      over: { ...POSITIVES, every: () => batch.positivePairs().filter((pair) => negatives(...pair).length) },
      smooth: true,
      term: (a, p) => softplus(exponent(a, p)),
      text: (a, p) => {
        const each = `e^{4\\cdot ${f(tangent)}\\,(s_{an}+s_{pn}) - 2\\cdot ${f(1 + tangent)}\\cdot ${f(batch.s(a, p))}}`;
        return `\\log\\Big(1+\\sum_n ${each}\\Big) = \\log(1 + ${f(Math.exp(exponent(a, p)))})`;
      },
    };
  },

  coupled_clusters: (batch, { margin }) => {
    const clusters = clustersOf(batch);
    return {
      over: WITH_BOTH,
      term: (a) => {
        const { mean } = clusters.find(({ label }) => label === batch.labels[a]);
        const nearest = min(batch.negatives(a).map((n) => distance(batch.points[n], mean)));
        return relu(add(margin, sub(distance(batch.points[a], mean), nearest)));
      },
    };
  },

  hard_cluster: (batch, { margin }) => {
    const clusters = clustersOf(batch);
    return {
      over: {
        every: () => clusters.filter(({ members }) => members.length > 1 && clusters.length > 1).map((own) => [own]),
      },
      term: (own) => {
        const widest = max(own.members.map((i) => distance(batch.points[i], own.mean, "sqeuclidean")));
        const others = clusters.filter((other) => other !== own);
        const nearest = min(others.map((other) => distance(own.mean, other.mean, "sqeuclidean")));
        return relu(add(margin, sub(widest, nearest)));
      },
    };
  },

  hierarchical_triplet: (batch, { beta, levels }) => {
    let tree = null;
    return {
      over: TRIPLETS,
      term: (a, p, n) => {
        tree ??= classTree(batch, levels);
        const apart = mul(2, sub(batch.d(a, p, "cosine"), batch.d(a, n, "cosine")));
        return relu(add(beta + tree(batch.labels[a], batch.labels[n]), apart));
      },
    };
  },
};

const clustersOf = (batch) =>
  batch.classes().map(({ label, members }) => ({ label, members, mean: mean(members.map((i) => batch.points[i])) }));

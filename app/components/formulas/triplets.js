// Losses on triplets; the same formulas as dmlviz/losses/triplets.py, clusters.py and hierarchical.py.
import { distance, hinge, mean, terms } from "./batch.js";
import { classTree } from "./tree.js";
import { add, div, exp, log, max, min, mul, relu, softplus, sub, sum } from "./tape.js";

/** One term for each triplet, of the distances to positive and negative. */
const overTriplets = (batch, params, term, smooth = false) =>
  terms(batch.triples().map(([a, p, n]) => term(batch.d(a, p, params.distance), batch.d(a, n, params.distance))), params, smooth);

const classesOf = (batch) =>
  [...new Set(batch.labels)].map((label) => {
    const members = batch.all.filter((i) => batch.labels[i] === label);
    return { label, members, mean: mean(members.map((i) => batch.points[i])) };
  });

export const TRIPLETS = {
  triplet: (batch, params) => overTriplets(batch, params, (near, far) => hinge(params.margin, sub(near, far))),

  triplet_ratio: (batch, params) =>
    overTriplets(batch, params, (near, far) => relu(sub(1, div(far, add(near, params.margin))))),

  triplet_soft: (batch, params) => overTriplets(batch, params, (near, far) => softplus(sub(near, far)), true),

  batch_hard: (batch, params) => {
    const soft = params.margin === "soft";
    const values = batch.complete().map((a) => {
      const farthest = max(batch.positives(a).map((p) => batch.d(a, p, params.distance)));
      const nearest = min(batch.negatives(a).map((n) => batch.d(a, n, params.distance)));
      return soft ? softplus(sub(farthest, nearest)) : hinge(params.margin, sub(farthest, nearest));
    });
    return terms(values, params, soft);
  },

  angular: (batch, params) => {
    const tangent = Math.tan((params.alpha * Math.PI) / 180) ** 2;
    const anchored = new Map();
    for (const [a, p, n] of batch.triples()) {
      const key = `${a} ${p}`;
      if (!anchored.has(key)) anchored.set(key, { a, p, negatives: [] });
      anchored.get(key).negatives.push(n);
    }
    const values = [...anchored.values()].map(({ a, p, negatives }) => {
      const together = mul(-2 * (1 + tangent), batch.s(a, p));
      return log(add(1, sum(negatives.map((n) => exp(add(mul(4 * tangent, add(batch.s(a, n), batch.s(p, n))), together))))));
    });
    return terms(values, params, true);
  },

  coupled_clusters: (batch, params) => {
    const classes = classesOf(batch);
    const values = batch.complete().map((i) => {
      const own = classes.find(({ label }) => label === batch.labels[i]).mean;
      const nearest = min(batch.negatives(i).map((n) => distance(batch.points[n], own)));
      return hinge(params.margin, sub(distance(batch.points[i], own), nearest));
    });
    return terms(values, params);
  },

  hard_cluster: (batch, params) => {
    const classes = classesOf(batch);
    const values = classes.filter(({ members }) => members.length > 1 && classes.length > 1).map((own) => {
      const widest = max(own.members.map((i) => distance(batch.points[i], own.mean, "sqeuclidean")));
      const others = classes.filter((other) => other !== own);
      const nearest = min(others.map((other) => distance(own.mean, other.mean, "sqeuclidean")));
      return hinge(params.margin, sub(widest, nearest));
    });
    return terms(values, params);
  },

  hierarchical_triplet: (batch, params) => {
    const margin = classTree(batch, params.levels);
    const values = batch.triples().map(([a, p, n]) => {
      const asked = params.beta + margin(batch.labels[a], batch.labels[n]);
      return hinge(asked, mul(2, sub(batch.d(a, p, "cosine"), batch.d(a, n, "cosine"))));
    });
    return terms(values, params);
  },
};

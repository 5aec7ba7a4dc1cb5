// Losses on pairs, one function of a batch and its parameters each; the same formulas as dmlviz/losses/pairs.py.
import { hinge, mean, terms } from "./batch.js";
import { abs, add, div, dot, log1mexp, lse, max, mul, number, relu, softplus, square, sub, sum } from "./tape.js";

/** One term for each pair: `near` of the pairs of one class, `far` of the others. */
function overPairs(batch, params, measure, near, far, { smooth = false, directed = false } = {}) {
  const values = batch.pairs(directed).map(([i, j]) => (batch.same(i, j) ? near : far)(measure(i, j)));
  return terms(values, params, smooth);
}

/** As `overPairs`, each side reduced by itself. */
function eachSide(batch, params, measure, near, far, directed = false) {
  const pairs = batch.pairs(directed);
  const of = (same, f) => terms(pairs.filter(([i, j]) => batch.same(i, j) === same).map(([i, j]) => f(measure(i, j))), params);
  return [of(true, near), of(false, far)];
}

export const PAIRS = {
  contrastive: (batch, params) =>
    overPairs(batch, params, (i, j) => batch.d(i, j),
      (d) => square(hinge(d, -params.pos_margin)), (d) => square(relu(sub(params.margin, d)))),

  contrastive_linear: (batch, params) =>
    eachSide(batch, params, (i, j) => batch.d(i, j, params.distance),
      (d) => hinge(d, -params.pos_margin), (d) => relu(sub(params.margin, d))),

  contrastive_double: (batch, params) =>
    overPairs(batch, params, (i, j) => batch.d(i, j, "sqeuclidean"),
      (d) => square(hinge(d, -params.pos_margin)), (d) => square(relu(sub(params.margin, d)))),

  contrastive_no_margin: (batch) =>
    overPairs(batch, {}, (i, j) => batch.d(i, j, "sqeuclidean"), (d) => d, (d) => mul(-1, d)),

  cosine_pair: (batch, params) =>
    overPairs(batch, params, (i, j) => batch.s(i, j), (s) => square(sub(1, s)), square),

  distance_logistic: (batch, params) => {
    const { margin } = params;
    const near = (d) => sub(softplus(sub(d, margin)), softplus(-margin));
    const far = (d) => sub(softplus(sub(margin, d)), log1mexp(number(d) < 1e-6 ? 1e-6 : d));
    return overPairs(batch, params, (i, j) => batch.d(i, j), near, far, { smooth: true });
  },

  snr_contrastive: (batch, params) => {
    const means = batch.points.map((point) => div(sum(point), point.length));
    const noise = batch.points.map((point, i) => point.map((x) => sub(x, means[i])));
    const variance = noise.map((part) => max([dot(part, part), 1e-12]));
    const ratio = (i, j) => div(sum(noise[i].map((x, k) => square(sub(x, noise[j][k])))), variance[i]);
    const penalty = mul(params.regularizer, mean(means.map((x) => [abs(x)]))[0]);
    const sides = eachSide(batch, params, ratio,
      (v) => hinge(v, -params.pos_margin), (v) => relu(sub(params.margin, v)), true);
    return [...sides, penalty];
  },

  margin: (batch, params) =>
    overPairs(batch, params, (i, j) => batch.d(i, j),
      (d) => hinge(d, params.alpha - params.beta), (d) => hinge(mul(-1, d), params.alpha + params.beta),
      { directed: params.per_class }),

  multi_similarity: (batch, params) => {
    const { alpha, beta, base } = params;
    const values = batch.all.map((a) => {
      const pull = lse(batch.positives(a).map((p) => mul(-alpha, sub(batch.s(a, p), base))));
      const push = lse(batch.negatives(a).map((n) => mul(beta, sub(batch.s(a, n), base))));
      return add(div(softplus(pull), alpha), div(softplus(push), beta));
    });
    return terms(values, params, true);
  },

  circle: (batch, params) => {
    const { margin, gamma } = params;
    const values = batch.complete().map((a) => {
      const push = batch.negatives(a).map((n) => {
        const s = batch.s(a, n);
        return mul(gamma * Math.max(number(s) + margin, 0), sub(s, margin));
      });
      const pull = batch.positives(a).map((p) => {
        const s = batch.s(a, p);
        return mul(-gamma * Math.max(1 + margin - number(s), 0), sub(s, 1 - margin));
      });
      return softplus(add(lse(push), lse(pull)));
    });
    return terms(values, params, true);
  },

  logistic_pair: (batch, params) => {
    const { gain = 10, bias = -5 } = params;
    const score = (i, j) => add(mul(gain, dot(batch.points[i], batch.points[j])), bias);
    return overPairs(batch, params, score, (o) => softplus(mul(-1, o)), softplus, { smooth: true });
  },

  /** Of the decision net only what it says, `score`, matters here: it learns what a distance cannot tell. */
  hinge_pair: (batch, params) =>
    overPairs(batch, params, () => batch.own.score, (o) => relu(sub(1, o)), (o) => hinge(1, o), { directed: true }),
};

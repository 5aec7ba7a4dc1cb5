// Losses with class weights; the same formulas as dmlviz/losses/proxies.py. `batch.own` holds what they learn:
// weights (a vector for each class, or several), bias, centers.
import { cosine, distance, mean, norm, terms } from "./batch.js";
import { add, div, dot, exp, lse, mul, number, sqrt, square, sub, sum } from "./tape.js";

/** Cross-entropy of the scores of each point with its label. */
const crossEntropy = (batch, scores) =>
  batch.points.map((point, i) => {
    const all = scores(point, batch.labels[i]);
    return sub(lse(all), all[batch.labels[i]]);
  });

const classified = (batch, scores) => terms(crossEntropy(batch, scores), {}, true);

const linear = (batch) => (point) => batch.own.weights.map((weight, c) => add(dot(weight, point), batch.own.bias?.[c] ?? 0));

const angleMargin = (batch, [m1, m2, m3], length) =>
  classified(batch, (point, label) =>
    batch.own.weights.map((weight, c) => {
      const s = cosine(point, weight);
      return mul(length(point, weight), c === label ? withMargin(s, m1, m2, m3) : s);
    }));

const DEFAULT_SCALE = ({ scale }) => () => scale;

export const PROXIES = {
  softmax: (batch) => classified(batch, linear(batch)),

  normalized_softmax: (batch, params) => angleMargin(batch, [1, 0, 0], DEFAULT_SCALE(params)),
  large_margin_softmax: (batch, params) =>
    angleMargin(batch, [params.margin, 0, 0], (point, weight) => mul(norm(point), norm(weight))),
  sphereface: (batch, params) => angleMargin(batch, [params.margin, 0, 0], norm),
  cosface: (batch, params) => angleMargin(batch, [1, 0, params.margin], DEFAULT_SCALE(params)),
  arcface: (batch, params) => angleMargin(batch, [1, params.margin, 0], DEFAULT_SCALE(params)),
  combined_margin: (batch, params) => angleMargin(batch, [params.m1, params.m2, params.m3], DEFAULT_SCALE(params)),

  proxy_nca: (batch, { scale }) =>
    classified(batch, (point) =>
      batch.own.weights.map((weight) => mul(-(scale ** 2), sub(2, mul(2, cosine(point, weight)))))),

  soft_triple: (batch, { la, gamma, margin, centers }) =>
    classified(batch, (point, label) => {
      const scores = [];
      for (let c = 0; c * centers < batch.own.weights.length; c++) {
        const near = batch.own.weights.slice(c * centers, (c + 1) * centers).map((weight) => cosine(point, weight));
        const total = lse(near.map((s) => div(s, gamma)));
        const similarity = sum(near.map((s) => mul(exp(sub(div(s, gamma), total)), s)));
        scores.push(mul(la, c === label ? sub(similarity, margin) : similarity));
      }
      return scores;
    }),

  center: (batch, { weight }) => {
    const entropies = crossEntropy(batch, linear(batch));
    const pulls = batch.points.map((point, i) => mul(weight, distance(point, batch.own.centers[batch.labels[i]], "sqeuclidean")));
    return terms(entropies.map((entropy, i) => add(entropy, pulls[i])), {}, true);
  },

  prototypical: (batch, params) => {
    const names = [...new Set(batch.labels)];
    const members = names.map((name) => batch.all.filter((i) => batch.labels[i] === name));
    const supports = members.map((all) => all.slice(0, Math.min(Math.max(all.length - 1, 1), params.support)));
    const prototypes = supports.map((some) => mean(some.map((i) => batch.points[i])));
    const values = batch.all.filter((i) => !supports.flat().includes(i)).map((i) => {
      const scores = prototypes.map((prototype) => mul(-1, distance(batch.points[i], prototype, params.distance)));
      return sub(lse(scores), scores[names.indexOf(batch.labels[i])]);
    });
    return terms(values, {}, true);
  },
};

/** cos(m₁θ + m₂) − m₃ of a cosine, continued so that it falls on all of 0 ≤ θ ≤ π. */
function withMargin(s, m1, m2, m3) {
  let [before, multiple] = [1, s]; // Chebyshev: cos((k−1)θ), cos(kθ)
  let [sineBefore, sine] = [0, 1]; // sin(kθ) / sinθ
  for (let k = 1; k < m1; k++) {
    [before, multiple] = [multiple, sub(mul(mul(2, s), multiple), before)];
    [sineBefore, sine] = [sine, sub(mul(mul(2, s), sine), sineBefore)];
  }
  let turned = multiple;
  if (m2) turned = sub(mul(Math.cos(m2), multiple), mul(Math.sin(m2), mul(sqrt(sub(1, square(s))), sine)));
  if (m1 === 1) return sub(number(s) > -Math.cos(m2) ? turned : sub(s, m2 * Math.sin(m2)), m3);
  let k = 0;
  for (let j = 1; j <= m1 + 1; j++) {
    const end = (j * Math.PI - m2) / m1;
    if (end <= Math.PI && number(s) <= Math.cos(end)) k += 1;
  }
  return sub(mul(1 - 2 * (k % 2), turned), 2 * k + m3);
}

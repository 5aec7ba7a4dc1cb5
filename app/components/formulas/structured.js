// Losses on the structure of a batch; the same formulas as dmlviz/losses/structured.py.
import { hinge, terms } from "./batch.js";
import { add, div, dot, lse, max, mul, number, relu, sigmoid, softplus, sqrt, square, sub, sum } from "./tape.js";

const once = (batch) => batch.positivePairs().filter(([i, j]) => i < j);

/** Each positive pair against all negatives of its anchor, as a softmax of scores. */
const againstNegatives = (batch, params, positive, negative) =>
  terms(
    batch.positivePairs().map(([a, p]) => softplus(sub(lse(batch.negatives(a).map((n) => negative(a, n))), positive(a, p)))),
    params,
    true,
  );

export const STRUCTURED = {
  nt_xent: (batch, params) => {
    const score = (i, j) => div(batch.s(i, j), params.temperature);
    return againstNegatives(batch, params, score, score);
  },

  tuple_hinge: (batch, params) =>
    terms(
      batch.positivePairs().map(([a, p]) =>
        hinge(params.margin, max(batch.negatives(a).map((n) => sub(batch.s(a, n), batch.s(a, p)))))),
      params,
    ),

  tuplet_margin: (batch, params) => {
    const angle = (params.beta * Math.PI) / 180;
    const relaxed = (s) => add(mul(Math.cos(angle), s), mul(Math.sin(angle), sqrt(sub(1, square(s)))));
    return againstNegatives(batch, params,
      (a, p) => mul(params.scale, relaxed(batch.s(a, p))), (a, n) => mul(params.scale, batch.s(a, n)));
  },

  lifted: (batch, params) => {
    const values = once(batch).map(([i, j]) => {
      const near = [i, j].flatMap((end) => batch.negatives(end).map((n) => sub(params.margin, batch.d(end, n))));
      const over = relu(add(lse(near), batch.d(i, j)));
      return params.squared ? div(square(over), 2) : over;
    });
    return terms(values, params);
  },

  lifted_hard: (batch, params) => {
    const values = once(batch).map(([i, j]) => {
      const near = [i, j].flatMap((end) => batch.negatives(end).map((n) => sub(params.margin, batch.d(end, n))));
      return relu(add(max(near), batch.d(i, j)));
    });
    return terms(values, params);
  },

  generalized_lifted: (batch, params) => {
    const values = batch.complete().map((a) =>
      hinge(lse(batch.positives(a).map((p) => batch.d(a, p))),
        lse(batch.negatives(a).map((n) => sub(params.margin, batch.d(a, n))))));
    return terms(values, params);
  },

  n_pairs: (batch, params) => {
    const order = [...batch.all].sort((i, j) => batch.labels[i] - batch.labels[j] || i - j);
    const pairs = [];
    for (let at = 0; at + 1 < order.length; ) {
      const [i, j] = [order[at], order[at + 1]];
      if (!batch.same(i, j)) at += 1;
      else {
        const round = pairs.filter(([a]) => batch.same(a, i)).length;
        pairs.push([i, j, round]);
        at += 2;
      }
    }
    const score = (i, j) => dot(batch.points[i], batch.points[j]);
    const values = pairs.map(([a, p, round]) =>
      sub(lse(pairs.filter((other) => other[2] === round).map(([, q]) => score(a, q))), score(a, p)));
    const lengths = pairs.map(([a, p]) => add(score(a, a), score(p, p)));
    return [terms(values, params, true), div(mul(params.l2 / 2, sum(lengths)), Math.max(pairs.length, 1))];
  },

  nca: (batch, params) => {
    const near = (i, j) => mul(-params.scale, batch.d(i, j, "sqeuclidean"));
    const values = batch.all.filter((a) => batch.positives(a).length).map((a) => {
      const odds = sub(lse(batch.negatives(a).map((n) => near(a, n))), lse(batch.positives(a).map((p) => near(a, p))));
      return params.log ? softplus(odds) : mul(-1, sigmoid(mul(-1, odds)));
    });
    return terms(values, params, params.log);
  },

  fastap: (batch, params) => {
    const { bins } = params;
    const values = batch.all.filter((a) => batch.positives(a).length).map((a) => {
      const [found, missed] = [batch.positives(a), batch.negatives(a)].map((others) => histogram(batch, a, others, bins));
      let [recalled, seen, average] = [0, 0, 0];
      for (let k = 0; k <= bins; k++) {
        recalled = add(recalled, found[k]);
        seen = add(seen, add(found[k], missed[k]));
        if (number(seen) > 0) average = add(average, div(mul(found[k], recalled), seen));
      }
      return sub(1, div(average, batch.positives(a).length));
    });
    return terms(values, params, true);
  },
};

/** Squared distances to `others` shared between the two nearest of bins + 1 edges from 0 to 4. */
function histogram(batch, a, others, bins) {
  const edges = Array(bins + 1).fill(0);
  for (const j of others) {
    const position = mul(bins / 2, batch.d(a, j, "cosine"));
    const lower = Math.max(Math.min(Math.floor(number(position)), bins - 1), 0);
    const share = sub(position, lower);
    edges[lower] = add(edges[lower], sub(1, share));
    edges[lower + 1] = add(edges[lower + 1], share);
  }
  return edges;
}

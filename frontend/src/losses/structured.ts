// @ts-nocheck
// Losses on the structure of a batch; the same formulas as dmlviz/losses/structured.py. What a loss is made of, see index.js.
import { figure as f, signed } from "./format.ts";
import { POSITIVES, POSITIVES_ONCE, WITH_BOTH, WITH_POSITIVE } from "./termDomains.ts";
import { add, div, lse, max, mul, number, relu, sigmoid, softplus, sqrt, square, sub, sum } from "./autodiff.ts";

/** Each positive pair against all negatives of its anchor, log(1 + Σ e^{negative − positive}), scores being of cosines. */
function againstNegatives(batch, positive, negative, symbols, exponent) {
  const negatives = (a) => batch.negatives(a).map((n) => negative(batch.s(a, n)));
  return {
    over: POSITIVES,
    smooth: true,
    term: (a, p) => softplus(sub(lse(negatives(a)), positive(batch.s(a, p)))),
    text: (a, p) => {
      const [first, ...rest] = negatives(a)
        .sort((x, y) => y - x)
        .map((score) => Math.exp(score - positive(batch.s(a, p))));
      const nearest = max(batch.negatives(a).map((n) => batch.s(a, n)));
      const largest = first === undefined ? "" : ` + e^{${exponent(nearest, batch.s(a, p))}}`;
      const others = rest.length ? ` + ${f(sum(rest))}` : "";
      return `${symbols} = \\log(1${largest}${others})`;
    },
    note: (a) =>
      `The first exponential is the nearest of ${batch.negatives(a).length} negatives, the last number the sum of the others.`,
  };
}

/** What is lifted: how far each negative of a is within the margin. */
const within = (batch, margin, a) => batch.negatives(a).map((n) => sub(margin, batch.d(a, n)));

export const STRUCTURED_LOSSES = {
  nt_xent: (batch, { temperature }) => {
    const score = (s) => div(s, temperature);
    return againstNegatives(
      batch,
      score,
      score,
      "\\log\\Big(1+\\sum_n e^{(s_{an}-s_{ap})/\\tau}\\Big)",
      (near, s) => `(${f(near)} - ${signed(s)})/${f(temperature)}`,
    );
  },

  tuple_hinge: (batch, { margin }) => {
    const nearest = (a) => max(batch.negatives(a).map((n) => batch.s(a, n)));
    return {
      over: POSITIVES,
      term: (a, p) => relu(add(margin, sub(nearest(a), batch.s(a, p)))),
      text: (a, p) =>
        `[\\max_n s_{an} - s_{ap} + m]_+ = [${f(nearest(a))} - ${signed(batch.s(a, p))} + ${f(margin)}]_+`,
    };
  },

  tuplet_margin: (batch, { beta, scale }) => {
    const angle = (beta * Math.PI) / 180;
    const relaxed = (s) => add(mul(Math.cos(angle), s), mul(Math.sin(angle), sqrt(sub(1, square(s)))));
    return againstNegatives(
      batch,
      (s) => mul(scale, relaxed(s)),
      (s) => mul(scale, s),
      "\\log\\Big(1+\\sum_n e^{s(\\cos\\theta_{an}-\\cos(\\theta_{ap}-\\beta))}\\Big)",
      (near, s) => `${f(scale)}(${f(near)} - ${signed(relaxed(s))})`,
    );
  },

  lifted: (batch, { margin, squared }) => {
    const near = (a) => lse(within(batch, margin, a));
    const lift = (i, j) => add(lse([near(i), near(j)]), batch.d(i, j));
    return {
      over: POSITIVES_ONCE,
      term: (i, j) => (squared ? div(square(relu(lift(i, j))), 2) : relu(lift(i, j))),
      text: (i, j) => {
        const [left, right, whole] = [Math.exp(near(i)), Math.exp(near(j)), lift(i, j)].map(f);
        const power = squared ? `\\tfrac12 [J]_+^2 = \\tfrac12 [${whole}]_+^2` : `[J]_+ = [${whole}]_+`;
        return `J = \\log(${left} + ${right}) + ${f(batch.d(i, j))} = ${whole},\\quad ${power}`;
      },
      note: () => "Under the logarithm: the sums over the negatives of either image.",
    };
  },

  lifted_hard: (batch, { margin }) => {
    const nearest = (a) => max(within(batch, margin, a));
    return {
      over: POSITIVES_ONCE,
      term: (i, j) => relu(add(max([nearest(i), nearest(j)]), batch.d(i, j))),
      text: (i, j) =>
        `[\\max_k(m - d_{ik},\\ m - d_{jk}) + d_{ij}]_+ = [\\max(${f(nearest(i))},\\ ${f(nearest(j))}) + ${f(batch.d(i, j))}]_+`,
    };
  },

  generalized_lifted: (batch, { margin }) => {
    const pull = (a) => lse(batch.positives(a).map((p) => batch.d(a, p)));
    const push = (a) => lse(within(batch, margin, a));
    return {
      over: WITH_BOTH,
      term: (a) => relu(add(pull(a), push(a))),
      text: (a) => `[\\log\\sum_p e^{d_{ap}} + \\log\\sum_n e^{m-d_{an}}]_+ = [${f(pull(a))} + ${signed(push(a))}]_+`,
    };
  },

  n_pairs: (batch, { l2 }) => {
    const order = [...batch.all].sort((i, j) => batch.labels[i] - batch.labels[j] || i - j);
    const pairs = [];
    for (let at = 0; at + 1 < order.length;) {
      const [i, j] = [order[at], order[at + 1]];
      if (!batch.same(i, j)) at += 1;
      else {
        const round = pairs.filter(([a]) => batch.same(a, i)).length;
        pairs.push([i, j, round]);
        at += 2;
      }
    }
    const lengths = pairs.map(([a, p]) => add(batch.dot(a, a), batch.dot(p, p)));
    return {
      over: { every: () => pairs },
      smooth: true,
      term: (a, p, round) =>
        sub(lse(pairs.filter((other) => other[2] === round).map(([, q]) => batch.dot(a, q))), batch.dot(a, p)),
      plus: div(mul(l2 / 2, sum(lengths)), Math.max(pairs.length, 1)),
    };
  },

  nca: (batch, { log, scale }) => {
    const near = (a, others) => lse(others.map((i) => mul(-scale, batch.d(a, i, "sqeuclidean"))));
    const sides = (a) => [near(a, batch.positives(a)), near(a, batch.negatives(a))];
    return {
      over: WITH_POSITIVE,
      smooth: log,
      term: (a) => {
        const [own, others] = sides(a);
        return log ? softplus(sub(others, own)) : mul(-1, sigmoid(sub(own, others)));
      },
      text: (a) => {
        const [own, others] = sides(a).map((exponent) => f(Math.exp(exponent)));
        return `p = \\frac{${own}}{${own} + ${others}},\\quad ${log ? "-\\log p" : "-p"}`;
      },
      note: () => "Sums of the neighbors' weights: of the own class above, of all below.",
    };
  },

  fastap: (batch, { bins }) => ({
    over: WITH_POSITIVE,
    smooth: true,
    term: (a) => {
      const [found, missed] = [batch.positives(a), batch.negatives(a)].map((others) =>
        histogram(batch, a, others, bins),
      );
      let [recalled, seen, average] = [0, 0, 0];
      for (let k = 0; k <= bins; k++) {
        recalled = add(recalled, found[k]);
        seen = add(seen, add(found[k], missed[k]));
        if (number(seen) > 0) average = add(average, div(mul(found[k], recalled), seen));
      }
      return sub(1, div(average, batch.positives(a).length));
    },
  }),
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

// @ts-nocheck
// Losses on pairs; the same formulas as dmlviz/losses/pairs.py. What a loss is made of, see index.js.
import { figure as f, signed } from "./format.ts";
import { ANCHORS, DIRECTED_PAIRS, PAIRS, WITH_BOTH } from "./termDomains.ts";
import {
  abs,
  add,
  div,
  dot,
  log1mexp,
  lse,
  max,
  mul,
  number,
  relu,
  softplus,
  square,
  squaredDistance,
  sub,
  sum,
} from "./autodiff.ts";

/** Hinges on a measure of pairs: `bounds` of an anchor are beyond what positives and below what negatives pay. */
function hinges(batch, measure, bounds, symbols, power = 1) {
  const up = power === 2 ? "^2" : "";
  const sides = (i, j) => {
    const [near, far] = bounds(i);
    return batch.same(i, j) ? [measure(i, j), near, symbols[0]] : [far, measure(i, j), symbols[1]];
  };
  return {
    over: PAIRS,
    term: (i, j) => {
      const [more, less] = sides(i, j);
      const hinge = relu(sub(more, less));
      return power === 2 ? square(hinge) : hinge;
    },
    text: (i, j) => {
      const [more, less, symbol] = sides(i, j);
      return `[${symbol}]_+${up} = [${f(more)} - ${f(less)}]_+${up}`;
    },
  };
}

/** log Σ e^x of a function x of the cosines of a and others. */
const lseOf = (batch, a, others, x) => lse(others.map((i) => x(batch.s(a, i))));

const margins =
  ({ pos_margin, margin }) =>
  () => [pos_margin, margin];
const SYMBOLS = ["d - m^+", "m - d"];

export const PAIR_LOSSES = {
  contrastive: (batch, params) => hinges(batch, (i, j) => batch.d(i, j), margins(params), SYMBOLS, 2),

  contrastive_linear: (batch, params) => ({
    ...hinges(batch, (i, j) => batch.d(i, j, params.distance), margins(params), SYMBOLS),
    apart: true,
  }),

  contrastive_double: (batch, params) =>
    hinges(batch, (i, j) => batch.d(i, j, "sqeuclidean"), margins(params), ["d^2 - m_1", "m_2 - d^2"], 2),

  contrastive_no_margin: (batch) => ({
    over: PAIRS,
    term: (i, j) => mul(batch.same(i, j) ? 1 : -1, batch.d(i, j, "sqeuclidean")),
    text: (i, j) => {
      const sign = batch.same(i, j) ? "" : "-";
      return `${sign}d^2 = ${sign}${f(batch.d(i, j))}^2`;
    },
  }),

  cosine_pair: (batch) => ({
    over: PAIRS,
    term: (i, j) => square(sub(batch.same(i, j) ? 1 : 0, batch.s(i, j))),
    text: (i, j) => `(y - s)^2 = (${batch.same(i, j) ? 1 : 0} - ${signed(batch.s(i, j))})^2`,
  }),

  distance_logistic: (batch, { margin }) => ({
    over: PAIRS,
    smooth: true,
    term: (i, j) => {
      const d = batch.d(i, j);
      if (batch.same(i, j)) return sub(softplus(sub(d, margin)), softplus(-margin));
      return sub(softplus(sub(margin, d)), log1mexp(number(d) < 1e-6 ? 1e-6 : d));
    },
    text: (i, j) => {
      const d = batch.d(i, j);
      const p = f(Math.exp(softplus(-margin) - softplus(d - margin)));
      const share = `p=\\frac{1+e^{-${f(margin)}}}{1+e^{${f(d)}-${f(margin)}}} = ${p}`;
      return `${share},\\quad -\\log ${batch.same(i, j) ? p : `(1 - ${p})`}`;
    },
  }),

  snr_contrastive: (batch, params) => {
    const means = batch.points.map((point) => div(sum(point), point.length));
    const noise = batch.points.map((point, i) => point.map((x) => sub(x, means[i])));
    const variance = noise.map((part) => max([dot(part, part), 1e-12]));
    const ratio = (i, j) => div(squaredDistance(noise[i], noise[j]), variance[i]);
    const penalty = div(sum(means.map(abs)), means.length);
    return {
      ...hinges(batch, ratio, margins(params), SYMBOLS),
      over: DIRECTED_PAIRS,
      apart: true,
      plus: mul(params.regularizer, penalty),
      text: null,
    };
  },

  margin: (batch, { alpha, beta, per_class }) => {
    const learned = batch.own.beta ?? [beta];
    const bounds = (i) => {
      const own = learned[learned.length > 1 ? batch.labels[i] : 0];
      return [own - alpha, own + alpha];
    };
    const symbols = ["d - (\\beta-\\alpha)", "(\\beta+\\alpha) - d"];
    return { ...hinges(batch, (i, j) => batch.d(i, j), bounds, symbols), over: per_class ? DIRECTED_PAIRS : PAIRS };
  },

  multi_similarity: (batch, { alpha, beta, base }) => {
    const pull = (a) => lseOf(batch, a, batch.positives(a), (s) => mul(-alpha, sub(s, base)));
    const push = (a) => lseOf(batch, a, batch.negatives(a), (s) => mul(beta, sub(s, base)));
    const log = (factor, exponent) => `\\frac{1}{${f(factor)}}\\log(1 + ${f(Math.exp(exponent))})`;
    return {
      over: ANCHORS,
      smooth: true,
      term: (a) => add(div(softplus(pull(a)), alpha), div(softplus(push(a)), beta)),
      text: (a) =>
        `\\frac1\\alpha\\log(1+\\sum_p) + \\frac1\\beta\\log(1+\\sum_n) = ${log(alpha, pull(a))} + ${log(beta, push(a))}`,
      note: (a) =>
        `The sums run over ${batch.positives(a).length} positives and ${batch.negatives(a).length} negatives of this anchor.`,
    };
  },

  /** The weights, which fall to 0 as a cosine becomes what it should be, are no part of the gradient. */
  circle: (batch, { margin, gamma }) => {
    const push = (a) =>
      lseOf(batch, a, batch.negatives(a), (s) => mul(gamma * relu(number(s) + margin), sub(s, margin)));
    const pull = (a) =>
      lseOf(batch, a, batch.positives(a), (s) => mul(-gamma * relu(1 + margin - number(s)), sub(s, 1 - margin)));
    return {
      over: WITH_BOTH,
      smooth: true,
      term: (a) => softplus(add(push(a), pull(a))),
      text: (a) =>
        `\\log(1 + \\sum_n e^{\\ldots}\\cdot\\sum_p e^{\\ldots}) = \\log(1 + e^{${f(push(a))}}\\cdot e^{${f(pull(a))}})`,
    };
  },

  logistic_pair: (batch) => {
    const { gain = 10, bias = -5 } = batch.own;
    const odds = (i, j) => add(mul(gain, batch.dot(i, j)), bias);
    return {
      over: PAIRS,
      smooth: true,
      term: (i, j) => softplus(mul(batch.same(i, j) ? -1 : 1, odds(i, j))),
      text: (i, j) => {
        const o = odds(i, j);
        return `\\log(1+e^{-y\\,o}) = \\log(1+e^{${batch.same(i, j) ? `-${signed(o)}` : f(o)}})`;
      },
    };
  },

  /** Of the decision net only what it says, `score`, matters here: it learns what a distance cannot tell. */
  hinge_pair: (batch) => ({
    over: DIRECTED_PAIRS,
    term: (i, j) => relu(sub(1, mul(batch.same(i, j) ? 1 : -1, batch.own.score))),
  }),
};

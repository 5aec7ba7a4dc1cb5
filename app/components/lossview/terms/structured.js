// Losses on the structure of a batch: a positive pair against all negatives, or all pairs of an anchor at once.
import { figure as f } from "../math.js";
import { hinge, logsumexp, partners, softplus } from "./numbers.js";

const s = (b, i, j) => b.space.cosine(i, j);
const d = (b, i, j) => b.space.euclidean(i, j);

/** A softmax over the negatives of an anchor: log(1 + Σ e^{score(an) − score(ap)}). */
function againstAll(negative, positive, inside) {
  const gaps = (b, [a, p]) => partners(b, a).negatives.map((n) => negative(b, a, n) - positive(b, a, p));
  return {
    unit: "positive",
    value: (b, row) => softplus(logsumexp(gaps(b, row))),
    latex(b, row) {
      const all = gaps(b, row).sort((x, y) => y - x);
      const rest = all.slice(1).reduce((sum, gap) => sum + Math.exp(gap), 0);
      const [a, p] = row;
      const strongest = partners(b, a).negatives.reduce((best, n) => (s(b, a, n) > s(b, a, best) ? n : best));
      const tail = all.length > 1 ? ` + ${f(rest)}` : "";
      return `${inside[0]} = \\log(1 + e^{${inside[1](b, s(b, a, strongest), s(b, a, p))}}${tail})`;
    },
    note: (b, [a]) => `The first exponential is the nearest of ${partners(b, a).negatives.length} negatives, the last number the sum of the others.`,
  };
}

export const STRUCTURED = {
  nt_xent: againstAll(
    (b, a, n) => s(b, a, n) / b.params.temperature,
    (b, a, p) => s(b, a, p) / b.params.temperature,
    [
      "\\log\\Big(1+\\sum_n e^{(s_{an}-s_{ap})/\\tau}\\Big)",
      (b, n, p) => `(${f(n)} - ${signed(p)})/${f(b.params.temperature)}`,
    ],
  ),
  tuplet_margin: againstAll(
    (b, a, n) => b.params.scale * s(b, a, n),
    (b, a, p) => b.params.scale * relaxed(s(b, a, p), b.params.beta),
    [
      "\\log\\Big(1+\\sum_n e^{s(\\cos\\theta_{an}-\\cos(\\theta_{ap}-\\beta))}\\Big)",
      (b, n, p) => `${f(b.params.scale)}(${f(n)} - ${signed(relaxed(p, b.params.beta))})`,
    ],
  ),
  tuple_hinge: {
    unit: "positive",
    value: (b, [a, p]) => hinge(Math.max(...partners(b, a).negatives.map((n) => s(b, a, n))) - s(b, a, p) + b.params.margin),
    latex(b, [a, p]) {
      const most = Math.max(...partners(b, a).negatives.map((n) => s(b, a, n)));
      return `[\\max_n s_{an} - s_{ap} + m]_+ = [${f(most)} - ${signed(s(b, a, p))} + ${f(b.params.margin)}]_+`;
    },
  },
  lifted: {
    unit: "pair of a class",
    value(b, row) {
      const j = hinge(lift(b, row));
      return b.params.squared ? j ** 2 / 2 : j;
    },
    latex(b, [i, j]) {
      const [left, right] = [i, j].map((a) => Math.exp(logsumexp(partners(b, a).negatives.map((k) => b.params.margin - d(b, a, k)))));
      const whole = f(lift(b, [i, j]));
      const power = b.params.squared ? `\\tfrac12 [J]_+^2 = \\tfrac12 [${whole}]_+^2` : `[J]_+ = [${whole}]_+`;
      return `J = \\log(${f(left)} + ${f(right)}) + ${f(d(b, i, j))} = ${whole},\\quad ${power}`;
    },
    note: () => "Under the logarithm: the sums over the negatives of either image.",
  },
  lifted_hard: {
    unit: "pair of a class",
    value: (b, [i, j]) => hinge(Math.max(push(b, i), push(b, j)) + d(b, i, j)),
    latex: (b, [i, j]) =>
      `[\\max_k(m - d_{ik},\\ m - d_{jk}) + d_{ij}]_+ = [\\max(${f(push(b, i))},\\ ${f(push(b, j))}) + ${f(d(b, i, j))}]_+`,
  },
  generalized_lifted: {
    unit: "anchor",
    value: (b, [a]) => hinge(pulls(b, a) + pushes(b, a)),
    latex: (b, [a]) =>
      `[\\log\\sum_p e^{d_{ap}} + \\log\\sum_n e^{m-d_{an}}]_+ = [${f(pulls(b, a))} + ${signed(pushes(b, a))}]_+`,
  },
  multi_similarity: {
    unit: "every anchor",
    value(b, [a]) {
      const { alpha, beta } = b.params;
      return softplus(similar(b, a, -alpha, "positives")) / alpha + softplus(similar(b, a, beta, "negatives")) / beta;
    },
    latex(b, [a]) {
      const { alpha, beta } = b.params;
      const [near, far] = [similar(b, a, -alpha, "positives"), similar(b, a, beta, "negatives")].map(Math.exp);
      const log = (factor, sum) => `\\frac{1}{${f(factor)}}\\log(1 + ${f(sum)})`;
      return `\\frac1\\alpha\\log(1+\\sum_p) + \\frac1\\beta\\log(1+\\sum_n) = ${log(alpha, near)} + ${log(beta, far)}`;
    },
    note: (b, [a]) => `The sums run over ${partners(b, a).positives.length} positives and ${partners(b, a).negatives.length} negatives of this anchor.`,
  },
  circle: {
    unit: "anchor",
    value: (b, [a]) => softplus(circled(b, a).push + circled(b, a).pull),
    latex(b, [a]) {
      const { push: far, pull: near } = circled(b, a);
      return `\\log(1 + \\sum_n e^{\\ldots}\\cdot\\sum_p e^{\\ldots}) = \\log(1 + e^{${f(far)}}\\cdot e^{${f(near)}})`;
    },
  },
  nca: {
    unit: "positive anchor",
    value(b, [a]) {
      const p = 1 / (1 + Math.exp(near(b, a, "negatives") - near(b, a, "positives")));
      return b.params.log ? softplus(near(b, a, "negatives") - near(b, a, "positives")) : -p;
    },
    latex(b, [a]) {
      const [own, others] = ["positives", "negatives"].map((side) => Math.exp(near(b, a, side)));
      const p = `p = \\frac{${f(own)}}{${f(own)} + ${f(others)}}`;
      return b.params.log ? `${p},\\quad -\\log p` : `${p},\\quad -p`;
    },
    note: () => "Sums of the neighbours' weights: of the own class above, of all below.",
  },
};

const relaxed = (cosine, beta) => Math.cos(Math.acos(Math.max(-1, Math.min(1, cosine))) - (beta * Math.PI) / 180);
const push = (b, i) => Math.max(...partners(b, i).negatives.map((k) => b.params.margin - d(b, i, k)));
const lift = (b, [i, j]) =>
  logsumexp([i, j].flatMap((a) => partners(b, a).negatives.map((k) => b.params.margin - d(b, a, k)))) + d(b, i, j);
const pulls = (b, a) => logsumexp(partners(b, a).positives.map((p) => d(b, a, p)));
const pushes = (b, a) => logsumexp(partners(b, a).negatives.map((n) => b.params.margin - d(b, a, n)));
const similar = (b, a, factor, side) => logsumexp(partners(b, a)[side].map((i) => factor * (s(b, a, i) - b.params.base)));
const near = (b, a, side) => logsumexp(partners(b, a)[side].map((i) => -b.params.scale * b.space.sqeuclidean(a, i)));
const signed = (value) => (value < 0 ? `(${f(value)})` : f(value));

function circled(b, a) {
  const { margin, gamma } = b.params;
  const { positives, negatives } = partners(b, a);
  return {
    push: logsumexp(negatives.map((n) => gamma * hinge(s(b, a, n) + margin) * (s(b, a, n) - margin))),
    pull: logsumexp(positives.map((p) => -gamma * hinge(1 + margin - s(b, a, p)) * (s(b, a, p) - 1 + margin))),
  };
}

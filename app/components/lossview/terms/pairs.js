// Losses that are a sum over pairs: each term from the pair's own distance.
import { figure as f } from "../math.js";
import { hinge, mean, softplus, weight } from "./numbers.js";

const euclid = (b, i, j) => b.space.euclidean(i, j);
const square = (b, i, j) => b.space.sqeuclidean(i, j);
const cosine = (b, i, j) => b.space.cosine(i, j);

/** A hinge on a distance: power 1 or 2, margins `near` (positives) and `far` (negatives). */
function margins(measure, power, names) {
  const up = power === 2 ? "^2" : "";
  return {
    unit: "pair",
    value(b, [i, j]) {
      const [near, far] = names(b, i);
      const d = measure(b, i, j);
      return hinge(b.labels[i] === b.labels[j] ? d - near : far - d) ** power;
    },
    latex(b, [i, j]) {
      const [near, far, symbols] = names(b, i);
      const d = measure(b, i, j);
      const positive = b.labels[i] === b.labels[j];
      const numbers = positive ? `${f(d)} - ${f(near)}` : `${f(far)} - ${f(d)}`;
      return `[${positive ? symbols[0] : symbols[1]}]_+${up} = [${numbers}]_+${up}`;
    },
  };
}

const simple = (value, latex) => ({ unit: "pair", value, latex });
const byMargins = (b) => [b.params.pos_margin, b.params.margin, ["d - m^+", "m - d"]];
const bySide = (values, rows, b) => {
  const side = (same) => values.filter((_, k) => (b.labels[rows[k][0]] === b.labels[rows[k][1]]) === same);
  return mean(side(true), b) + mean(side(false), b);
};

export const PAIRS = {
  contrastive: margins(euclid, 2, byMargins),
  contrastive_linear: {
    ...margins((b, i, j) => b.space.between(b.params.distance, i, j), 1, byMargins),
    reduced: bySide,
  },
  contrastive_double: margins(square, 2, (b) => [b.params.pos_margin, b.params.margin, ["d^2 - m_1", "m_2 - d^2"]]),
  contrastive_no_margin: simple(
    (b, [i, j]) => (b.labels[i] === b.labels[j] ? 1 : -1) * square(b, i, j),
    (b, [i, j]) => {
      const sign = b.labels[i] === b.labels[j] ? "" : "-";
      return `${sign}d^2 = ${sign}${f(euclid(b, i, j))}^2`;
    },
  ),
  cosine_pair: simple(
    (b, [i, j]) => ((b.labels[i] === b.labels[j] ? 1 : 0) - cosine(b, i, j)) ** 2,
    (b, [i, j]) => `(y - s)^2 = (${b.labels[i] === b.labels[j] ? 1 : 0} - ${signed(cosine(b, i, j))})^2`,
  ),
  distance_logistic: simple(
    (b, [i, j]) => {
      const [d, m] = [euclid(b, i, j), b.params.margin];
      if (b.labels[i] === b.labels[j]) return softplus(d - m) - softplus(-m);
      return softplus(m - d) - Math.log(-Math.expm1(-Math.max(d, 1e-6)));
    },
    (b, [i, j]) => {
      const [d, m] = [euclid(b, i, j), b.params.margin];
      const p = Math.exp(softplus(-m) - softplus(d - m));
      const share = `p=\\frac{1+e^{-${f(m)}}}{1+e^{${f(d)}-${f(m)}}} = ${f(p)}`;
      return b.labels[i] === b.labels[j] ? `${share},\\quad -\\log ${f(p)}` : `${share},\\quad -\\log(1 - ${f(p)})`;
    },
  ),
  margin: margins(euclid, 1, (b, i) => {
    const beta = betaOf(b, i);
    return [beta - b.params.alpha, beta + b.params.alpha, ["d - (\\beta-\\alpha)", "(\\beta+\\alpha) - d"]];
  }),
  logistic_pair: simple(
    (b, [i, j]) => softplus((b.labels[i] === b.labels[j] ? -1 : 1) * odds(b, i, j)),
    (b, [i, j]) => {
      const sign = b.labels[i] === b.labels[j] ? "-" : "";
      const o = odds(b, i, j);
      return `\\log(1+e^{-y\\,o}) = \\log(1+e^{${sign}${sign && o < 0 ? signed(o) : f(o)}})`;
    },
  ),
};

function betaOf(b, i) {
  const beta = weight(b, "beta");
  return beta ? beta[beta.length > 1 ? b.own[i] : 0] : b.params.beta;
}

const odds = (b, i, j) => weight(b, "gain")[0] * b.space.dot(i, j) + weight(b, "bias")[0];

const signed = (value) => (value < 0 ? `(${f(value)})` : f(value));

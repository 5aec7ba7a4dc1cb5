// Losses with class weights: cross-entropy of an image's scores, the own class's made worse by a margin.
import { figure as f } from "../math.js";
import { logsumexp, weight } from "./numbers.js";

/** Cross-entropy: `scores(b, i)` gives the numbers in the exponents, `own(b, i, value)` how the own one is written. */
function entropy(scores, own, more = null) {
  return {
    unit: "image",
    value(b, [i]) {
      const all = scores(b, i);
      return logsumexp(all) - all[b.own[i]] + (more?.value(b, i) ?? 0);
    },
    latex(b, [i]) {
      const all = scores(b, i);
      const label = b.own[i];
      const top = all[label];
      const p = Math.exp(top - logsumexp(all));
      const others = all.map((score, c) => [score, c]).filter(([score, c]) => c !== label && score > -Infinity);
      const [most] = others.reduce((best, pair) => (pair[0] > best[0] ? pair : best), [-Infinity]);
      const rest = others.length > 1 ? " + \\cdots" : "";
      return `${own(b, i, top)},\\quad -\\log\\frac{e^{${f(top)}}}{e^{${f(top)}} + e^{${f(most)}}${rest}} = -\\log ${f(p)}${more?.latex(b, i) ?? ""}`;
    },
    note: () => "Below the fraction: the own class, the strongest other class, and the rest.",
  };
}

const classes = (b) => b.learned.weight.shape[0];
const lengthOf = (values, from, d) => Math.hypot(...values.subarray(from, from + d));

/** f · w_c of every weight vector. */
function products(b, i) {
  const { values } = b.learned.weight;
  const d = b.space.d;
  return Array.from({ length: classes(b) }, (_, c) => {
    let sum = 0;
    for (let k = 0; k < d; k++) sum += b.space.rows[i * d + k] * values[c * d + k];
    return sum;
  });
}

function cosines(b, i) {
  const { values } = b.learned.weight;
  const d = b.space.d;
  return products(b, i).map((product, c) => product / (b.space.lengths[i] * lengthOf(values, c * d, d) || 1));
}

const angle = (cosine) => Math.acos(Math.max(-1, Math.min(1, cosine)));

/** cos(m₁θ + m₂) − m₃, continued so that it keeps falling; see with_margin in dmlviz/losses/class_weights.py. */
export function withMargin(cosine, m1, m2, m3) {
  const theta = angle(cosine);
  if (m1 === 1) return (theta + m2 < Math.PI ? Math.cos(theta + m2) : cosine - m2 * Math.sin(m2)) - m3;
  let k = 0;
  for (let j = 1; j <= m1 + 1; j++) {
    const end = (j * Math.PI - m2) / m1;
    if (end <= Math.PI && cosine <= Math.cos(end)) k += 1;
  }
  return (k % 2 ? -1 : 1) * Math.cos(m1 * theta + m2) - 2 * k - m3;
}

/** Scores of length · cosine, with the own class's angle or cosine changed. */
function margined(length, margins) {
  return (b, i) =>
    cosines(b, i).map((cosine, c) =>
      length(b, i, c) * (c === b.own[i] ? withMargin(cosine, ...margins(b.params)) : cosine));
}

const scale = (b) => b.params.scale;
const own = (b, i) => f((angle(cosines(b, i)[b.own[i]]) * 180) / Math.PI);
const degrees = (radians) => f((radians * 180) / Math.PI);
const long = (b, i) => b.space.lengths[i];
const times = (b, i, top, m) => `\\theta_y = ${own(b, i)}°,\\quad ${f(long(b, i))}\\,\\psi(\\theta_y) = ${f(top)}`;

const linear = (b, i) => products(b, i).map((product, c) => product + weight(b, "bias")[c]);

export const PROXIES = {
  softmax: entropy(linear, (b, i, top) => `w_y\\cdot f + b_y = ${f(top)}`),
  center: entropy(linear, (b, i, top) => `w_y\\cdot f + b_y = ${f(top)}`, {
    value: (b, i) => b.params.weight * toCentre(b, i),
    latex: (b, i) => `,\\quad \\lambda\\|f - c_y\\|^2 = ${f(b.params.weight)}\\cdot ${f(toCentre(b, i))}`,
  }),
  normalized_softmax: entropy(
    (b, i) => cosines(b, i).map((cosine) => scale(b) * cosine),
    (b, i, top) => `\\theta_y = ${own(b, i)}°,\\quad ${f(scale(b))}\\cos\\theta_y = ${f(top)}`,
  ),
  cosface: entropy(
    margined(scale, ({ margin }) => [1, 0, margin]),
    (b, i, top) =>
      `\\theta_y = ${own(b, i)}°,\\quad ${f(scale(b))}(\\cos ${own(b, i)}° - ${f(b.params.margin)}) = ${f(top)}`,
  ),
  arcface: entropy(
    margined(scale, ({ margin }) => [1, margin, 0]),
    (b, i, top) =>
      `\\theta_y = ${own(b, i)}°,\\quad ${f(scale(b))}\\cos(${own(b, i)}° + ${degrees(b.params.margin)}°) = ${f(top)}`,
  ),
  combined_margin: entropy(
    margined(scale, ({ m1, m2, m3 }) => [m1, m2, m3]),
    (b, i, top) => {
      const { m1, m2, m3 } = b.params;
      return `\\theta_y = ${own(b, i)}°,\\quad ${f(scale(b))}(\\cos(${m1}\\cdot ${own(b, i)}° + ${degrees(m2)}°) - ${f(m3)}) = ${f(top)}`;
    },
  ),
  sphereface: entropy(margined(long, ({ margin }) => [margin, 0, 0]), times),
  large_margin_softmax: entropy(
    margined((b, i, c) => long(b, i) * lengthOf(b.learned.weight.values, c * b.space.d, b.space.d), ({ margin }) => [margin, 0, 0]),
    (b, i, top) => `\\theta_y = ${own(b, i)}°,\\quad \\|w_y\\|\\|f\\|\\psi(\\theta_y) = ${f(top)}`,
  ),
  proxy_nca: entropy(
    (b, i) => cosines(b, i).map((cosine) => -(scale(b) ** 2) * (2 - 2 * cosine)),
    (b, i, top) => `-\\|\\tilde f - \\tilde p_y\\|^2 = ${f(top)}`,
  ),
  soft_triple: entropy(
    (b, i) => {
      const { centers, gamma, la, margin } = b.params;
      const all = cosines(b, i);
      return Array.from({ length: all.length / centers }, (_, c) => {
        const part = all.slice(c * centers, (c + 1) * centers);
        const most = Math.max(...part);
        const share = part.map((cosine) => Math.exp((cosine - most) / gamma));
        const whole = share.reduce((x, y) => x + y, 0);
        const similarity = part.reduce((sum, cosine, k) => sum + (share[k] / whole) * cosine, 0);
        return la * (similarity - (c === b.own[i] ? margin : 0));
      });
    },
    (b, i, top) => `\\lambda(S_y - \\delta) = ${f(top)}`,
  ),
};

function toCentre(b, i) {
  const { values } = b.learned.centers;
  const d = b.space.d;
  let sum = 0;
  for (let k = 0; k < d; k++) sum += (b.space.rows[i * d + k] - values[b.own[i] * d + k]) ** 2;
  return sum;
}

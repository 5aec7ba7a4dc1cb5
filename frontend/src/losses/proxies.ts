// @ts-nocheck
// Losses with class weights; the same formulas as dmlviz/losses/proxies.py. What a loss is made of, see index.js.
// `batch.own` holds what they learn: weight (a vector for each class, or several), bias, centers; labels number its rows.
import { direction, distance, mean, norm } from "./batch.ts";
import { figure as f } from "./format.ts";
import { IMAGES } from "./termDomains.ts";
import { add, div, dot, exp, lse, mul, number, sqrt, square, sub, sum } from "./autodiff.ts";

/** Cross-entropy of an image's scores with its label; `own` writes how the score of its own class came about. */
function entropy(batch, scores, own) {
  return {
    over: IMAGES,
    smooth: true,
    term: (i) => {
      const all = scores(i);
      return sub(lse(all), all[batch.labels[i]]);
    },
    text: (i) => {
      const all = scores(i);
      const [top] = all.splice(batch.labels[i], 1);
      const p = f(Math.exp(top - lse([top, ...all])));
      const rest = all.length > 1 ? " + \\cdots" : "";
      const [first, most] = [top, Math.max(...all)].map((score) => `e^{${f(score)}}`);
      return `${own(i, f(top))},\\quad -\\log\\frac{${first}}{${first} + ${most}${rest}} = -\\log ${p}`;
    },
    note: () => "Below the fraction: the own class, the strongest other class, and the rest.",
  };
}

/** The cosines of an image with every weight. */
function cosinesOf(batch) {
  const [images, weights] = [batch.points, batch.own.weight].map((points) => points.map(direction));
  return (i) => weights.map((weight) => dot(images[i], weight));
}

const degrees = (radians) => `${f((radians * 180) / Math.PI)}°`;

/**
 * Scores of length · cosine, that of the own class made worse by margins [m₁, m₂, m₃]; `own` writes it of an angle. The
 * margins are told, too: they decide where on the circle a class wins.
 */
function onAngles(batch, margins, length, own) {
  const cosines = cosinesOf(batch);
  const scores = (i) =>
    cosines(i).map((s, c) => mul(length(i, c), c === batch.labels[i] ? withMargin(s, ...margins) : s));
  const theta = (i) => degrees(Math.acos(Math.max(-1, Math.min(1, cosines(i)[batch.labels[i]]))));
  return {
    ...entropy(batch, scores, (i, top) => `\\theta_y = ${theta(i)},\\quad ${own(theta(i), i)} = ${top}`),
    margins,
  };
}

const linear = (batch) => (i) =>
  batch.own.weight.map((weight, c) => add(dot(weight, batch.points[i]), batch.own.bias?.[c] ?? 0));

const softmax = (batch) => entropy(batch, linear(batch), (_, top) => `w_y\\cdot f + b_y = ${top}`);

export const PROXY_LOSSES = {
  softmax,

  center: (batch, { weight }) => {
    const { term, text, ...rest } = softmax(batch);
    const away = (i) => distance(batch.points[i], batch.own.centers[batch.labels[i]], "sqeuclidean");
    return {
      ...rest,
      term: (i) => add(term(i), mul(weight, away(i))),
      text: (i) => `${text(i)},\\quad \\lambda\\|f - c_y\\|^2 = ${f(weight)}\\cdot ${f(away(i))}`,
    };
  },

  normalized_softmax: (batch, { scale }) =>
    onAngles(
      batch,
      [1, 0, 0],
      () => scale,
      () => `${f(scale)}\\cos\\theta_y`,
    ),

  cosface: (batch, { scale, margin }) =>
    onAngles(
      batch,
      [1, 0, margin],
      () => scale,
      (theta) => `${f(scale)}(\\cos ${theta} - ${f(margin)})`,
    ),

  arcface: (batch, { scale, margin }) =>
    onAngles(
      batch,
      [1, margin, 0],
      () => scale,
      (theta) => `${f(scale)}\\cos(${theta} + ${degrees(margin)})`,
    ),

  combined_margin: (batch, { scale, m1, m2, m3 }) =>
    onAngles(
      batch,
      [m1, m2, m3],
      () => scale,
      (theta) => `${f(scale)}(\\cos(${m1}\\cdot ${theta} + ${degrees(m2)}) - ${f(m3)})`,
    ),

  sphereface: (batch, { margin }) => {
    const length = (i) => norm(batch.points[i]);
    return onAngles(batch, [margin, 0, 0], length, (_, i) => `${f(length(i))}\\,\\psi(\\theta_y)`);
  },

  large_margin_softmax: (batch, { margin }) => ({
    ...onAngles(
      batch,
      [margin, 0, 0],
      (i, c) => mul(norm(batch.points[i]), norm(batch.own.weight[c])),
      () => "\\|w_y\\|\\|f\\|\\psi(\\theta_y)",
    ),
    margins: null, // a long weight wins, too
  }),

  proxy_nca: (batch, { scale }) => {
    const cosines = cosinesOf(batch);
    const scores = (i) => cosines(i).map((s) => mul(-(scale ** 2), sub(2, mul(2, s))));
    return { ...entropy(batch, scores, (_, top) => `-\\|\\tilde f - \\tilde p_y\\|^2 = ${top}`), margins: [1, 0, 0] };
  },

  soft_triple: (batch, { la, gamma, margin, centers }) => {
    const cosines = cosinesOf(batch);
    const scores = (i) => {
      const all = cosines(i);
      return Array.from({ length: all.length / centers }, (_, c) => {
        const near = all.slice(c * centers, (c + 1) * centers);
        const total = lse(near.map((s) => div(s, gamma)));
        const similarity = sum(near.map((s) => mul(exp(sub(div(s, gamma), total)), s)));
        return mul(la, c === batch.labels[i] ? sub(similarity, margin) : similarity);
      });
    };
    return entropy(batch, scores, (_, top) => `\\lambda(S_y - \\delta) = ${top}`);
  },

  prototypical: (batch, { support, distance: kind }) => {
    const classes = batch.classes();
    const supports = classes.map(({ members }) => members.slice(0, Math.min(Math.max(members.length - 1, 1), support)));
    const prototypes = supports.map((some) => mean(some.map((i) => batch.points[i])));
    return {
      over: { every: () => batch.all.filter((i) => !supports.flat().includes(i)).map((i) => [i]) },
      smooth: true,
      term: (i) => {
        const scores = prototypes.map((prototype) => mul(-1, distance(batch.points[i], prototype, kind)));
        return sub(lse(scores), scores[classes.findIndex(({ label }) => label === batch.labels[i])]);
      },
    };
  },
};

/** cos(m₁θ + m₂) − m₃ of a cosine, continued so that it falls on all of 0 ≤ θ ≤ π. */
export function withMargin(s, m1, m2, m3) {
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

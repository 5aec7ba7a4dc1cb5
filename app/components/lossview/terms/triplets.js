// Losses on triplets: an anchor's distance to a positive against that to a negative.
import { figure as f } from "../math.js";
import { hinge, softplus } from "./numbers.js";

const sides = (b, [a, p, n]) => {
  const measure = b.params.distance ?? "euclidean";
  return [b.space.between(measure, a, p), b.space.between(measure, a, n)];
};

const of = (value, latex) => ({
  unit: "triplet",
  value: (b, row) => value(b, ...sides(b, row)),
  latex: (b, row) => latex(b, ...sides(b, row)),
});

const soft = of(
  (b, near, far) => softplus(near - far),
  (b, near, far) => `\\log(1 + e^{d_{ap} - d_{an}}) = \\log(1 + e^{${f(near)} - ${f(far)}})`,
);
const hard = of(
  (b, near, far) => hinge(b.params.margin + near - far),
  (b, near, far) => `[m + d_{ap} - d_{an}]_+ = [${f(b.params.margin)} + ${f(near)} - ${f(far)}]_+`,
);
const either = (b) => (typeof b.params.margin === "string" ? soft : hard);

export const TRIPLETS = {
  triplet: hard,
  triplet_soft: soft,
  triplet_ratio: of(
    (b, near, far) => hinge(1 - far / (b.params.margin + near)),
    (b, near, far) =>
      `\\Big[1 - \\frac{d_{an}}{m + d_{ap}}\\Big]_+ = \\Big[1 - \\frac{${f(far)}}{${f(b.params.margin)} + ${f(near)}}\\Big]_+`,
  ),
  batch_hard: {
    unit: "triplet",
    value: (b, row) => either(b).value(b, row),
    latex: (b, row) => either(b).latex(b, row),
  },
  angular: {
    unit: "positive",
    value: (b, row) => Math.log1p(Math.exp(wide(b, row))),
    latex(b, row) {
      const [a, p] = row;
      const t = Math.tan((b.params.alpha * Math.PI) / 180) ** 2;
      const apart = `e^{4\\cdot ${f(t)}\\,(s_{an}+s_{pn}) - 2\\cdot ${f(1 + t)}\\cdot ${f(b.space.cosine(a, p))}}`;
      return `\\log\\Big(1+\\sum_n ${apart}\\Big) = \\log(1 + ${f(Math.exp(wide(b, row)))})`;
    },
  },
};

/** Log of the sum over the negatives in the angular loss: all of the batch, or those listed with the pair. */
function wide(b, [a, p]) {
  const t = Math.tan((b.params.alpha * Math.PI) / 180) ** 2;
  const chosen = b.seen.by === "selection" && b.rows.filter((row) => row[0] === a && row[1] === p).map((row) => row[2]);
  const negatives = chosen || b.labels.map((_, i) => i).filter((i) => b.labels[i] !== b.labels[a]);
  const sum = negatives.reduce((total, n) => total + Math.exp(4 * t * (b.space.cosine(a, n) + b.space.cosine(p, n))), 0);
  return Math.log(sum) - 2 * (1 + t) * b.space.cosine(a, p);
}

// @ts-nocheck
// Every loss on a few points: its value, its terms with their numbers, and its gradient on each point.
//
// A loss is a function of a batch and the loss's parameters that tells {over, term, smooth, apart, plus, text, note}:
// what it has one term for (see items.js) and the `term` of such an item; whether terms are `smooth` and never reach 0;
// whether pairs of one class and others are averaged `apart`; a number `plus` what it comes to beside its terms. `text`
// is the formula of a term in LaTeX with the item's numbers in it, `note` a sentence about it, where the page shows them.
import { Batch } from "./batch.ts";
import { PAIR_LOSSES } from "./pairs.ts";
import { PROXY_LOSSES } from "./proxies.ts";
import { STRUCTURED_LOSSES } from "./structured.ts";
import { add, div, number, sum, withSlopes } from "./autodiff.ts";
import { TRIPLET_LOSSES } from "./triplets.ts";

export const FORMULAS = { ...PAIR_LOSSES, ...TRIPLET_LOSSES, ...STRUCTURED_LOSSES, ...PROXY_LOSSES };

/** The loss `name` of a batch: of points of numbers a number, of points of values a value with slopes. */
export const lossOf = (name, params, batch) => measured(name, params, batch).loss;

/** The loss, its gradient on each point (and on each weight that the loss owns), and how many terms are active. */
export function forces(name, params, points, labels, more = {}) {
  const movable = [...points, ...(more.own?.weight ?? [])];
  const dims = points[0].length;
  let found;
  const { value, slopes } = withSlopes((flat) => {
    const made = movable.map((_, i) => flat.slice(i * dims, (i + 1) * dims));
    const own = { ...more.own, weight: made.slice(points.length) };
    found = measured(name, params, new Batch(made.slice(0, points.length), labels, { ...more, own }));
    return found.loss;
  }, movable.flat());
  const each = movable.map((_, i) => slopes.slice(i * dims, (i + 1) * dims));
  return { ...found, loss: value, gradients: each.slice(0, points.length), onWeights: each.slice(points.length) };
}

/** The loss, how many terms it has, and how many of them are active: above 0, a smooth one above 0.01. */
function measured(name, params, batch) {
  const { over, term, smooth = false, apart = false, plus = 0 } = FORMULAS[name](batch, params);
  const items = over.every(batch);
  const sides = apart ? [true, false].map((same) => items.filter(([i, j]) => batch.same(i, j) === same)) : [items];
  const values = sides.map((side) => side.map((item) => term(...item)));
  return {
    loss: add(sum(values.map((side) => reduced(side, params.reduction))), plus),
    terms: items.length,
    active: values.flat().filter((value) => (smooth ? number(value) > 0.01 : number(value) !== 0)).length,
  };
}

/** The mean of values, of those that are not zero, or their sum. */
function reduced(values, reduction = "mean") {
  if (reduction === "sum") return sum(values);
  const count = reduction === "nonzero" ? values.filter((value) => number(value) !== 0).length : values.length;
  return div(sum(values), Math.max(count, 1));
}

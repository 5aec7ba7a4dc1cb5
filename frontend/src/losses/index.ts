// @ts-nocheck
// The terms of a recorded batch with their numbers in the formula, for the losses that the page has such a formula of.
// An addition: values and forces come from the library, and tests/app/test_terms.py holds these terms equal to it.
//
// A loss is a function of a batch and the loss's parameters that tells {over, term, smooth, apart, plus, text, note}:
// what it has one term for (see items.js) and the `term` of such an item; whether terms are `smooth` and never reach 0;
// whether pairs of one class and others are averaged `apart`; a number `plus` what it comes to beside its terms. `text`
// is the formula of a term in LaTeX with the item's numbers in it, `note` a sentence about it, where the page shows them.
import { PAIR_LOSSES } from "./pairs.ts";
import { PROXY_LOSSES } from "./proxies.ts";
import { STRUCTURED_LOSSES } from "./structured.ts";
import { add, div, number, sum } from "./autodiff.ts";
import { TRIPLET_LOSSES } from "./triplets.ts";

export const FORMULAS = { ...PAIR_LOSSES, ...TRIPLET_LOSSES, ...STRUCTURED_LOSSES, ...PROXY_LOSSES };

/** The loss `name` of a batch. */
export const lossOf = (name, params, batch) => measured(name, params, batch).loss;

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

// Every loss on a few points: its value, its terms, and its gradient on each point.
import { Batch, reduced } from "./batch.js";
import { PAIRS } from "./pairs.js";
import { PROXIES } from "./proxies.js";
import { STRUCTURED } from "./structured.js";
import { number, sum, withSlopes } from "./tape.js";
import { TRIPLETS } from "./triplets.js";

export const FORMULAS = { ...PAIRS, ...TRIPLETS, ...STRUCTURED, ...PROXIES };

/**
 * The loss `name` of points with labels; `more` may hold `triplets` and `own`, what the loss learns itself.
 * Points of numbers give a number, points of values a value with slopes.
 */
export function lossOf(name, params, points, labels, more = {}) {
  return total(partsOf(name, params, points, labels, more));
}

/** The loss, its gradient on each point (and on each weight that the loss owns), and how many terms are active. */
export function forces(name, params, points, labels, more = {}) {
  const weights = more.own?.weights ?? [];
  const movable = [...points, ...weights];
  const dims = points[0].length;
  let counted = { active: 0, terms: 0 };
  const { value, slopes } = withSlopes((flat) => {
    const made = movable.map((_, i) => flat.slice(i * dims, (i + 1) * dims));
    const own = { ...more.own, weights: made.slice(points.length) };
    const parts = partsOf(name, params, made.slice(0, points.length), labels, { ...more, own });
    counted = count(parts);
    return total(parts);
  }, movable.flat());
  const each = movable.map((_, i) => slopes.slice(i * dims, (i + 1) * dims));
  return { loss: value, gradients: each.slice(0, points.length), onWeights: each.slice(points.length), ...counted };
}

const partsOf = (name, params, points, labels, more) => [FORMULAS[name](new Batch(points, labels, more), params)].flat();

const total = (parts) => sum(parts.map((part) => (part?.values ? reduced(part) : part)));

function count(parts) {
  const values = parts.filter((part) => part?.values).flatMap(({ values, smooth }) => values.map((value) => ({ value, smooth })));
  const alive = values.filter(({ value, smooth }) => (smooth ? number(value) > 0.01 : number(value) !== 0));
  return { active: alive.length, terms: values.length };
}

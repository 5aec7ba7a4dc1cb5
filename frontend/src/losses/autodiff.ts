// @ts-nocheck
// Arithmetic by name, as the formulas of terms are written in.

/** The number itself: formulas say where they hold one constant. */
export const number = (x) => x;

export const add = (a, b) => a + b;
export const sub = (a, b) => a - b;
export const mul = (a, b) => a * b;
export const div = (a, b) => a / b;
export const square = (x) => x * x;
export const { exp, log, cos, sin, abs } = Math;
/** The square root; 0 below 0. */
export const sqrt = (x) => Math.sqrt(Math.max(x, 0));
export const relu = (x) => Math.max(x, 0);
/** log(1 + e^x). */
export const softplus = (x) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));
/** log(1 − e^{−x}) of a positive x. */
export const log1mexp = (x) => Math.log(-Math.expm1(-x));

/** Sum of a list; 0 of an empty one. */
export const sum = (list) => list.reduce(add, 0);
/** The largest of a list, −∞ of an empty one. */
export const max = (list) => list.reduce((best, x) => (number(x) > number(best) ? x : best), -Infinity);
/** The smallest of a list, ∞ of an empty one. */
export const min = (list) => list.reduce((best, x) => (number(x) < number(best) ? x : best), Infinity);
/** log Σ e^x; −∞ of an empty list. */
export function lse(list) {
  const top = number(max(list));
  return top === -Infinity ? -Infinity : add(log(sum(list.map((x) => exp(sub(x, top))))), top);
}

/** Σ x·y of two lists. */
export function dot(a, b) {
  let total = 0;
  for (let i = 0; i < a.length; i++) total += a[i] * b[i];
  return total;
}

/** Σ (x − y)², likewise. */
export function squaredDistance(a, b) {
  let total = 0;
  for (let i = 0; i < a.length; i++) total += (a[i] - b[i]) ** 2;
  return total;
}

export const sigmoid = (x) => (x >= 0 ? 1 / (1 + Math.exp(-x)) : Math.exp(x) / (1 + Math.exp(x)));

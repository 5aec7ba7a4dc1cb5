// @ts-nocheck
// Arithmetic that remembers how it came about, so that slopes come with values. Plain numbers stay plain numbers.

let tape = [];

/** A number with the numbers it was made of and how fast it changes with each of them. */
class Value {
  constructor(v, parents, slopes) {
    Object.assign(this, { v, parents, slopes, slope: 0 });
    tape.push(this);
  }
}

/** The number behind a value, without its history. */
export const number = (x) => (x instanceof Value ? x.v : x);

/** f(xs) and its slope along each of xs, an array of numbers. */
export function withSlopes(f, xs) {
  tape = [];
  const variables = xs.map((x) => new Value(x, [], []));
  const result = f(variables);
  if (result instanceof Value) {
    result.slope = 1;
    for (let i = tape.length - 1; i >= 0; i--) {
      const { slope, parents, slopes } = tape[i];
      if (slope !== 0) for (let k = 0; k < parents.length; k++) parents[k].slope += slope * slopes[k];
    }
  }
  tape = [];
  return { value: number(result), slopes: variables.map(({ slope }) => slope) };
}

function one(x, f, df) {
  if (!(x instanceof Value)) return f(x);
  const v = f(x.v);
  return new Value(v, [x], [df(x.v, v)]);
}

function two(a, b, v, da, db) {
  if (a instanceof Value) return b instanceof Value ? new Value(v, [a, b], [da, db]) : new Value(v, [a], [da]);
  return b instanceof Value ? new Value(v, [b], [db]) : v;
}

export const add = (a, b) => two(a, b, number(a) + number(b), 1, 1);
export const sub = (a, b) => two(a, b, number(a) - number(b), 1, -1);
export const mul = (a, b) => two(a, b, number(a) * number(b), number(b), number(a));
export const div = (a, b) => two(a, b, number(a) / number(b), 1 / number(b), -number(a) / number(b) ** 2);
export const square = (x) => mul(x, x);
export const exp = (x) => one(x, Math.exp, (_, v) => v);
export const log = (x) => one(x, Math.log, (x) => 1 / x);
export const cos = (x) => one(x, Math.cos, (x) => -Math.sin(x));
export const sin = (x) => one(x, Math.sin, Math.cos);
export const abs = (x) => one(x, Math.abs, Math.sign);
/** The square root; flat at 0 and below, as the library's is. */
export const sqrt = (x) =>
  one(
    x,
    (x) => Math.sqrt(Math.max(x, 0)),
    (_, v) => (v > 0 ? 0.5 / v : 0),
  );
export const relu = (x) =>
  one(
    x,
    (x) => Math.max(x, 0),
    (x) => (x > 0 ? 1 : 0),
  );
/** log(1 + e^x). */
export const softplus = (x) => one(x, (x) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x))), sigmoidOf);
export const sigmoid = (x) => one(x, sigmoidOf, (_, v) => v * (1 - v));
/** log(1 − e^{−x}) of a positive x. */
export const log1mexp = (x) =>
  one(
    x,
    (x) => Math.log(-Math.expm1(-x)),
    (x) => 1 / Math.expm1(x),
  );

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

/** Σ x·y of two lists; of numbers, which may be many, at once. */
export function dot(a, b) {
  let total = 0;
  for (let i = 0; i < a.length; i++) {
    if (typeof a[i] !== "number" || typeof b[i] !== "number") return sum(a.map((x, i) => mul(x, b[i])));
    total += a[i] * b[i];
  }
  return total;
}

/** Σ (x − y)², likewise. */
export function squaredDistance(a, b) {
  let total = 0;
  for (let i = 0; i < a.length; i++) {
    if (typeof a[i] !== "number" || typeof b[i] !== "number") return sum(a.map((x, i) => square(sub(x, b[i]))));
    total += (a[i] - b[i]) ** 2;
  }
  return total;
}

function sigmoidOf(x) {
  return x >= 0 ? 1 / (1 + Math.exp(-x)) : Math.exp(x) / (1 + Math.exp(x));
}

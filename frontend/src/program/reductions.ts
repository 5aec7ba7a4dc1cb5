// Many numbers to one. Pure: no DOM.
import type { Numbers } from "./pointwise.ts";

/** Of `n` numbers from `start` on, every `stride`. */
type Reduction = (x: Numbers, start: number, n: number, stride: number) => number;

export const REDUCTIONS: Record<string, Reduction> = {
  sum(x, at, n, stride) {
    let sum = 0;
    for (; n--; at += stride) sum += x[at];
    return sum;
  },
  mean: (x, at, n, stride) => REDUCTIONS.sum(x, at, n, stride) / n,
  prod(x, at, n, stride) {
    let product = 1;
    for (; n--; at += stride) product *= x[at];
    return product;
  },
  max: (x, at, n, stride) => x[at + stride * furthest(x, at, n, stride, 1)],
  min: (x, at, n, stride) => x[at + stride * furthest(x, at, n, stride, -1)],
  argmax: (x, at, n, stride) => furthest(x, at, n, stride, 1),
  argmin: (x, at, n, stride) => furthest(x, at, n, stride, -1),
  any(x, at, n, stride) {
    for (; n--; at += stride) if (x[at]) return 1;
    return 0;
  },
  all(x, at, n, stride) {
    for (; n--; at += stride) if (!x[at]) return 0;
    return 1;
  },
};

/** The place of the first that is greatest, or with `sign` -1 least; of the first NaN where there is one. */
function furthest(x: Numbers, at: number, n: number, stride: number, sign: number): number {
  let [best, found] = [-Infinity, 0];
  for (let i = 0; i < n; i++, at += stride) {
    const value = sign * x[at];
    if (value > best) [best, found] = [value, i];
    else if (value !== value) return i;
  }
  return found;
}

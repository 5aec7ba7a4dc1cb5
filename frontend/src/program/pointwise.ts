// Operations on one number of each input: a loop for each, so that the browser compiles each for itself. Pure: no DOM.

export type Numbers = Float32Array | Float64Array | Int32Array | Uint8Array;
/** `n` numbers of an output, from place `i` on every `s`, of one input (`j`, `t`). */
type Unary = (n: number, o: Numbers, i: number, s: number, a: Numbers, j: number, t: number) => void;
type Binary = (...args: [...Parameters<Unary>, b: Numbers, k: number, u: number]) => void;
type Ternary = (...args: [...Parameters<Binary>, c: Numbers, l: number, v: number]) => void;

const isNaN = Number.isNaN;

export const UNARY: Record<string, Unary> = {
  copy(n, o, i, s, a, j, t) {
    for (; n--; i += s, j += t) o[i] = a[j];
  },
  neg(n, o, i, s, a, j, t) {
    for (; n--; i += s, j += t) o[i] = -a[j];
  },
  abs(n, o, i, s, a, j, t) {
    for (; n--; i += s, j += t) o[i] = Math.abs(a[j]);
  },
  exp(n, o, i, s, a, j, t) {
    for (; n--; i += s, j += t) o[i] = Math.exp(a[j]);
  },
  log(n, o, i, s, a, j, t) {
    for (; n--; i += s, j += t) o[i] = Math.log(a[j]);
  },
  log1p(n, o, i, s, a, j, t) {
    for (; n--; i += s, j += t) o[i] = Math.log1p(a[j]);
  },
  expm1(n, o, i, s, a, j, t) {
    for (; n--; i += s, j += t) o[i] = Math.expm1(a[j]);
  },
  sqrt(n, o, i, s, a, j, t) {
    for (; n--; i += s, j += t) o[i] = Math.sqrt(a[j]);
  },
  rsqrt(n, o, i, s, a, j, t) {
    for (; n--; i += s, j += t) o[i] = 1 / Math.sqrt(a[j]);
  },
  reciprocal(n, o, i, s, a, j, t) {
    for (; n--; i += s, j += t) o[i] = 1 / a[j];
  },
  sigmoid(n, o, i, s, a, j, t) {
    for (; n--; i += s, j += t) o[i] = 1 / (1 + Math.exp(-a[j]));
  },
  tanh(n, o, i, s, a, j, t) {
    for (; n--; i += s, j += t) o[i] = Math.tanh(a[j]);
  },
  floor(n, o, i, s, a, j, t) {
    for (; n--; i += s, j += t) o[i] = Math.floor(a[j]);
  },
  ceil(n, o, i, s, a, j, t) {
    for (; n--; i += s, j += t) o[i] = Math.ceil(a[j]);
  },
  round(n, o, i, s, a, j, t) {
    for (; n--; i += s, j += t) o[i] = roundEven(a[j]);
  },
  sign(n, o, i, s, a, j, t) {
    for (; n--; i += s, j += t) o[i] = Math.sign(a[j]);
  },
  relu(n, o, i, s, a, j, t) {
    for (; n--; i += s, j += t) o[i] = a[j] < 0 ? 0 : a[j];
  },
  sin(n, o, i, s, a, j, t) {
    for (; n--; i += s, j += t) o[i] = Math.sin(a[j]);
  },
  cos(n, o, i, s, a, j, t) {
    for (; n--; i += s, j += t) o[i] = Math.cos(a[j]);
  },
  acos(n, o, i, s, a, j, t) {
    for (; n--; i += s, j += t) o[i] = Math.acos(a[j]);
  },
  asin(n, o, i, s, a, j, t) {
    for (; n--; i += s, j += t) o[i] = Math.asin(a[j]);
  },
  not(n, o, i, s, a, j, t) {
    for (; n--; i += s, j += t) o[i] = a[j] ? 0 : 1;
  },
  isnan(n, o, i, s, a, j, t) {
    for (; n--; i += s, j += t) o[i] = isNaN(a[j]) ? 1 : 0;
  },
};

export const BINARY: Record<string, Binary> = {
  add(n, o, i, s, a, j, t, b, k, u) {
    for (; n--; i += s, j += t, k += u) o[i] = a[j] + b[k];
  },
  sub(n, o, i, s, a, j, t, b, k, u) {
    for (; n--; i += s, j += t, k += u) o[i] = a[j] - b[k];
  },
  mul(n, o, i, s, a, j, t, b, k, u) {
    for (; n--; i += s, j += t, k += u) o[i] = a[j] * b[k];
  },
  div(n, o, i, s, a, j, t, b, k, u) {
    for (; n--; i += s, j += t, k += u) o[i] = a[j] / b[k];
  },
  pow(n, o, i, s, a, j, t, b, k, u) {
    for (; n--; i += s, j += t, k += u) o[i] = a[j] ** b[k];
  },
  atan2(n, o, i, s, a, j, t, b, k, u) {
    for (; n--; i += s, j += t, k += u) o[i] = Math.atan2(a[j], b[k]);
  },
  maximum(n, o, i, s, a, j, t, b, k, u) {
    for (; n--; i += s, j += t, k += u) o[i] = greater(a[j], b[k]);
  },
  minimum(n, o, i, s, a, j, t, b, k, u) {
    for (; n--; i += s, j += t, k += u) o[i] = -greater(-a[j], -b[k]);
  },
  remainder(n, o, i, s, a, j, t, b, k, u) {
    for (; n--; i += s, j += t, k += u) o[i] = a[j] - b[k] * Math.floor(a[j] / b[k]);
  },
  logaddexp(n, o, i, s, a, j, t, b, k, u) {
    for (; n--; i += s, j += t, k += u) o[i] = logAddExp(a[j], b[k]);
  },
  eq(n, o, i, s, a, j, t, b, k, u) {
    for (; n--; i += s, j += t, k += u) o[i] = a[j] === b[k] ? 1 : 0;
  },
  ne(n, o, i, s, a, j, t, b, k, u) {
    for (; n--; i += s, j += t, k += u) o[i] = a[j] === b[k] ? 0 : 1;
  },
  lt(n, o, i, s, a, j, t, b, k, u) {
    for (; n--; i += s, j += t, k += u) o[i] = a[j] < b[k] ? 1 : 0;
  },
  le(n, o, i, s, a, j, t, b, k, u) {
    for (; n--; i += s, j += t, k += u) o[i] = a[j] <= b[k] ? 1 : 0;
  },
  gt(n, o, i, s, a, j, t, b, k, u) {
    for (; n--; i += s, j += t, k += u) o[i] = a[j] > b[k] ? 1 : 0;
  },
  ge(n, o, i, s, a, j, t, b, k, u) {
    for (; n--; i += s, j += t, k += u) o[i] = a[j] >= b[k] ? 1 : 0;
  },
  and(n, o, i, s, a, j, t, b, k, u) {
    for (; n--; i += s, j += t, k += u) o[i] = a[j] && b[k] ? 1 : 0;
  },
  or(n, o, i, s, a, j, t, b, k, u) {
    for (; n--; i += s, j += t, k += u) o[i] = a[j] || b[k] ? 1 : 0;
  },
};

export const TERNARY: Record<string, Ternary> = {
  where(n, o, i, s, a, j, t, b, k, u, c, l, v) {
    for (; n--; i += s, j += t, k += u, l += v) o[i] = a[j] ? b[k] : c[l];
  },
};

/** The greater of two; NaN if one is. */
const greater = (a: number, b: number): number => (a > b || isNaN(a) ? a : b);

const logAddExp = (a: number, b: number): number =>
  a === b ? a + Math.LN2 : Math.max(a, b) + Math.log1p(Math.exp(-Math.abs(a - b)));

/** Half to even, as torch rounds. */
function roundEven(x: number): number {
  const floor = Math.floor(x);
  if (x - floor !== 0.5) return Math.round(x);
  return floor % 2 === 0 ? floor : floor + 1;
}

// Operations along one dimension, row by row. Pure: no DOM.
import type { Numbers } from "./pointwise.ts";
import { DAMAGED, type Instruction } from "./format.ts";

export interface Row {
  array: Numbers;
  start: number;
  stride: number;
  length: number;
}

/** The first row is the output's. */
type RowOperation = (rows: Row[], how: Instruction) => void;

export const ROWS: Record<string, RowOperation> = {
  cumsum([out, x]) {
    let sum = 0;
    for (let i = 0; i < x.length; i++) put(out, i, (sum += get(x, i)));
  },
  gather([out, x, index]) {
    for (let i = 0; i < out.length; i++) put(out, i, get(x, place(index, i, x.length)));
  },
  scatter([out, index, values]) {
    for (let i = 0; i < index.length; i++) put(out, place(index, i, out.length), get(values, i));
  },
  scatter_add([out, index, values]) {
    for (let i = 0; i < index.length; i++) {
      const at = place(index, i, out.length);
      put(out, at, get(out, at) + get(values, i));
    }
  },
  sort([out, x, places], { descending }) {
    const order = Array.from({ length: x.length }, (_, i) => i);
    const values = order.map((i) => get(x, i));
    order.sort((a, b) => (descending ? compare(values[b], values[a]) : compare(values[a], values[b])) || a - b);
    for (let i = 0; i < out.length; i++) {
      put(out, i, values[order[i]]);
      put(places, i, order[i]);
    }
  },
  searchsorted([out, x, values], { right }) {
    for (let i = 0; i < out.length; i++) {
      const value = get(values, i);
      let [low, high] = [0, x.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        const known = get(x, middle);
        // NaN lies behind all numbers.
        if (right ? !(compare(known, value) > 0) : compare(known, value) < 0) low = middle + 1;
        else high = middle;
      }
      put(out, i, low);
    }
  },
};

const get = ({ array, start, stride }: Row, i: number): number => array[start + i * stride];
const put = ({ array, start, stride }: Row, i: number, value: number): void => void (array[start + i * stride] = value);

function place(index: Row, i: number, length: number): number {
  const at = get(index, i);
  if (!(at >= 0 && at < length)) throw new Error(DAMAGED);
  return at;
}

/** Numbers in order, NaN last. */
function compare(a: number, b: number): number {
  if (a !== a) return b !== b ? 0 : 1;
  return b !== b ? -1 : a < b ? -1 : a > b ? 1 : 0;
}

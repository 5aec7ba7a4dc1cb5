// An instruction of a program as a function without arguments: its arrays and loops are found once. Pure: no DOM.
import { BINARY, TERNARY, UNARY, type Numbers } from "./pointwise.ts";
import { matrixKernel } from "./matrices.ts";
import { DAMAGED, type Instruction, type Operand, type Room, type Step, type View } from "./format.ts";

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

/** An operand with its numbers; of one number all strides are 0. */
interface Place {
  array: Numbers;
  offset: number;
  strides: number[];
}

/** A number; Python writes infinity as "inf". */
const numberOf = (value: number | string): number =>
  typeof value === "number" ? value : Number(value.replace("inf", "Infinity"));

export function kernelOf(one: Instruction, arrays: Numbers[], memory: Room, random: () => number): Step {
  const { op, shape } = one;
  const at = (operand: Operand): Place =>
    Array.isArray(operand)
      ? { array: arrays[operand[0]], offset: operand[1], strides: operand.slice(2) }
      : { array: Float64Array.of(numberOf(operand)), offset: 0, strides: [] };
  const out = at(one.out);
  const inputs = one.in.map(at);
  if (op in UNARY) return pointwise(shape, out, inputs, UNARY[op] as Loop);
  if (op in BINARY) return pointwise(shape, out, inputs, BINARY[op] as Loop);
  if (op in TERNARY) return pointwise(shape, out, inputs, TERNARY[op] as Loop);
  if (op in REDUCTIONS) return reduction(one, out, inputs[0]);
  if (op in ROWS) return rows(one, out, inputs, one.places ? at(one.places as View) : null);
  if (op.startsWith("index")) return indexed(one, out, inputs[0], (one.places as View[]).map(at));
  if (op === "rand") return () => void out.array.forEach((_, i) => (out.array[i] = random()));
  if (op === "randperm") return () => permutation(out.array, random);
  return matrixKernel(one, arrays, memory);
}

type Loop = (n: number, ...places: (Numbers | number)[]) => void;

function pointwise(shape: number[], out: Place, inputs: Place[], loop: Loop): Step {
  const all = [out, ...inputs];
  const last = shape.length - 1;
  const n = last < 0 ? 1 : shape[last];
  const args = all.flatMap(({ array, offset, strides }) => [array, offset, strides[last] ?? 0]);
  if (shape.length <= 1) return () => loop(n, ...args);
  const outer = offsets(shape.slice(0, -1), all);
  const [count, width] = [outer[0].length, all.length];
  return () => {
    for (let row = 0; row < count; row++) {
      for (let i = 0; i < width; i++) args[3 * i + 1] = outer[i][row];
      loop(n, ...args);
    }
  };
}

/** For each array the places at which each index of `shape` begins. */
function offsets(shape: number[], places: Pick<Place, "offset" | "strides">[]): Int32Array[] {
  const count = shape.reduce((product, size) => product * size, 1);
  return places.map(({ offset, strides }) => {
    const found = new Int32Array(count);
    for (let i = 0; i < count; i++) {
      let [rest, place] = [i, offset];
      for (let dim = shape.length - 1; dim >= 0; dim--) {
        place += (rest % shape[dim]) * (strides[dim] ?? 0);
        rest = Math.floor(rest / shape[dim]);
      }
      found[i] = place;
    }
    return found;
  });
}

function reduction({ op, shape, over = [], strides = [] }: Instruction, out: Place, x: Place): Step {
  const reduce = REDUCTIONS[op];
  const [to, from] = offsets(shape, [out, x]);
  const n = over.reduce((product, size) => product * size, 1);
  if (over.length <= 1) {
    const stride = strides[0] ?? 0;
    return () => {
      for (let i = 0; i < to.length; i++) out.array[to[i]] = reduce(x.array, from[i], n, stride);
    };
  }
  const [inner] = offsets(over, [{ offset: 0, strides }]);
  const row = new Float64Array(n);
  return () => {
    for (let i = 0; i < to.length; i++) {
      for (let k = 0; k < n; k++) row[k] = x.array[from[i] + inner[k]];
      out.array[to[i]] = reduce(row, 0, n, 1);
    }
  };
}

function rows(one: Instruction, out: Place, inputs: Place[], places: Place | null): Step {
  const { shape, lengths = [] } = one;
  const all = places ? [out, ...inputs, places] : [out, ...inputs];
  const starts = offsets(shape, all);
  let known = 0;
  const parts: Row[] = all.map(({ array, strides }) => ({
    array,
    start: 0,
    stride: strides[shape.length] ?? 0,
    length: strides.length > shape.length ? (lengths[known++] ?? lengths[0]) : 1,
  }));
  const act = ROWS[one.op];
  return () => {
    for (let row = 0; row < starts[0].length; row++) {
      for (let i = 0; i < parts.length; i++) parts[i].start = starts[i][row];
      act(parts, one);
    }
  };
}

/** `index` reads from `x` where the places say; `index_put` and `index_add` write `x` into the output there. */
function indexed({ op, shape, sizes = [] }: Instruction, out: Place, x: Place, places: Place[]): Step {
  const reads = op === "index";
  const [whole, part] = reads ? [x, out] : [out, x];
  const dims = shape.length - (sizes.length - places.length); // of the places
  const found = offsets(shape.slice(0, dims), places);
  const rest = shape.slice(dims);
  const [starts] = offsets(shape.slice(0, dims), [part]);
  const [inPart] = offsets(rest, [{ offset: 0, strides: part.strides.slice(dims) }]);
  const [inWhole] = offsets(rest, [{ offset: 0, strides: whole.strides.slice(places.length) }]);
  return () => {
    for (let i = 0; i < starts.length; i++) {
      let at = whole.offset;
      for (let k = 0; k < places.length; k++) {
        const place = places[k].array[found[k][i]];
        const wrapped = place < 0 ? place + sizes[k] : place;
        if (!(wrapped >= 0 && wrapped < sizes[k])) throw new Error(DAMAGED);
        at += wrapped * whole.strides[k];
      }
      for (let k = 0; k < inPart.length; k++) {
        const [to, from] = [at + inWhole[k], starts[i] + inPart[k]];
        if (reads) part.array[from] = whole.array[to];
        else if (op === "index_add") whole.array[to] += part.array[from];
        else whole.array[to] = part.array[from];
      }
    }
  };
}

function permutation(array: Numbers, random: () => number): void {
  for (let i = 0; i < array.length; i++) array[i] = i;
  for (let i = array.length - 1; i > 0; i--) {
    const other = Math.floor(random() * (i + 1));
    [array[i], array[other]] = [array[other], array[i]];
  }
}

// The product of two matrices by vector instructions: a small WebAssembly module, written here byte by byte. Pure: no DOM.

/**
 * C += A · B for matrices row by row in the module's memory: addresses in bytes, `m` a multiple of 4, `n` of 8. A's rows
 * have `k` numbers, those of B and C `n`.
 */
export type Product = (a: number, b: number, c: number, m: number, k: number, n: number) => void;

export const ROWS_AT_ONCE = 4;
export const COLUMNS_AT_ONCE = 8;

const [I32, V128] = [0x7f, 0x7b];
const [A, B, C, M, K, N] = [0, 1, 2, 3, 4, 5];
// Locals: row and column of the block, addresses in A and B, the end of A's row; then the numbers.
const [I, J, PA, PB, END, B0, B1, SUM] = [6, 7, 8, 9, 10, 11, 12, 13];

const get = (local: number) => [0x20, local];
const set = (local: number) => [0x21, local];
const int = (value: number) => [0x41, ...signed(value)];
const [add, mul, shl, lessThan] = [[0x6a], [0x6c], [0x74], [0x49]];
const times = (local: number, bits: number) => [...get(local), ...int(bits), ...shl];
const increase = (local: number, by: number[]) => [...get(local), ...by, ...add, ...set(local)];
const load = (offset: number) => [0xfd, 0x00, 2, ...unsigned(offset)];
const loadAll = [0xfd, 0x09, 2, 0]; // one number to all four
const store = (offset: number) => [0xfd, 0x0b, 2, ...unsigned(offset)];
const [add4, mul4] = [
  [0xfd, 0xe4, 0x01],
  [0xfd, 0xe6, 0x01],
];
const zero4 = [0xfd, 0x0c, ...new Array<number>(16).fill(0)];
/** A loop that is done at least once, as long as `again` is true. */
const loop = (body: number[], again: number[]) => [0x03, 0x40, ...body, ...again, 0x0d, 0, 0x0b];

function code(): number[] {
  const rows = [0, 1, 2, 3];
  const sums = rows.flatMap((row) => [SUM + 2 * row, SUM + 2 * row + 1]);
  const multiply = rows.flatMap((row) => [
    ...get(PA),
    ...get(K),
    ...int(4 * row),
    ...mul,
    ...add,
    ...loadAll,
    ...set(SUM + 8),
    ...[0, 1].flatMap((half) => [
      ...get(SUM + 2 * row + half),
      ...get(SUM + 8),
      ...get(half ? B1 : B0),
      ...mul4,
      ...add4,
      ...set(SUM + 2 * row + half),
    ]),
  ]);
  const inner = [
    ...get(PB),
    ...load(0),
    ...set(B0),
    ...get(PB),
    ...load(16),
    ...set(B1),
    ...multiply,
    ...increase(PA, int(4)),
    ...increase(PB, times(N, 2)),
  ];
  const write = rows.flatMap((row) =>
    [0, 1].flatMap((half) => [
      ...get(C),
      ...get(I),
      ...int(row),
      ...add,
      ...get(N),
      ...mul,
      ...get(J),
      ...add,
      ...int(2),
      ...shl,
      ...add,
      ...set(PA),
      ...get(PA),
      ...get(PA),
      ...load(16 * half),
      ...get(SUM + 2 * row + half),
      ...add4,
      ...store(16 * half),
    ]),
  );
  const block = [
    ...sums.flatMap((sum) => [...zero4, ...set(sum)]),
    ...get(A),
    ...get(I),
    ...get(K),
    ...mul,
    ...int(2),
    ...shl,
    ...add,
    ...set(PA),
    ...get(PA),
    ...times(K, 2),
    ...add,
    ...set(END),
    ...get(B),
    ...times(J, 2),
    ...add,
    ...set(PB),
    ...loop(inner, [...get(PA), ...get(END), ...lessThan]),
    ...write,
    ...increase(J, int(COLUMNS_AT_ONCE)),
  ];
  const row = [
    ...int(0),
    ...set(J),
    ...loop(block, [...get(J), ...get(N), ...lessThan]),
    ...increase(I, int(ROWS_AT_ONCE)),
  ];
  return [...int(0), ...set(I), ...loop(row, [...get(I), ...get(M), ...lessThan]), 0x0b];
}

/** The function in this memory; null where the browser has no vector instructions. */
export function simdProduct(memory: WebAssembly.Memory): Product | null {
  const pages = memory.buffer.byteLength / 65536;
  const text = (letters: string) => [letters.length, ...new TextEncoder().encode(letters)];
  const section = (number: number, body: number[]) => [number, ...unsigned(body.length), ...body];
  const body = [2, 5, I32, 11, V128, ...code()];
  const bytes = [
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [1, 0x60, 6, I32, I32, I32, I32, I32, I32, 0]),
    ...section(2, [1, ...text("m"), ...text("m"), 0x02, 1, ...unsigned(pages), ...unsigned(pages)]),
    ...section(3, [1, 0]),
    ...section(7, [1, ...text("product"), 0, 0]),
    ...section(10, [1, ...unsigned(body.length), ...body]),
  ];
  try {
    const module = new WebAssembly.Module(Uint8Array.from(bytes));
    return new WebAssembly.Instance(module, { m: { m: memory } }).exports.product as Product;
  } catch {
    return null; // an old browser, or a page that may not make code
  }
}

function unsigned(value: number): number[] {
  return value < 128 ? [value] : [(value & 127) | 128, ...unsigned(value >>> 7)];
}

function signed(value: number): number[] {
  return value >= -64 && value < 64 ? [value & 127] : [(value & 127) | 128, ...signed(value >> 7)];
}

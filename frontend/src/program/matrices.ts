// Products of matrices, convolutions and poolings. Pure: no DOM.
import type { Numbers } from "./pointwise.ts";
import { COLUMNS_AT_ONCE, ROWS_AT_ONCE } from "./product.ts";
import { DAMAGED, type Instruction, type Room, type Step, type View } from "./format.ts";

/** A matrix in an array: its first number, and the steps to the next row and the next column. */
interface Matrix {
  array: Numbers;
  offset: number;
  row: number;
  column: number;
}

export function matrixKernel(one: Instruction, arrays: Numbers[], memory: Room): Step {
  const views = [one.out, ...one.in] as View[];
  const [out, ...inputs] = views.map(([buffer, offset]) => arrays[buffer].subarray(offset));
  switch (one.op) {
    case "mm": {
      const [o, a, b, bias = null] = views.map(([buffer, offset, row = 0, column = 0]) => ({
        array: arrays[buffer],
        offset,
        row,
        column,
      }));
      const [m, , n] = one.shape;
      const multiply = product(memory, one.shape as [number, number, number], o, a, b);
      return () => {
        for (let i = 0; i < m; i++) {
          let to = o.offset + i * o.row;
          for (let j = 0; j < n; j++, to += o.column)
            o.array[to] = bias ? bias.array[bias.offset + i * bias.row + j * bias.column] : 0;
        }
        multiply();
      };
    }
    case "conv":
      return convolution(one, out, inputs, memory);
    case "conv_images":
      return imageGradient(one, out, inputs, memory);
    case "conv_weight":
      return weightGradient(one, out, inputs, memory);
    case "max_pool": {
      const [buffer, offset] = one.places as View;
      return () => maxPool(one, out, inputs[0], arrays[buffer].subarray(offset));
    }
  }
  throw new Error(DAMAGED);
}

/** Numbers that an operation needs room for meanwhile. */
export function scratchNumbers(one: Instruction): number {
  if (one.op === "mm") return forProduct(one.shape[0], one.shape[1], one.shape[2]);
  if (!one.op.startsWith("conv")) return 0;
  const { area, patch, filters } = sizes(one);
  const [m, k, n] = { conv: [filters, patch, area], conv_images: [patch, filters, area] }[one.op] ?? [
    filters,
    area,
    patch,
  ];
  return roomOf(one) + forProduct(m, k, n);
}

const rounded = (count: number, by: number): number => Math.ceil(count / by) * by;
const matrix = (array: Numbers, columns: number): Matrix => ({ array, offset: 0, row: columns, column: 1 });

function forProduct(m: number, k: number, n: number): number {
  const [tall, wide] = [rounded(m, ROWS_AT_ONCE), rounded(n, COLUMNS_AT_ONCE)];
  return tall * k + k * wide + tall * wide;
}

/**
 * A function for out += a · b; a is m × k, b is k × n. It takes how many numbers further on each of the three begins, as
 * for one image after another.
 */
function product(
  memory: Room,
  [m, k, n]: [number, number, number],
  out: Matrix,
  a: Matrix,
  b: Matrix,
  after = 0,
): (ofOut?: number, ofA?: number, ofB?: number) => void {
  const { simd } = memory;
  const single = [out, a, b].every(({ array }) => array instanceof Float32Array);
  if (!simd || !single || m * k * n < 4096) return plainProduct([m, k, n], out, a, b);
  const [tall, wide] = [rounded(m, ROWS_AT_ONCE), rounded(n, COLUMNS_AT_ONCE)];
  const partA = memory.scratch.subarray(after);
  const [partB, partC] = [partA.subarray(tall * k), partA.subarray(tall * k + k * wide)];
  const usable = ({ array, row, column }: Matrix, rows: number, padded: number, columns: number) =>
    array.buffer === memory.buffer && rows === padded && column === 1 && row === columns;
  const directA = usable(a, m, tall, k);
  const directB = usable(b, k, k, wide);
  const directC = usable(out, m, tall, wide) && n === wide;
  const place = (direct: boolean, { array, offset }: Matrix, part: Float32Array) =>
    direct ? array.byteOffset + 4 * offset : part.byteOffset;
  const [atA, atB, atC] = [place(directA, a, partA), place(directB, b, partB), place(directC, out, partC)];
  return (ofOut = 0, ofA = 0, ofB = 0) => {
    if (!directA) copy(a, ofA, m, k, partA, k, tall);
    if (!directB) copy(b, ofB, k, n, partB, wide, k);
    if (!directC) partC.fill(0, 0, tall * wide);
    simd(directA ? atA + 4 * ofA : atA, directB ? atB + 4 * ofB : atB, directC ? atC + 4 * ofOut : atC, tall, k, wide);
    if (directC) return;
    for (let i = 0; i < m; i++) {
      let to = out.offset + ofOut + i * out.row;
      for (let j = 0, at = i * wide; j < n; j++, at++, to += out.column) out.array[to] += partC[at];
    }
  };
}

/** A matrix row by row, filled up with zeros. */
function copy(
  { array, offset, row, column }: Matrix,
  further: number,
  rows: number,
  columns: number,
  to: Float32Array,
  width: number,
  height: number,
): void {
  for (let i = 0; i < rows; i++) {
    let from = offset + further + i * row;
    let at = i * width;
    for (let j = 0; j < columns; j++, from += column) to[at++] = array[from];
    for (let j = columns; j < width; j++) to[at++] = 0;
  }
  to.fill(0, rows * width, height * width);
}

function plainProduct(
  [m, k, n]: [number, number, number],
  out: Matrix,
  a: Matrix,
  b: Matrix,
): ReturnType<typeof product> {
  const sums = new Float64Array(n);
  return (ofOut = 0, ofA = 0, ofB = 0) => {
    for (let i = 0; i < m; i++) {
      sums.fill(0);
      for (let p = 0, from = a.offset + ofA + i * a.row; p < k; p++, from += a.column) {
        const factor = a.array[from];
        if (factor === 0) continue;
        for (let j = 0, at = b.offset + ofB + p * b.row; j < n; j++, at += b.column) sums[j] += factor * b.array[at];
      }
      for (let j = 0, to = out.offset + ofOut + i * out.row; j < n; j++, to += out.column) out.array[to] += sums[j];
    }
  };
}

/** Sizes of a convolution: images, their channels and sides; the kernel; how many places it has along each side. */
function sizes({ image = [], kernel = [], stride = 1, padding = 0 }: Instruction) {
  const [images, channels, height, width] = image;
  const [tall, wide] = kernel.slice(-2);
  const [down, across] = [(height + 2 * padding - tall) / stride + 1, (width + 2 * padding - wide) / stride + 1].map(
    Math.floor,
  );
  return {
    images,
    channels,
    height,
    width,
    tall,
    wide,
    down,
    across,
    stride,
    padding,
    pixels: channels * height * width,
    patch: channels * tall * wide,
    area: down * across,
    filters: kernel[0],
  };
}

/** Numbers that a convolution itself needs for one image at a time, beside its product. */
function roomOf(one: Instruction): number {
  const { area, patch, filters } = sizes(one);
  return rounded(area, COLUMNS_AT_ONCE) * rounded(patch, COLUMNS_AT_ONCE) + filters * patch;
}

/**
 * Where the numbers of all patches of one image come from, -1 for none: a row for each number of a patch and a column for
 * each place, or with `byPlace` the other way round. Rows are filled up for vector instructions.
 */
function patchPixels(one: Instruction, byPlace: boolean): Int32Array {
  const { height, width, tall, wide, across, stride, padding, patch, area } = sizes(one);
  const row = rounded(byPlace ? patch : area, COLUMNS_AT_ONCE);
  const pixels = new Int32Array(row * (byPlace ? area : patch)).fill(-1);
  for (let place = 0; place < area; place++)
    for (let part = 0; part < patch; part++) {
      const [channel, within] = [Math.floor(part / (tall * wide)), part % (tall * wide)];
      const y = Math.floor(place / across) * stride - padding + Math.floor(within / wide);
      const x = (place % across) * stride - padding + (within % wide);
      if (y < 0 || y >= height || x < 0 || x >= width) continue;
      pixels[byPlace ? place * row + part : part * row + place] = (channel * height + y) * width + x;
    }
  return pixels;
}

function gather(x: Numbers, first: number, pixels: Int32Array, to: Float32Array): void {
  for (let i = 0; i < pixels.length; i++) to[i] = pixels[i] < 0 ? 0 : x[first + pixels[i]];
}

function convolution(one: Instruction, out: Numbers, [x, weight, bias]: Numbers[], memory: Room): Step {
  const { images, pixels: perImage, patch, area, filters } = sizes(one);
  const pixels = patchPixels(one, false);
  const patches = memory.scratch;
  const multiply = product(
    memory,
    [filters, patch, area],
    matrix(out, area),
    matrix(weight, patch),
    matrix(patches, pixels.length / patch),
    roomOf(one),
  );
  return () => {
    for (let plane = 0; plane < images * filters; plane++)
      out.fill(bias ? bias[plane % filters] : 0, plane * area, (plane + 1) * area);
    for (let image = 0; image < images; image++) {
      gather(x, image * perImage, pixels, patches);
      multiply(image * filters * area);
    }
  };
}

function imageGradient(one: Instruction, out: Numbers, [gradient, weight]: Numbers[], memory: Room): Step {
  const { images, pixels: perImage, patch, area, filters } = sizes(one);
  const pixels = patchPixels(one, false);
  const row = pixels.length / patch;
  const patches = memory.scratch.subarray(0, pixels.length);
  const turned = memory.scratch.subarray(pixels.length, pixels.length + patch * filters);
  const multiply = product(
    memory,
    [patch, filters, area],
    matrix(patches, row),
    matrix(turned, filters),
    matrix(gradient, area),
    roomOf(one),
  );
  return () => {
    copy({ array: weight, offset: 0, row: 1, column: patch }, 0, patch, filters, turned, filters, patch);
    out.fill(0, 0, images * perImage);
    for (let image = 0; image < images; image++) {
      patches.fill(0);
      multiply(0, 0, image * filters * area);
      const first = image * perImage;
      for (let i = 0; i < pixels.length; i++) if (pixels[i] >= 0) out[first + pixels[i]] += patches[i];
    }
  };
}

function weightGradient(one: Instruction, out: Numbers, [gradient, x]: Numbers[], memory: Room): Step {
  const { images, pixels: perImage, patch, area, filters } = sizes(one);
  const pixels = patchPixels(one, true);
  const patches = memory.scratch.subarray(0, pixels.length);
  const multiply = product(
    memory,
    [filters, area, patch],
    matrix(out, patch),
    matrix(gradient, area),
    matrix(patches, pixels.length / area),
    roomOf(one),
  );
  return () => {
    out.fill(0, 0, filters * patch);
    for (let image = 0; image < images; image++) {
      gather(x, image * perImage, pixels, patches);
      multiply(0, image * filters * area);
    }
  };
}

function maxPool(one: Instruction, out: Numbers, x: Numbers, chosen: Numbers): void {
  const { images, channels, height, width, tall, wide, down, across, stride, padding } = sizes(one);
  let at = 0;
  for (let plane = 0; plane < images * channels; plane++)
    for (let top = 0; top < down; top++)
      for (let left = 0; left < across; left++, at++) {
        let [most, found] = [-Infinity, 0];
        for (
          let row = Math.max(0, top * stride - padding);
          row < Math.min(height, top * stride - padding + tall);
          row++
        )
          for (
            let column = Math.max(0, left * stride - padding);
            column < Math.min(width, left * stride - padding + wide);
            column++
          ) {
            const value = x[plane * height * width + row * width + column];
            if (value > most || value !== value) [most, found] = [value, row * width + column];
          }
        [out[at], chosen[at]] = [most, found];
      }
}

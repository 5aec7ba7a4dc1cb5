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
      const [o, a, b, bias] = views.map(([buffer, offset, row = 0, column = 0]) => ({
        array: arrays[buffer],
        offset,
        row,
        column,
      }));
      return product(memory, one.shape as [number, number, number], o, a, b, bias);
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
  const forProduct = (m: number, k: number, n: number): number => {
    const [tall, wide] = [rounded(m, ROWS_AT_ONCE), rounded(n, COLUMNS_AT_ONCE)];
    return tall * k + k * wide + tall * wide;
  };
  if (one.op === "mm") return forProduct(one.shape[0], one.shape[1], one.shape[2]);
  if (!one.op.startsWith("conv")) return 0;
  const { places, patch, filters } = sizes(one);
  const [m, k, n] = { conv: [places, patch, filters], conv_images: [places, filters, patch] }[one.op] ?? [
    filters,
    places,
    patch,
  ];
  return places * (patch + filters) + forProduct(m, k, n);
}

const rounded = (count: number, by: number): number => Math.ceil(count / by) * by;
const matrix = (array: Numbers, columns: number): Matrix => ({ array, offset: 0, row: columns, column: 1 });

/** out = a · b, and a bias where there is one; a is m × k, b is k × n. */
function product(
  memory: Room,
  [m, k, n]: [number, number, number],
  out: Matrix,
  a: Matrix,
  b: Matrix,
  bias?: Matrix,
  after = 0,
): Step {
  const { simd } = memory;
  const single = [out, a, b].every(({ array }) => array instanceof Float32Array);
  if (!simd || !single || m * k * n < 4096) return plainProduct([m, k, n], out, a, b, bias);
  const [tall, wide] = [rounded(m, ROWS_AT_ONCE), rounded(n, COLUMNS_AT_ONCE)];
  const partA = memory.scratch.subarray(after);
  const [partB, partC] = [partA.subarray(tall * k), partA.subarray(tall * k + k * wide)];
  const usable = ({ array, offset, row, column }: Matrix, rows: number, padded: number, columns: number) =>
    array.buffer === memory.buffer &&
    rows === padded &&
    column === 1 &&
    row === columns &&
    (array.byteOffset + 4 * offset) % 4 === 0;
  const directA = usable(a, m, tall, k);
  const directB = usable(b, n, wide, n);
  const directC = usable(out, m, tall, n) && n === wide;
  const place = (direct: boolean, { array, offset }: Matrix, part: Float32Array) =>
    direct ? array.byteOffset + 4 * offset : part.byteOffset;
  const [atA, atB, atC] = [place(directA, a, partA), place(directB, b, partB), place(directC, out, partC)];
  return () => {
    if (!directA) copy(a, m, k, partA, k, tall);
    if (!directB) copy(b, k, n, partB, wide, k);
    simd(atA, atB, atC, tall, k, wide);
    if (directC && !bias) return;
    const [from, columns] = directC ? [out.array.subarray(out.offset), n] : [partC, wide];
    for (let i = 0; i < m; i++) {
      let to = out.offset + i * out.row;
      for (let j = 0, at = i * columns; j < n; j++, at++, to += out.column)
        out.array[to] = bias ? from[at] + bias.array[bias.offset + i * bias.row + j * bias.column] : from[at];
    }
  };
}

/** A matrix row by row, filled up with zeros. */
function copy(
  { array, offset, row, column }: Matrix,
  rows: number,
  columns: number,
  to: Float32Array,
  width: number,
  height: number,
): void {
  for (let i = 0; i < rows; i++) {
    let from = offset + i * row;
    let at = i * width;
    for (let j = 0; j < columns; j++, from += column) to[at++] = array[from];
    for (let j = columns; j < width; j++) to[at++] = 0;
  }
  to.fill(0, rows * width, height * width);
}

function plainProduct([m, k, n]: [number, number, number], out: Matrix, a: Matrix, b: Matrix, bias?: Matrix): Step {
  const sums = new Float64Array(n);
  return () => {
    for (let i = 0; i < m; i++) {
      sums.fill(0);
      for (let p = 0, from = a.offset + i * a.row; p < k; p++, from += a.column) {
        const factor = a.array[from];
        if (factor === 0) continue;
        for (let j = 0, at = b.offset + p * b.row; j < n; j++, at += b.column) sums[j] += factor * b.array[at];
      }
      for (let j = 0, to = out.offset + i * out.row; j < n; j++, to += out.column)
        out.array[to] = sums[j] + (bias ? bias.array[bias.offset + i * bias.row + j * bias.column] : 0);
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
    patch: channels * tall * wide,
    places: images * down * across,
    filters: kernel[0],
  };
}

/** For each number of each place's patch the pixel it comes from; -1 outside of the image. */
function patchPixels(one: Instruction): Int32Array {
  const { images, channels, height, width, tall, wide, down, across, stride, padding, patch, places } = sizes(one);
  const pixels = new Int32Array(places * patch);
  let at = 0;
  for (let image = 0; image < images; image++)
    for (let top = 0; top < down; top++)
      for (let left = 0; left < across; left++)
        for (let channel = 0; channel < channels; channel++)
          for (let dy = 0; dy < tall; dy++)
            for (let dx = 0; dx < wide; dx++) {
              const [row, column] = [top * stride - padding + dy, left * stride - padding + dx];
              const inside = row >= 0 && row < height && column >= 0 && column < width;
              pixels[at++] = inside ? ((image * channels + channel) * height + row) * width + column : -1;
            }
  return pixels;
}

/** Memory for patches and for what comes of them, place by place. */
function work({ scratch }: Room, one: Instruction) {
  const { places, patch, filters } = sizes(one);
  const after = places * (patch + filters);
  return { pixels: patchPixels(one), patches: scratch, results: scratch.subarray(places * patch), after };
}

function convolution(one: Instruction, out: Numbers, [x, weight, bias]: Numbers[], memory: Room): Step {
  const { pixels, patches, results, after } = work(memory, one);
  const { places, patch, filters, down, across } = sizes(one);
  const area = down * across;
  const byFilter: Matrix = { array: weight, offset: 0, row: 1, column: patch };
  const multiply = product(
    memory,
    [places, patch, filters],
    matrix(results, filters),
    matrix(patches, patch),
    byFilter,
    undefined,
    after,
  );
  return () => {
    for (let i = 0; i < pixels.length; i++) patches[i] = pixels[i] < 0 ? 0 : x[pixels[i]];
    multiply();
    for (let place = 0, from = 0; place < places; place++) {
      let to = Math.floor(place / area) * filters * area + (place % area);
      for (let filter = 0; filter < filters; filter++, to += area)
        out[to] = results[from++] + (bias ? bias[filter] : 0);
    }
  };
}

/** The gradient with filters last, place by place. */
function byPlace(gradient: Numbers, to: Numbers, places: number, filters: number, area: number): void {
  for (let place = 0, at = 0; place < places; place++) {
    let from = Math.floor(place / area) * filters * area + (place % area);
    for (let filter = 0; filter < filters; filter++, from += area) to[at++] = gradient[from];
  }
}

function imageGradient(one: Instruction, out: Numbers, [gradient, weight]: Numbers[], memory: Room): Step {
  const { pixels, patches, results, after } = work(memory, one);
  const { places, patch, filters, down, across } = sizes(one);
  const multiply = product(
    memory,
    [places, filters, patch],
    matrix(patches, patch),
    matrix(results, filters),
    matrix(weight, patch),
    undefined,
    after,
  );
  return () => {
    byPlace(gradient, results, places, filters, down * across);
    multiply();
    out.fill(
      0,
      0,
      one.shape.reduce((count, side) => count * side, 1),
    );
    for (let i = 0; i < pixels.length; i++) if (pixels[i] >= 0) out[pixels[i]] += patches[i];
  };
}

function weightGradient(one: Instruction, out: Numbers, [gradient, x]: Numbers[], memory: Room): Step {
  const { pixels, patches, results, after } = work(memory, one);
  const { places, patch, filters, down, across } = sizes(one);
  const byFilter: Matrix = { array: results, offset: 0, row: 1, column: filters };
  const multiply = product(
    memory,
    [filters, places, patch],
    matrix(out, patch),
    byFilter,
    matrix(patches, patch),
    undefined,
    after,
  );
  return () => {
    for (let i = 0; i < pixels.length; i++) patches[i] = pixels[i] < 0 ? 0 : x[pixels[i]];
    byPlace(gradient, results, places, filters, down * across);
    multiply();
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

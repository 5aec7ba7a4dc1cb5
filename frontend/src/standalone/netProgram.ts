// A trained net as a list of plain operations (dmlviz/nets/program.py), done here without a server. Pure: no DOM.

interface Shape {
  channels: number;
  height: number;
  width: number;
}

/** A value of the program: an image of several channels, or a vector (height and width 1). */
interface Value extends Shape {
  data: Float32Array;
}

/** One operation on earlier values; `weight` and `bias` are names of arrays. */
export interface Operation {
  op: "conv" | "linear" | "affine" | "relu" | "prelu" | "max_pool" | "mean" | "flatten" | "add";
  inputs: number[];
  weight?: string;
  bias?: string;
  size?: number;
  stride?: number;
  padding?: number;
}

/** Operations, and where their arrays lie in the file of weights (in numbers of four bytes). */
export interface NetProgram {
  image: [number, number, number];
  normalize: boolean;
  operations: Operation[];
  arrays: Record<string, { shape: number[]; offset: number }>;
}

interface NamedArray {
  shape: number[];
  data: Float32Array;
}

/**
 * The embedding of an image (channels × height × width, normalized as the net's training images were).
 * `weights` are all arrays of the program in one file.
 */
export function embed(program: NetProgram, weights: Float32Array, image: Float32Array): Float32Array {
  const [channels, height, width] = program.image;
  const values: Value[] = [{ channels, height, width, data: image }];
  const arrayOf = (name: string | undefined): NamedArray | null => {
    if (name === undefined) return null;
    const { shape, offset } = program.arrays[name];
    const count = shape.reduce((product, side) => product * side, 1);
    return { shape, data: weights.subarray(offset, offset + count) };
  };
  for (const operation of program.operations) {
    const inputs = operation.inputs.map((number) => values[number]);
    values.push(perform(operation, inputs, arrayOf(operation.weight), arrayOf(operation.bias)));
  }
  const { data } = values[values.length - 1];
  return program.normalize ? unit(data) : data;
}

function perform(operation: Operation, [x, y]: Value[], weight: NamedArray | null, bias: NamedArray | null): Value {
  const { op, size = 1, stride = 1, padding = 0 } = operation;
  switch (op) {
    case "conv":
      return conv(x, need(weight), bias, stride, padding);
    case "linear":
      return linear(x, need(weight), bias);
    case "affine":
      return eachChannel(x, (value, k) => value * need(weight).data[k] + need(bias).data[k]);
    case "relu":
      return eachChannel(x, (value) => (value > 0 ? value : 0));
    case "prelu": {
      const slopes = need(weight).data;
      return eachChannel(x, (value, k) => (value > 0 ? value : value * slopes[slopes.length > 1 ? k : 0]));
    }
    case "max_pool":
      return maxPool(x, size, stride, padding);
    case "mean":
      return mean(x);
    case "flatten":
      return { channels: x.data.length, height: 1, width: 1, data: x.data };
    case "add":
      return { ...x, data: x.data.map((value, i) => value + y.data[i]) };
  }
}

function need(array: NamedArray | null): NamedArray {
  if (!array) throw new Error("an operation lacks its weights");
  return array;
}

function eachChannel(x: Value, change: (value: number, channel: number) => number): Value {
  const area = x.height * x.width;
  return { ...x, data: x.data.map((value, i) => change(value, Math.floor(i / area))) };
}

function linear(x: Value, { shape: [rows, columns], data: weight }: NamedArray, bias: NamedArray | null): Value {
  const data = new Float32Array(rows);
  for (let row = 0; row < rows; row++) {
    let sum = bias ? bias.data[row] : 0;
    for (let column = 0, at = row * columns; column < columns; column++, at++) sum += weight[at] * x.data[column];
    data[row] = sum;
  }
  return { channels: rows, height: 1, width: 1, data };
}

/** Number of places of a window of `size` along a side. */
const places = (side: number, size: number, stride: number, padding: number): number =>
  Math.floor((side + 2 * padding - size) / stride) + 1;

function conv(
  x: Value,
  { shape: [rows, , tall, wide], data: weight }: NamedArray,
  bias: NamedArray | null,
  stride: number,
  padding: number,
): Value {
  const height = places(x.height, tall, stride, padding);
  const width = places(x.width, wide, stride, padding);
  const patch = x.channels * tall * wide;
  const data = new Float32Array(rows * height * width);
  const window = new Float32Array(patch); // what the filter sees at one place
  for (let top = 0; top < height; top++) {
    for (let left = 0; left < width; left++) {
      let k = 0;
      for (let channel = 0; channel < x.channels; channel++) {
        for (let dy = 0; dy < tall; dy++) {
          const row = top * stride - padding + dy;
          for (let dx = 0; dx < wide; dx++, k++) {
            const column = left * stride - padding + dx;
            const inside = row >= 0 && row < x.height && column >= 0 && column < x.width;
            window[k] = inside ? x.data[(channel * x.height + row) * x.width + column] : 0;
          }
        }
      }
      for (let filter = 0; filter < rows; filter++) {
        let sum = bias ? bias.data[filter] : 0;
        for (let i = 0, at = filter * patch; i < patch; i++, at++) sum += weight[at] * window[i];
        data[(filter * height + top) * width + left] = sum;
      }
    }
  }
  return { channels: rows, height, width, data };
}

function maxPool(x: Value, size: number, stride: number, padding: number): Value {
  const [height, width] = [places(x.height, size, stride, padding), places(x.width, size, stride, padding)];
  const data = new Float32Array(x.channels * height * width);
  for (let channel = 0; channel < x.channels; channel++) {
    for (let top = 0; top < height; top++) {
      for (let left = 0; left < width; left++) {
        let most = -Infinity;
        for (let dy = 0; dy < size; dy++) {
          const row = top * stride - padding + dy;
          for (let dx = 0; dx < size; dx++) {
            const column = left * stride - padding + dx;
            if (row < 0 || row >= x.height || column < 0 || column >= x.width) continue;
            most = Math.max(most, x.data[(channel * x.height + row) * x.width + column]);
          }
        }
        data[(channel * height + top) * width + left] = most;
      }
    }
  }
  return { channels: x.channels, height, width, data };
}

function mean(x: Value): Value {
  const area = x.height * x.width;
  const data = new Float32Array(x.channels);
  for (let i = 0; i < x.data.length; i++) data[Math.floor(i / area)] += x.data[i] / area;
  return { channels: x.channels, height: 1, width: 1, data };
}

/** Scaled to length 1; zero stays zero. */
function unit(vector: Float32Array): Float32Array {
  const length = Math.hypot(...vector);
  return length > 0 ? vector.map((value) => value / length) : vector;
}

/** The `k` rows nearest to `point` by Euclidean distance: [row, distance], nearest first; of equals the first row. */
export function nearestRows(rows: Float32Array, point: Float32Array, k: number): [number, number][] {
  const d = point.length;
  const squares = new Float64Array(rows.length / d);
  for (let row = 0; row < squares.length; row++) {
    let sum = 0;
    for (let i = 0, at = row * d; i < d; i++, at++) sum += (rows[at] - point[i]) ** 2;
    squares[row] = sum;
  }
  return Array.from(squares.keys())
    .sort((a, b) => squares[a] - squares[b] || a - b)
    .slice(0, k)
    .map((row) => [row, Math.sqrt(squares[row])]);
}

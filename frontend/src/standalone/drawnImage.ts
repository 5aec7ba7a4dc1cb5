// A drawing made into the image that a net expects, as dmlviz/data/query_image.py does it. Pure: no DOM.
import { maxOf } from "../lib/extent.ts";
import { cut, dilate, gray, resize, shear, type Gray } from "./resample.ts";

/** Framing of the data set's images; see `Framing` in dmlviz/catalog/dataset_spec.py. */
export interface Framing {
  size: number;
  box: number;
  by_mass: boolean;
  photographs: boolean;
  block_counts: boolean;
  point: boolean;
  dark_on_light: boolean;
}

const FAINT = 0.12; // ink below this share of the darkest stroke is paper
const TRIM = 0.05; // the same for photographs
const BLANK = 16; // of 255; less than this is no drawing
// As dmlviz/data/digit_image.py has them.
const [WIDTH, HEIGHT, BLOCK, MIN_WIDTH, MAX_SHEAR, THIN, TARGET_INK, FULL] = [20, 32, 4, 8, 0.6, 15.5, 18, 0.9];

/** The net's input, size × size bytes, of a drawing of side × side bytes of ink; null where there is no ink. */
export function drawnImage(ink: Uint8Array, side: number, framing: Framing): Uint8Array | null {
  const drawing = { width: side, height: side, data: Float32Array.from(ink) };
  const values = [...ink].filter((value) => value > 0).sort((a, b) => a - b);
  const peak = percentile(values, 0.99);
  if (!values.length || peak < BLANK) return null;
  const [white, least] = framing.photographs ? [255, TRIM] : [peak, FAINT];
  drawing.data = drawing.data.map((value) => {
    const share = Math.min(1, value / white);
    return share < least ? 0 : share;
  });
  if (framing.point) return drawDot(...middleOf(drawing));
  const figure = crop(drawing, 0);
  const image = framing.block_counts ? blockCounts(frameDigit(deskew(figure))) : place(figure, framing);
  return Uint8Array.from(image.data, (value) => {
    const byte = Math.max(0, Math.min(255, roundHalfEven(255 * value)));
    return framing.dark_on_light ? 255 - byte : byte;
  });
}

// As dmlviz/ops/dots.py has them.
const [SIDE, UNIT, DOT, GRID] = [28, 9.5, 1.2, 17];

/** The picture of a point of the plane, from -1 to 1. */
export function drawDot(x: number, y: number): Uint8Array {
  const profile = (at: number) =>
    Array.from({ length: SIDE }, (_, i) => Math.exp(-((i - (SIDE - 1) / 2 - UNIT * at) ** 2) / (2 * DOT ** 2)));
  const [across, down] = [profile(x), profile(-y)];
  return Uint8Array.from({ length: SIDE ** 2 }, (_, i) =>
    Math.floor(255 * down[Math.floor(i / SIDE)] * across[i % SIDE] + 0.5),
  );
}

/** Pictures of the corners of a grid of the plane, one after the other. */
export function gridPictures(): Uint8Array {
  const line = (i: number) => (2 * i) / (GRID - 1) - 1;
  const pictures = new Uint8Array(GRID ** 2 * SIDE ** 2);
  for (let i = 0; i < GRID ** 2; i++) pictures.set(drawDot(line(i % GRID), line(Math.floor(i / GRID))), i * SIDE ** 2);
  return pictures;
}

function middleOf({ width, data }: Gray): [number, number] {
  let [mass, across, down] = [0, 0, 0];
  data.forEach((value, i) => {
    mass += value;
    across += value * (i % width);
    down += value * Math.floor(i / width);
  });
  const at = (sum: number) => ((sum / mass + 0.5) / width - 0.5) * (SIDE / UNIT);
  const within = (value: number) => Math.max(-1, Math.min(1, value));
  return [within(at(across)), within(-at(down))];
}

/** Linear between the two nearest values, as NumPy's. */
function percentile(sorted: number[], share: number): number {
  if (!sorted.length) return 0;
  const at = share * (sorted.length - 1);
  const below = Math.floor(at);
  return sorted[below] + (at - below) * ((sorted[below + 1] ?? sorted[below]) - sorted[below]);
}

export function roundHalfEven(value: number): number {
  const whole = Math.round(value);
  return value % 1 === 0.5 && whole % 2 ? whole - 1 : whole;
}

/** The bounding box of the ink. */
function crop(image: Gray, faint = FAINT): Gray {
  const { width, height, data } = image;
  let [left, right, top, bottom] = [width, -1, height, -1];
  for (let row = 0; row < height; row++) {
    for (let column = 0; column < width; column++) {
      if (data[row * width + column] <= faint) continue;
      [left, right] = [Math.min(left, column), Math.max(right, column)];
      [top, bottom] = [Math.min(top, row), Math.max(bottom, row)];
    }
  }
  return cut(image, left, top, right - left + 1, bottom - top + 1);
}

/** Scaled to the box, and centered by mass (MNIST) or by outline (Fashion-MNIST). */
function place(ink: Gray, { size, box, by_mass, photographs }: Framing): Gray {
  const factor = box / Math.max(ink.height, ink.width);
  const sideOf = (length: number) => Math.max(1, roundHalfEven(length * factor));
  const image = resize(ink, sideOf(ink.width), sideOf(ink.height), factor < 1 ? "box" : "bicubic");
  image.data = image.data.map((value) => Math.min(1, Math.max(0, value)));
  if (!photographs) {
    const most = maxOf(image.data, 1e-6);
    image.data = image.data.map((value) => value / most);
  }
  const { width, height } = image;
  let [left, top] = [Math.floor((size - width + 1) / 2), Math.floor((size - height + 1) / 2)];
  if (by_mass) {
    let [mass, across, down] = [0, 0, 0];
    image.data.forEach((value, i) => {
      mass += value;
      across += value * (i % width);
      down += value * Math.floor(i / width);
    });
    [left, top] = [halfDown(size / 2 - across / mass), halfDown(size / 2 - down / mass)];
  }
  const within = (value: number, room: number) => Math.max(0, Math.min(room, value));
  return cut(image, -within(left, size - width), -within(top, size - height), size, size);
}

/** The nearest whole number, halves down; what is within rounding error of a half counts as one. */
const halfDown = (value: number): number => Math.ceil(Math.round(value * 1e6) / 1e6 - 0.5);

/** Sheared upright, and cropped: the slant is that of the less slanted of the lines that join the ends of its rows. */
function deskew(image: Gray): Gray {
  const ink = crop(image);
  const { width, height } = ink;
  const band = Math.max(1, roundHalfEven(height / HEIGHT));
  const profile = (from: number) =>
    Float32Array.from({ length: width }, (_, column) =>
      maxOf(Array.from({ length: band }, (_, row) => ink.data[(from + row) * width + column])),
    );
  const [above, below] = [edges(profile(0)), edges(profile(height - band))];
  const [left, right] = [0, 1].map((end) => (below[end] - above[end]) / height);
  const least = left * right > 0 ? (Math.abs(right) < Math.abs(left) ? right : left) : 0;
  const slant = Math.max(-MAX_SHEAR, Math.min(MAX_SHEAR, least));
  if (!slant) return ink;
  const padding = Math.ceil(Math.abs(slant) * height);
  return crop(shear(cut(ink, -padding, 0, width + 2 * padding, height), slant));
}

/** Begin and end of the ink along a line of pixels; gray pixels count in part. */
function edges(profile: Float32Array): [number, number] {
  const most = maxOf(profile);
  const coverage = Array.from(profile, (value) => value / most);
  const first = coverage.findIndex((value) => value >= FULL);
  const last = coverage.findLastIndex((value) => value >= FULL);
  const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);
  return [first - sum(coverage.slice(0, first)), last + 1 + sum(coverage.slice(last + 1))];
}

/** Stretched into 32 × 32, with strokes about as thick as in the data set. */
function frameDigit(ink: Gray): Gray {
  const total = (frame: Gray) => blockCounts(frame).data.reduce((sum, value) => sum + value, 0);
  let frame = stretch(ink, 0);
  if (total(frame) >= THIN) return frame;
  for (let thickness = 1; thickness <= BLOCK; thickness++) {
    frame = stretch(ink, thickness);
    if (total(frame) >= TARGET_INK) break;
  }
  return frame;
}

function stretch(ink: Gray, thickness: number): Gray {
  const height = HEIGHT - 2 * thickness;
  const profile = Float32Array.from({ length: ink.width }, (_, column) => {
    let most = 0;
    for (let row = 0; row < ink.height; row++) most = Math.max(most, ink.data[row * ink.width + column]);
    return most;
  });
  const [left, right] = edges(profile);
  const width = Math.min(WIDTH - 2 * thickness, Math.max(MIN_WIDTH, ((right - left) * HEIGHT) / ink.height));
  const scale = (right - left) / width;
  const padding = Math.ceil(HEIGHT * scale);
  const [middle, half] = [padding + (left + right) / 2, (HEIGHT / 2) * scale];
  const wide = cut(ink, -padding, 0, ink.width + 2 * padding, ink.height);
  const figure = resize(wide, HEIGHT, height, scale > 1 ? "box" : "bilinear", middle - half, middle + half);
  figure.data = figure.data.map((value) => roundHalfEven(255 * Math.min(1, Math.max(0, value))) / 255);
  let frame = cut(figure, 0, -thickness, HEIGHT, HEIGHT);
  for (let i = 0; i < thickness; i++) frame = dilate(frame);
  return frame;
}

/** The share of ink in each of the 8 × 8 blocks. */
function blockCounts(frame: Gray): Gray {
  const side = HEIGHT / BLOCK;
  const counts = gray(side, side);
  frame.data.forEach((value, i) => {
    const [row, column] = [Math.floor(i / HEIGHT / BLOCK), Math.floor((i % HEIGHT) / BLOCK)];
    counts.data[row * side + column] += value / BLOCK ** 2;
  });
  return counts;
}

// Where embeddings lie on the map: the class fan of dmlviz/ops/linear_projection.py, and frames as dmlviz/runs/frames.py
// has them. Pure: no DOM.
import { maxOf } from "../lib/extent.ts";
import type { FrameMeta } from "../protocol.ts";

/** (x − mean) · componentsᵀ, to two dimensions or three; `explained` is each axis's share of the variance. */
export interface Basis {
  mean: Float64Array;
  components: Float64Array[];
  explained: number[];
  view: "fan" | "plane";
}

/** The map of embeddings (n × d) with their classes: two or three dimensions as they are, of more the class fan. */
export function basisOf(embeddings: Float32Array, labels: ArrayLike<number>, d: number, classes: number): Basis {
  if (d !== 2 && d !== 3) return classFan(embeddings, labels, d, classes);
  const mean = new Float64Array(d);
  const components = Array.from(mean, (_, axis) => unit(d, axis));
  return { mean, components, explained: explained(embeddings, mean, components), view: "plane" };
}

interface Box {
  center: number[];
  scale: number;
}

const LARGEST = 32767;

/** The orthonormal projection that best maps class centers to evenly spaced directions (Schönemann 1966). */
export function classFan(embeddings: Float32Array, labels: ArrayLike<number>, d: number, classes: number): Basis {
  const n = embeddings.length / d;
  const mean = new Float64Array(d);
  const centers = Array.from({ length: classes }, () => new Float64Array(d));
  const counts = new Float64Array(classes);
  for (let i = 0; i < n; i++) {
    counts[labels[i]]++;
    for (let k = 0; k < d; k++) {
      mean[k] += embeddings[i * d + k] / n;
      centers[labels[i]][k] += embeddings[i * d + k];
    }
  }
  const rows: [Float64Array, Float64Array] = [new Float64Array(d), new Float64Array(d)];
  for (let label = 0; label < classes; label++) {
    const angle = (2 * Math.PI * label) / classes;
    for (let k = 0; k < d; k++) {
      const offset = (counts[label] ? centers[label][k] / counts[label] : mean[k]) - mean[k];
      rows[0][k] += Math.sin(angle) * offset;
      rows[1][k] += Math.cos(angle) * offset;
    }
  }
  const components = orthonormal(rows);
  return { mean, components, explained: explained(embeddings, mean, components), view: "fan" };
}

/** The nearest two orthonormal rows: (M Mᵀ)^(-1/2) M. */
function orthonormal([first, second]: [Float64Array, Float64Array]): [Float64Array, Float64Array] {
  const dot = (a: Float64Array, b: Float64Array) => a.reduce((sum, value, k) => sum + value * b[k], 0);
  const [a, b, c] = [dot(first, first), dot(first, second), dot(second, second)];
  const root = Math.sqrt(Math.max(a * c - b * b, 0)); // √ of the determinant
  const trace = Math.sqrt(a + c + 2 * root);
  if (!(root > 1e-12 * (a + c))) return [unit(first.length, 0), unit(first.length, 1)];
  // The root of a 2 × 2 matrix is (M + √det) / √(trace + 2 √det); its inverse swaps the diagonal.
  const scale = 1 / (root * trace);
  const [p, q, r] = [(c + root) * scale, -b * scale, (a + root) * scale];
  const mix = (x: number, y: number) => first.map((value, k) => x * value + y * second[k]);
  return [mix(p, q), mix(q, r)];
}

const unit = (d: number, axis: number): Float64Array => Float64Array.from({ length: d }, (_, k) => Number(k === axis));

function explained(embeddings: Float32Array, mean: Float64Array, components: Float64Array[]): number[] {
  const d = mean.length;
  let total = 0;
  for (let i = 0; i < embeddings.length; i++) total += (embeddings[i] - mean[i % d]) ** 2;
  const along = project(embeddings, { mean, components });
  return components.map((_, axis) => {
    let sum = 0;
    for (let i = axis; i < along.length; i += components.length) sum += along[i] ** 2;
    return total > 0 ? sum / total : 0;
  });
}

/** Positions (n × axes) of embeddings (n × d). */
export function project(
  embeddings: Float32Array,
  { mean, components }: Omit<Basis, "explained" | "view">,
): Float32Array {
  const d = mean.length;
  const [n, axes] = [embeddings.length / d, components.length];
  const positions = new Float32Array(axes * n);
  for (let i = 0; i < n; i++)
    for (let axis = 0; axis < axes; axis++) {
      let sum = 0;
      for (let k = 0; k < d; k++) sum += (embeddings[i * d + k] - mean[k]) * components[axis][k];
      positions[axes * i + axis] = sum;
    }
  return positions;
}

/** The square, or the cube, around points, scaled by `room`; never of size 0. */
export function boxAround(positions: Float32Array[], room: number, axes = 2): Box {
  const low = new Array<number>(axes).fill(Infinity);
  const high = new Array<number>(axes).fill(-Infinity);
  for (const points of positions)
    for (let i = 0; i < points.length; i++) {
      low[i % axes] = Math.min(low[i % axes], points[i]);
      high[i % axes] = Math.max(high[i % axes], points[i]);
    }
  const extent = maxOf(low.map((least, axis) => high[axis] - least)) / 2;
  return { center: low.map((least, axis) => (least + high[axis]) / 2), scale: Math.max(extent * room, 1e-6) };
}

/** A box that changes in few steps, so that a map scaled to it does not tremble. */
export class SteadyBox {
  private box: Box | null = null;

  around(positions: Float32Array, axes = 2): Box {
    const now = boxAround([positions], 1, axes);
    const { box } = this;
    const offset = box ? maxOf(box.center.map((x, i) => Math.abs(x - now.center[i]))) : 0;
    const fits = box && offset + now.scale <= box.scale && now.scale >= 0.6 * box.scale;
    return (this.box = fits ? box : boxAround([positions], 1.15, axes));
  }
}

let made = 0;
const own = Math.floor(Math.random() * 2 ** 32)
  .toString(16)
  .padStart(8, "0");

/** Positions as int16 in a box, with an ID of this page; `keep.ts` gives them the IDs that files have. */
export function quantized(
  positions: Float32Array,
  box: Box,
  items: "tracked" | "all",
): { meta: FrameMeta; data: Int16Array<ArrayBuffer> } {
  const dims = box.center.length;
  const data = Int16Array.from(positions, (x, i) =>
    Math.max(-LARGEST, Math.min(LARGEST, Math.round(((x - box.center[i % dims]) * LARGEST) / box.scale))),
  );
  const id = own + (made++).toString(16).padStart(8, "0");
  return { meta: { id, n: positions.length / dims, dims, center: box.center, scale: box.scale, items }, data };
}

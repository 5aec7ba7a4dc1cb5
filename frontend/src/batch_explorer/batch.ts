// One recorded batch as the browser got it, with arrays out of base64. Pure: no DOM.
import type { BatchAnswer, BatchTerms, ComparedTuples, SpriteSheets } from "../protocol.ts";
import { decodeBase64 } from "../lib/base64.ts";

/** Little-endian numbers, as every machine that has a browser keeps them. */
const KINDS = { "<f4": Float32Array, "<i2": Int16Array, "<u4": Uint32Array, u1: Uint8Array } as const;

type Kind = keyof typeof KINDS;
type Numbers<K extends Kind> = InstanceType<(typeof KINDS)[K]>;

/** A comparison: images, or an image and two classes. */
export type Row = number[];

/** A batch out of base64. */
export interface LoadedBatch extends Omit<BatchAnswer, "places" | "moved" | "push" | "force" | "centers" | "sheet"> {
  n: number;
  /** What one of its items is. */
  noun: string;
  /** Class of each image as the loss sees it: without labels, the image that each is a view of. */
  groups: number[];
  space: ImageSpace;
  rows: Row[];
  /** The terms of each row, once the server has sent them, or the reason why it has not. */
  terms: BatchTerms | null;
  termsError: string;
  places: Float32Array;
  moved: Float32Array;
  push: Float32Array;
  force: Float32Array;
  hardness: Uint8Array;
  centers: { labels: number[]; places: Float32Array; meaning: "mean" | "center" | "weight" } | null;
  sheet: SpriteSheets;
  tuples: ComparedTuples;
}

type Named = Pick<LoadedBatch, "classes" | "labels" | "images" | "copy_of" | "noun">;
/** Class of an image for the loss: its class, or without labels itself. */
export const nameOf = (b: Named, image: number): string =>
  b.copy_of ? `${b.noun} ${b.images[image]}` : b.classes[b.labels[image]];

/** The numbers in a base64 text. */
export function unpack<K extends Kind>(text: string, kind: K): Numbers<K> {
  return new KINDS[kind](decodeBase64(text).buffer) as Numbers<K>;
}

/** A batch out of what dmlviz/runs/…/batches/STEP.json answers (see app/dmlviz_app/batch_explorer/payloads.py). */
export function parseBatch(answer: BatchAnswer, begun = "", noun = "image"): LoadedBatch {
  const { tuples } = answer;
  const n = answer.labels.length;
  const before = Float64Array.from(unpack(answer.before, "<f4"));
  return {
    ...answer,
    n,
    noun,
    groups: answer.copy_of ?? answer.labels,
    space: new ImageSpace(toRows(before, before.length / n), answer.curvature),
    rows: toRows(unpack(tuples.rows, "<i2"), tuples.kind === "pairs" ? 2 : 3).map((row) => [...row]),
    terms: null,
    termsError: "",
    places: unpack(answer.places, "<f4"),
    moved: unpack(answer.moved, "<f4"),
    push: unpack(answer.push, "<f4"),
    force: unpack(answer.force, "<f4"),
    hardness: unpack(tuples.hardness, "u1"),
    centers: answer.centers && { ...answer.centers, places: unpack(answer.centers.places, "<f4") },
    sheet: { tile: 1, ...answer.sheet, urls: (answer.sheet?.urls ?? []).map((image) => `${image}?${begun}`) },
  };
}

const toRows = <T extends Int16Array | Float64Array>(values: T, width: number): T[] =>
  Array.from({ length: values.length / width }, (_, i) => values.subarray(i * width, (i + 1) * width) as T);

/** Images in the order of their classes, those of a class as they came. */
export function sortByClass(labels: number[]): number[] {
  return labels.map((_, i) => i).sort((a, b) => labels[a] - labels[b] || a - b);
}

/** Begin and end of a class in an order by class. */
export interface Band {
  label: number;
  from: number;
  to: number;
}

export function classBands(labels: number[], order: number[]): Band[] {
  const bands: Band[] = [];
  order.forEach((image, place) => {
    const last = bands.at(-1);
    if (last?.label === labels[image]) last.to = place + 1;
    else bands.push({ label: labels[image], from: place, to: place + 1 });
  });
  return bands;
}

/** The distance measure; "cosine" is 1 − cosine. */
export type Measure = BatchAnswer["thresholds"]["measure"];

/** What a distance is called; in a ball the Euclidean one is hyperbolic. */
export const named = (measure: string, curved: boolean): string =>
  curved ? measure.replace("Euclidean", "hyperbolic") : measure;

const SHORTEST = 1e-12; // below this a point has no direction

/** The embeddings of a batch. */
export class ImageSpace {
  private directions: Float64Array[] | null = null;

  /** Points of a Poincaré ball of a curvature have its distance for the Euclidean one; 0 for no ball. */
  constructor(
    private readonly points: Float64Array[],
    private readonly curvature = 0,
  ) {}

  /** The distance of images i and j; a cosine is 0 where one has no direction. */
  distance(i: number, j: number, measure: Measure): number {
    if (measure === "cosine") {
      this.directions ??= this.points.map(direction);
      return i === j ? 0 : 1 - dot(this.directions[i], this.directions[j]);
    }
    const apart = squaredDistance(this.points[i], this.points[j]);
    const squared = this.curvature ? this.inBall(apart, this.points[i], this.points[j]) : apart;
    return measure === "sqeuclidean" ? squared : Math.sqrt(squared);
  }

  private inBall(squared: number, a: Float64Array, b: Float64Array): number {
    const room = (1 - this.curvature * dot(a, a)) * (1 - this.curvature * dot(b, b));
    return (4 * Math.asinh(Math.sqrt((this.curvature * squared) / room)) ** 2) / this.curvature;
  }

  /** All distances, n × n, row after row. */
  matrix(measure: Measure): Float32Array<ArrayBuffer> {
    const n = this.points.length;
    const distances = new Float32Array(n * n);
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < i; j++) distances[i * n + j] = distances[j * n + i] = this.distance(i, j, measure);
    }
    return distances;
  }
}

function dot(a: Float64Array, b: Float64Array): number {
  let total = 0;
  for (let k = 0; k < a.length; k++) total += a[k] * b[k];
  return total;
}

function squaredDistance(a: Float64Array, b: Float64Array): number {
  let total = 0;
  for (let k = 0; k < a.length; k++) total += (a[k] - b[k]) ** 2;
  return total;
}

function direction(point: Float64Array): Float64Array {
  const length = Math.sqrt(dot(point, point));
  return point.map((x) => (length < SHORTEST ? 0 : x / length));
}

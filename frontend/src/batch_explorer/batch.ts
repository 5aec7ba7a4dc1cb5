// One recorded batch as the browser got it: arrays out of base64, distances when asked for. Pure: no DOM.
import { Batch } from "../losses/batch.ts";
import { FORMULAS } from "../losses/index.ts";
import { PROXY_LOSSES } from "../losses/proxies.ts";
import type { Formula, LossBatch } from "../losses/types.ts";
import type { BatchAnswer, Compared, SpriteSheets } from "../protocol.ts";
import { decodeBase64 } from "../lib/base64.ts";

/** Little-endian numbers, as every machine that has a browser keeps them. */
const KINDS = { "<f4": Float32Array, "<i2": Int16Array, "<u4": Uint32Array, u1: Uint8Array } as const;

type Kind = keyof typeof KINDS;
type Numbers<K extends Kind> = InstanceType<(typeof KINDS)[K]>;

/** A comparison: images, or an image and two classes. */
export type Row = number[];

/** How distances are measured. */
export type Measure = BatchAnswer["reach"]["measure"];

/** A batch out of base64, and as its loss sees it. */
export interface LoadedBatch extends Omit<BatchAnswer, "places" | "moved" | "push" | "force" | "centers" | "sheet"> {
  n: number;
  batch: LossBatch;
  /** What the loss makes of it; empty for a loss that does not tell its terms. */
  formula: Formula;
  params: Record<string, unknown>;
  rows: Row[];
  /** The values of the terms of each row, once the server has told them. */
  terms: number[][] | null;
  places: Float32Array;
  moved: Float32Array;
  push: Float32Array;
  force: Float32Array;
  hardness: Uint8Array;
  centers: { labels: number[]; places: Float32Array; meaning: "mean" | "center" | "weight" } | null;
  sheet: SpriteSheets;
  seen: Compared;
}

const LOSSES = FORMULAS as unknown as Partial<
  Record<string, (batch: LossBatch, params: Record<string, unknown>) => Formula>
>;
const PROXIES: object = PROXY_LOSSES;

/** The numbers in a base64 text. */
export function unpack<K extends Kind>(text: string, kind: K): Numbers<K> {
  return new KINDS[kind](decodeBase64(text).buffer) as Numbers<K>;
}

/** A batch out of what dmlviz/runs/…/batches/STEP.json answers (see app/payloads/batches.py), and as its loss sees it. */
export function parseBatch(told: BatchAnswer): LoadedBatch {
  const {
    seen,
    anchored,
    loss_of: { name, params },
  } = told;
  const n = told.labels.length;
  const before = unpack(told.before, "<f4");
  const rows = toRows(unpack(seen.rows, "<i2"), seen.kind === "pairs" ? 2 : 3).map((row) => [...row]);
  const own: Record<string, unknown> = Object.fromEntries(
    Object.entries(told.learned).map(([weight, { shape, data }]) => [weight, shaped(data, shape)]),
  );
  const numbered = told.labels.map((label) => told.seen_classes.indexOf(label)); // as the class weights are
  const listed = seen.by === "selection" ? { [seen.kind]: rows } : {};
  const batch = new Batch(toRows(Float64Array.from(before), before.length / n), numbered, {
    ...listed,
    anchored,
    own,
  }) as unknown as LossBatch;
  const unknown = name in PROXIES && !own.weight; // too large to be kept, see dmlviz/training/batch_recorder.py
  return {
    ...told,
    n,
    batch,
    formula: unknown ? {} : (LOSSES[name]?.(batch, params) ?? {}),
    params,
    rows,
    terms: null,
    places: unpack(told.places, "<f4"),
    moved: unpack(told.moved, "<f4"),
    push: unpack(told.push, "<f4"),
    force: unpack(told.force, "<f4"),
    hardness: unpack(seen.hardness, "u1"),
    centers: told.centers && { ...told.centers, places: unpack(told.centers.places, "<f4") },
    sheet: told.sheet ?? { urls: [], tile: 1 },
  };
}

const toRows = <T extends Int16Array | Float64Array>(values: T, width: number): T[] =>
  Array.from({ length: values.length / width }, (_, i) => values.subarray(i * width, (i + 1) * width) as T);

function shaped(data: string, [length, width]: number[]): number | number[] | Float64Array[] {
  const values = Float64Array.from(unpack(data, "<f4"));
  return width === undefined ? (length === undefined ? values[0] : [...values]) : toRows(values, width);
}

/** All distances, n × n, row after row, in a measure's own words; "cosine" is 1 − cosine. */
export function distanceMatrix(
  { n, batch }: Pick<LoadedBatch, "n" | "batch">,
  measure: Measure,
): Float32Array<ArrayBuffer> {
  const found = new Float32Array(n * n);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < i; j++) found[i * n + j] = found[j * n + i] = batch.d(i, j, measure);
  }
  return found;
}

/** Images in the order of their classes, those of a class as they came. */
export function sortByClass(labels: number[]): number[] {
  return labels.map((_, i) => i).sort((a, b) => labels[a] - labels[b] || a - b);
}

/** Where a class begins and ends in an order by class. */
export interface Band {
  label: number;
  from: number;
  to: number;
}

export function classBands(labels: number[], order: number[]): Band[] {
  const found: Band[] = [];
  order.forEach((image, place) => {
    const last = found.at(-1);
    if (last?.label === labels[image]) last.to = place + 1;
    else found.push({ label: labels[image], from: place, to: place + 1 });
  });
  return found;
}

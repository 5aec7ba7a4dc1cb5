// Contribution of every image to the scores: the images that fail a score, class by class, and their confusions.
import { ROUTES, fetchAnswer } from "./server.ts";

const BYTES = 4;
const INT_COLUMNS = ["items", "labels", "nearest", "firstHit", "vote"] as const;
const FLOAT_COLUMNS = ["rPrecision", "averagePrecision"] as const;
const WORST_FRACTION = 0.05; // the share of images called the worst by a score that has no threshold of its own

/** A row an image: its class, who is nearest to it, at which rank the first of its class comes, what its nearest vote. */
export interface PerImage
  extends Record<(typeof INT_COLUMNS)[number], Int32Array>, Record<(typeof FLOAT_COLUMNS)[number], Float32Array> {
  n: number;
}

/** The rows that fail a score, and the meaning of failing it. */
interface Failure {
  fails: (i: number) => boolean;
  words: string;
}

export interface ClassScore {
  label: number;
  n: number;
  precision_at_1: number;
  recall_at_5: number;
  map_at_r: number;
  r_precision: number;
  knn_accuracy: number;
}

/** Read the columns of dmlviz/runs/{run}/per_query.bin. */
export function parsePerImage(buffer: ArrayBuffer): PerImage {
  const n = buffer.byteLength / BYTES / (INT_COLUMNS.length + FLOAT_COLUMNS.length);
  if (!Number.isInteger(n))
    throw new Error(`what was judged has ${buffer.byteLength} bytes, which is no whole number of rows`);
  const scores = { n } as PerImage;
  INT_COLUMNS.forEach((name, c) => (scores[name] = new Int32Array(buffer, BYTES * n * c, n)));
  FLOAT_COLUMNS.forEach(
    (name, c) => (scores[name] = new Float32Array(buffer, BYTES * n * (INT_COLUMNS.length + c), n)),
  );
  return scores;
}

const answers = new Map<string, Promise<PerImage>>();

/**
 * Ask once a page for the images of a run judged at a step, or at its end where `step` is null; with `near`, where there
 * are very many, only by their nearest neighbors: much sooner, without the scores at R.
 */
export function fetchPerImage(run: string, begun: string | null, step: number | null, near = false): Promise<PerImage> {
  const url = `${ROUTES}/runs/${run}/per_query.bin?v=${begun}${step === null ? "" : `&step=${step}`}${near ? "&near=1" : ""}`;
  let wait = answers.get(url);
  if (!wait) {
    wait = fetchAnswer(url, "The images").then(async (response) => parsePerImage(await response.arrayBuffer()));
    wait.catch(() => answers.delete(url));
    answers.set(url, wait);
    if (answers.size > 40) answers.delete(answers.keys().next().value as string);
  }
  return wait;
}

// The images in the lowest 5%, without those that have the largest possible value.
function lowest(values: Float32Array, name: string): Failure {
  const sorted = Float32Array.from(values).sort();
  const limit = Math.min(sorted[Math.max(0, Math.ceil(WORST_FRACTION * sorted.length) - 1)] ?? 0, 1);
  return {
    fails: (i) => values[i] <= limit && values[i] < 1,
    words: `The lowest 5% by ${name}: up to ${limit.toFixed(3)}`,
  };
}

const FAILURE_CRITERIA: Record<string, (scores: PerImage) => Failure> = {
  precision_at_1: ({ firstHit }) => ({
    fails: (i) => firstHit[i] > 1,
    words: "Their nearest neighbor is of a different class",
  }),
  recall_at_5: ({ firstHit }) => ({
    fails: (i) => firstHit[i] > 5,
    words: "None of their 5 nearest neighbors is of their own class",
  }),
  map_at_r: ({ averagePrecision }) => lowest(averagePrecision, "average precision at R"),
  r_precision: ({ rPrecision }) => lowest(rPrecision, "R-precision"),
  knn_accuracy: ({ vote, labels }) => ({
    fails: (i) => vote[i] !== labels[i],
    words: "Their 5 nearest neighbors vote for a different class",
  }),
};

/** True if the nearest neighbors of an image tell whether it fails a score. */
export const isNear = (score: string): boolean => !["map_at_r", "r_precision"].includes(score);

/** True if single images can fail a score. */
export const isTestable = (score: string): boolean => score in FAILURE_CRITERIA;

/** The images that fail `score`: {items, words}, the words saying what that means. */
export function failingItems(scores: PerImage, score: string): { items: number[]; words: string } {
  const { fails, words } = FAILURE_CRITERIA[score](scores);
  return { items: [...scores.items].filter((_, i) => fails(i)), words };
}

/** Number of images of class `own` whose nearest neighbor is of class `taken`. */
export interface Confusion {
  own: number;
  taken: number;
  count: number;
}

/** Every pair of a true class and the class of the nearest neighbor that occurs, those of two classes included. */
export function confusionsOf({ n, items, labels, nearest }: PerImage): Confusion[] {
  const labelOf = new Map([...items].map((item, i) => [item, labels[i]]));
  const confusions = new Map<string, Confusion>();
  for (let i = 0; i < n; i++) {
    const taken = labelOf.get(nearest[i]);
    if (taken === undefined) continue;
    const own = labels[i];
    const key = `${own}-${taken}`;
    const confusion = confusions.get(key);
    if (confusion) confusion.count++;
    else confusions.set(key, { own, taken, count: 1 });
  }
  return [...confusions.values()];
}

/** The items of class `own` whose nearest neighbor is of class `taken`. */
export function predictedAs({ items, labels, nearest }: PerImage, own: number, taken: number): number[] {
  const labelOf = new Map([...items].map((item, i) => [item, labels[i]]));
  return [...items].filter((_, i) => labels[i] === own && labelOf.get(nearest[i]) === taken);
}

/** The mean scores of each of `k` classes that has images. */
export function classScores(scores: PerImage, k: number): ClassScore[] {
  const rows = Array.from({ length: k }, (_, label) => ({
    label,
    n: 0,
    precision_at_1: 0,
    recall_at_5: 0,
    map_at_r: 0,
    r_precision: 0,
    knn_accuracy: 0,
  }));
  for (let i = 0; i < scores.n; i++) {
    const row = rows[scores.labels[i]];
    row.n++;
    row.precision_at_1 += Number(scores.firstHit[i] === 1);
    row.recall_at_5 += Number(scores.firstHit[i] <= 5);
    row.map_at_r += scores.averagePrecision[i];
    row.r_precision += scores.rPrecision[i];
    row.knn_accuracy += Number(scores.vote[i] === scores.labels[i]);
  }
  return rows
    .filter(({ n }) => n)
    .map(({ label, n, ...sums }) => ({
      label,
      n,
      ...(Object.fromEntries(Object.entries(sums).map(([name, sum]) => [name, sum / n])) as typeof sums),
    }));
}

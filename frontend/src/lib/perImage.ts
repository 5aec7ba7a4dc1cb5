// @ts-nocheck
// What every image contributes to the scores, as the server judged it: which fail a score, class by class, taken for what.

const BYTES = 4;
const WHOLE = ["items", "labels", "nearest", "firstHit", "vote"];
const PARTS = ["rPrecision", "averagePrecision"];
const LOWEST = 0.05; // the share of images called the worst by a score that has no threshold of its own

/** Read the columns of /api/runs/{run}/judged.bin. */
export function readJudged(buffer) {
  const n = buffer.byteLength / BYTES / (WHOLE.length + PARTS.length);
  if (!Number.isInteger(n)) throw new Error(`what was judged has ${buffer.byteLength} bytes, which is no whole number of rows`);
  const judged = { n };
  WHOLE.forEach((name, c) => (judged[name] = new Int32Array(buffer, BYTES * n * c, n)));
  PARTS.forEach((name, c) => (judged[name] = new Float32Array(buffer, BYTES * n * (WHOLE.length + c), n)));
  return judged;
}

const kept = new Map();

/** Ask once a page for the images of a run judged at a step, or at its end where `step` is null. */
export function loadJudged(events_url, begun, step, fetch = globalThis.fetch) {
  const url = `${events_url.replace(/\/events.*$/, "")}/judged.bin?v=${begun}${step === null ? "" : `&step=${step}`}`;
  if (!kept.has(url)) {
    const wait = fetch(url).then(async (response) => {
      if (!response.ok) throw new Error((await response.json()).error ?? `the server answered ${response.status}`);
      return readJudged(await response.arrayBuffer());
    });
    wait.catch(() => kept.delete(url));
    kept.set(url, wait);
    if (kept.size > 40) kept.delete(kept.keys().next().value);
  }
  return kept.get(url);
}

// The images below the value that 5 % of them do not reach; nobody who has all there is to have.
function lowest(values, name) {
  const sorted = Float32Array.from(values).sort();
  const bound = Math.min(sorted[Math.max(0, Math.ceil(LOWEST * sorted.length) - 1)] ?? 0, 1);
  return {
    fails: (i) => values[i] <= bound && values[i] < 1,
    words: `The lowest 5 % by ${name}: up to ${bound.toFixed(3)}`,
  };
}

const TESTS = {
  precision_at_1: ({ firstHit }) => ({ fails: (i) => firstHit[i] > 1, words: "Their nearest neighbour is of another class" }),
  recall_at_5: ({ firstHit }) => ({ fails: (i) => firstHit[i] > 5, words: "None of their 5 nearest is of their own class" }),
  map_at_r: ({ averagePrecision }) => lowest(averagePrecision, "average precision at R"),
  r_precision: ({ rPrecision }) => lowest(rPrecision, "R-precision"),
  knn_accuracy: ({ vote, labels }) => ({ fails: (i) => vote[i] !== labels[i], words: "Their 5 nearest vote for another class" }),
};

/** Whether single images can fail a score. */
export const isTestable = (score) => score in TESTS;

/** The images that fail `score`: {items, words}, the words saying what that means. */
export function failing(judged, score) {
  const { fails, words } = TESTS[score](judged);
  return { items: [...judged.items].filter((_, i) => fails(i)), words };
}

/** counts[true class][class of the nearest neighbour] over `k` classes. */
export function confusionOf({ n, items, labels, nearest }, k) {
  const labelOf = new Map([...items].map((item, i) => [item, labels[i]]));
  const counts = Array.from({ length: k }, () => new Array(k).fill(0));
  for (let i = 0; i < n; i++) {
    const taken = labelOf.get(nearest[i]);
    if (taken !== undefined) counts[labels[i]][taken]++;
  }
  return counts;
}

/** The items of class `own` whose nearest neighbour is of class `taken`. */
export function takenFor({ items, labels, nearest }, own, taken) {
  const labelOf = new Map([...items].map((item, i) => [item, labels[i]]));
  return [...items].filter((_, i) => labels[i] === own && labelOf.get(nearest[i]) === taken);
}

/** The mean scores of each of `k` classes: [{label, n, precision_at_1, recall_at_5, map_at_r, r_precision, knn_accuracy}]. */
export function classScores(judged, k) {
  const rows = Array.from({ length: k }, (_, label) => ({
    label, n: 0, precision_at_1: 0, recall_at_5: 0, map_at_r: 0, r_precision: 0, knn_accuracy: 0,
  }));
  for (let i = 0; i < judged.n; i++) {
    const row = rows[judged.labels[i]];
    row.n++;
    row.precision_at_1 += judged.firstHit[i] === 1;
    row.recall_at_5 += judged.firstHit[i] <= 5;
    row.map_at_r += judged.averagePrecision[i];
    row.r_precision += judged.rPrecision[i];
    row.knn_accuracy += judged.vote[i] === judged.labels[i];
  }
  return rows.filter(({ n }) => n).map(({ label, n, ...sums }) => ({
    label, n, ...Object.fromEntries(Object.entries(sums).map(([name, sum]) => [name, sum / n])),
  }));
}

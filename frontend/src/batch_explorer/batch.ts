// @ts-nocheck
// One recorded batch as the browser got it: arrays out of base64, distances when asked for. Pure: no DOM.
import { Batch } from "../losses/batch.ts";
import { FORMULAS } from "../losses/index.ts";
import { PROXY_LOSSES } from "../losses/proxies.ts";

const KINDS = { "<f4": Float32Array, "<i2": Int16Array, "<u4": Uint32Array, u1: Uint8Array };

/** The little-endian numbers in a base64 text. */
export function unpack(text, kind) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new KINDS[kind](bytes.buffer);
}

/** A batch out of what /api/runs/…/batches/STEP.json answers (see app/batches.py), and as its loss sees it. */
export function readBatch(told) {
  const { seen, anchored, loss_of: { name, params } } = told;
  const n = told.labels.length;
  const before = unpack(told.before, "<f4");
  const rows = rowsOf(unpack(seen.rows, "<i2"), seen.kind === "pairs" ? 2 : 3).map((row) => [...row]);
  const own = Object.fromEntries(Object.entries(told.learned).map(([weight, { shape, data }]) => [weight, shaped(data, shape)]));
  const numbered = told.labels.map((label) => told.seen_classes.indexOf(label)); // as the class weights are
  const listed = seen.by === "selection" ? { [seen.kind]: rows } : {};
  const batch = new Batch(rowsOf(Float64Array.from(before), before.length / n), numbered, { ...listed, anchored, own });
  const unknown = name in PROXY_LOSSES && !own.weight; // too large to be kept, see dmlviz/witness.py
  return {
    ...told,
    n,
    batch,
    formula: unknown ? {} : FORMULAS[name](batch, params),
    params,
    rows,
    places: unpack(told.places, "<f4"),
    moved: unpack(told.moved, "<f4"),
    push: unpack(told.push, "<f4"),
    force: unpack(told.force, "<f4"),
    hardness: unpack(seen.hardness, "u1"),
    centres: told.centres && { ...told.centres, places: unpack(told.centres.places, "<f4") },
  };
}

const rowsOf = (values, width) =>
  Array.from({ length: values.length / width }, (_, i) => values.subarray(i * width, (i + 1) * width));

function shaped(data, [length, width]) {
  const values = Float64Array.from(unpack(data, "<f4"));
  return width === undefined ? (length === undefined ? values[0] : [...values]) : rowsOf(values, width);
}

/** All distances, n × n, row after row, in a measure's own words; "cosine" is 1 − cosine. */
export function matrix({ n, batch }, measure) {
  const found = new Float32Array(n * n);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < i; j++) found[i * n + j] = found[j * n + i] = batch.d(i, j, measure);
  }
  return found;
}

/** Images in the order of their classes, those of a class as they came. */
export function byClass(labels) {
  return labels.map((_, i) => i).sort((a, b) => labels[a] - labels[b] || a - b);
}

/** Where each class begins and ends in an order by class: [{label, from, to}]. */
export function bands(labels, order) {
  const found = [];
  order.forEach((image, place) => {
    const last = found.at(-1);
    if (last?.label === labels[image]) last.to = place + 1;
    else found.push({ label: labels[image], from: place, to: place + 1 });
  });
  return found;
}

// One recorded batch as the browser got it: arrays out of base64, distances when asked for. Pure: no DOM.

const KINDS = { "<f4": Float32Array, "<i2": Int16Array, "<u4": Uint32Array, u1: Uint8Array };

/** The little-endian numbers in a base64 text. */
export function unpack(text, kind) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new KINDS[kind](bytes.buffer);
}

/** A batch out of what /api/runs/…/batches/STEP.json answers; see app/batches.py. */
export function readBatch(told) {
  const n = told.labels.length;
  const before = unpack(told.before, "<f4");
  const rows = unpack(told.seen.rows, "<i2");
  const width = told.seen.kind === "pairs" ? 2 : 3;
  const learned = Object.fromEntries(
    Object.entries(told.learned).map(([name, { shape, data }]) => [name, { shape, values: unpack(data, "<f4") }]),
  );
  return {
    ...told,
    n,
    width: n ? before.length / n : 0,
    before,
    places: unpack(told.places, "<f4"),
    moved: unpack(told.moved, "<f4"),
    push: unpack(told.push, "<f4"),
    force: unpack(told.force, "<f4"),
    learned,
    own: told.labels.map((label) => told.seen_classes.indexOf(label)), // its row among the class weights
    params: told.loss_of.params,
    rows: Array.from({ length: rows.length / width }, (_, i) => [...rows.subarray(i * width, (i + 1) * width)]),
    hardness: unpack(told.seen.hardness, "u1"),
    centres: told.centres && { ...told.centres, places: unpack(told.centres.places, "<f4") },
    space: new Space(before, n),
  };
}

/** The embeddings of a batch (n rows), and how far apart they are. */
export class Space {
  constructor(rows, n) {
    this.rows = rows;
    this.n = n;
    this.d = n ? rows.length / n : 0;
    this.lengths = Float64Array.from({ length: n }, (_, i) => Math.sqrt(this.dot(i, i)));
  }

  dot(i, j) {
    let sum = 0;
    for (let k = 0; k < this.d; k++) sum += this.rows[i * this.d + k] * this.rows[j * this.d + k];
    return sum;
  }

  cosine(i, j) {
    const size = this.lengths[i] * this.lengths[j];
    return size > 0 ? this.dot(i, j) / size : 0;
  }

  euclidean(i, j) {
    return Math.sqrt(this.sqeuclidean(i, j));
  }

  sqeuclidean(i, j) {
    let sum = 0;
    for (let k = 0; k < this.d; k++) sum += (this.rows[i * this.d + k] - this.rows[j * this.d + k]) ** 2;
    return sum;
  }

  /** Distance in a measure's own words; "cosine" is 1 − cosine. */
  between(measure, i, j) {
    return measure === "cosine" ? 1 - this.cosine(i, j) : this[measure](i, j);
  }

  /** All distances, n × n, row after row. */
  matrix(measure) {
    const { n } = this;
    const found = new Float32Array(n * n);
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < i; j++) found[i * n + j] = found[j * n + i] = this.between(measure, i, j);
    }
    return found;
  }
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

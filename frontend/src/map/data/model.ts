// @ts-nocheck
// What is known of the items, apart from where they are: labels, hidden classes, selection, pin.

/** The items of one data set and what the person did with them. */
export class Model {
  constructor(classes, labels, n) {
    this.classes = classes;
    this.n = n;
    this.labels = labels ?? new Uint8Array(n);
    this.hidden = new Set();
    this.selected = null; // a byte an item, or null
    this.pinned = null;
    this.neighbours = [];
    this.numbers = null; // what points are graded by: {numbers: Float32Array(n), low, high, alarming(share)}
    this.nearest = null; // {items: Int32Array(n), distances: Float32Array(n)} in the embedding
  }

  /** Whether the class of item i is shown. */
  shows(i) {
    return !this.hidden.has(this.labels[i]);
  }

  /** A byte an item: has a place in this frame and its class is shown. Nothing else can be picked or selected. */
  usable(present) {
    const usable = new Uint8Array(this.n);
    const shown = this.classes.map((_, c) => (this.hidden.has(c) ? 0 : 1));
    for (let i = 0; i < this.n; i++) usable[i] = present[i] ? (shown[this.labels[i]] ?? 1) : 0;
    return usable;
  }

  /** Hide or show a class; hidden items leave the selection. */
  toggleClass(c) {
    if (!this.hidden.delete(c)) this.hidden.add(c);
    this.dropHidden();
  }

  /** Show this class only; again, and all are back. */
  soloClass(c) {
    const alone = !this.hidden.has(c) && this.hidden.size === this.classes.length - 1;
    this.hidden = new Set(alone ? [] : this.classes.map((_, other) => other).filter((other) => other !== c));
    this.dropHidden();
  }

  dropHidden() {
    if (!this.selected) return;
    for (let i = 0; i < this.n; i++) if (this.selected[i] && !this.shows(i)) this.selected[i] = 0;
    if (!this.selected.some(Boolean)) this.selected = null;
  }

  /** Select what `mask` holds: instead of what was selected, in addition to it or taken away from it. */
  select(mask, how = "replace") {
    const next = how === "replace" || !this.selected ? new Uint8Array(this.n) : this.selected.slice();
    for (let i = 0; i < this.n; i++) if (mask[i]) next[i] = how === "subtract" ? 0 : 1;
    this.selected = next.some(Boolean) ? next : null;
  }

  /** For each class how many items are present and how many of those are selected. */
  counts(present) {
    const total = this.classes.map(() => 0);
    const selected = this.classes.map(() => 0);
    for (let i = 0; i < this.n; i++) {
      if (!present[i]) continue;
      total[this.labels[i]]++;
      if (this.selected?.[i]) selected[this.labels[i]]++;
    }
    return { total, selected };
  }

  /** Whether the nearest neighbour of item i is of another class; false where that is not known. */
  isWrong(i) {
    return this.nearest !== null && this.labels[this.nearest.items[i]] !== this.labels[i];
  }

  /** The nearest neighbour of item i as {item, distance}, or null where that is not known. */
  nearestOf(i) {
    if (i === this.pinned && this.neighbours.length) return this.neighbours[0];
    return this.nearest && { item: this.nearest.items[i], distance: this.nearest.distances[i] };
  }
}

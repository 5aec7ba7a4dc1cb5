// What is known of the items, apart from where they are: labels, hidden classes, selection, pin.
import { UNLABELED } from "../../lib/palette.ts";

/** The nearest neighbor of each item in the embedding. */
export interface Nearest {
  items: Int32Array;
  distances: Float32Array;
  accuracy?: Accuracy | null;
}

/** Of neighbors that an index found: the share of the 10 nearest that is right, and on how many items that was measured. */
export interface Accuracy {
  recall: number;
  measured: number;
}

/** What points are graded by; `alarming` turns a share from low to high into 0 (well) to 1 (look here). */
export interface Grades {
  url: string;
  numbers: Float32Array;
  low: number;
  high: number;
  alarming: (share: number) => number;
  accuracy?: Accuracy | null;
}

/** Categories that items are grouped by in place of their classes: names, and which of them each item has. */
export interface Grouping {
  url: string;
  names: string[];
  ids: Uint16Array;
}

export interface NeighborLink {
  item: number;
  distance?: number;
}

export type SelectMode = "replace" | "add" | "subtract";

/** The items of one data set and what the person did with them. */
export class Model {
  labels: Uint16Array;
  hidden = new Set<number>();
  /** A byte an item, or null. */
  selected: Uint8Array | null = null;
  /** A byte an item: those that alone are shown; null where all are. */
  isolated: Uint8Array | null = null;
  pinned: number | null = null;
  neighbors: NeighborLink[] = [];
  grades: Grades | null = null;
  grouping: Grouping | null = null;
  /** Categories that the shapes of markers stand for, in place of the classes. */
  marking: Grouping | null = null;
  nearest: Nearest | null = null;
  /** Whether these are being fetched, or still computed. */
  searching = false;

  constructor(
    readonly classes: string[],
    labels: Uint16Array | null,
    readonly n: number,
    /** What an item is. */
    readonly noun = "test image",
  ) {
    this.labels = labels ?? new Uint16Array(n);
  }

  /** The names of what items are grouped by: their classes, or the categories of a column. */
  get groups(): string[] {
    return this.grouping?.names ?? this.classes;
  }

  /** The group of each item. */
  get groupIds(): Uint16Array {
    return this.grouping?.ids ?? this.labels;
  }

  /** Group items by a column, or by their classes; whatever was hidden is shown. False where they were already. */
  groupBy(grouping: Grouping | null): boolean {
    if (grouping?.url === this.grouping?.url) return false;
    this.grouping = grouping;
    this.hidden = new Set();
    return true;
  }

  /** Whether item i is shown: its group is, and it is not left out by isolation. */
  isVisible(i: number): boolean {
    return !this.hidden.has(this.groupIds[i]) && this.isolated?.[i] !== 0;
  }

  /** A byte an item: has a place in this frame and is shown. Nothing else can be picked or selected. */
  usable(present: Uint8Array): Uint8Array {
    const usable = new Uint8Array(this.n);
    const ids = this.groupIds;
    const shown = this.groups.map((_, c) => (this.hidden.has(c) ? 0 : 1));
    for (let i = 0; i < this.n; i++) usable[i] = present[i] && this.isolated?.[i] !== 0 ? (shown[ids[i]] ?? 1) : 0;
    return usable;
  }

  /** Hide or show a group; hidden items leave the selection. */
  toggleClass(c: number): void {
    this.hidden = new Set(this.hidden);
    if (!this.hidden.delete(c)) this.hidden.add(c);
    this.dropHidden();
  }

  /** Show this group only; again, and all are back. */
  soloClass(c: number): void {
    const alone = !this.hidden.has(c) && this.hidden.size === this.groups.length - 1;
    this.hidden = new Set(alone ? [] : this.groups.map((_, other) => other).filter((other) => other !== c));
    this.dropHidden();
  }

  /** Show the selected items alone; where some are alone already, show all again, and select those if nothing else is. */
  toggleIsolation(): void {
    if (this.isolated) [this.isolated, this.selected] = [null, this.selected ?? this.isolated];
    else [this.isolated, this.selected] = [this.selected, null];
  }

  private dropHidden(): void {
    if (!this.selected) return;
    const kept = this.selected.map((chosen, i) => (chosen && this.isVisible(i) ? 1 : 0));
    this.selected = kept.some(Boolean) ? kept : null;
  }

  /** Select what `mask` holds: instead of what was selected, in addition to it or taken away from it. */
  select(mask: ArrayLike<number>, how: SelectMode = "replace"): void {
    const next = how === "replace" || !this.selected ? new Uint8Array(this.n) : this.selected.slice();
    for (let i = 0; i < this.n; i++) if (mask[i]) next[i] = how === "subtract" ? 0 : 1;
    this.selected = next.some(Boolean) ? next : null;
  }

  /** How many classes have items. */
  get usedClasses(): number {
    return new Set(this.labels).size;
  }

  /** For each group how many items are present, and not left out by isolation, and how many of those are selected. */
  counts(present: Uint8Array): { total: number[]; selected: number[] } {
    const total = this.groups.map(() => 0);
    const selected = this.groups.map(() => 0);
    const ids = this.groupIds;
    for (let i = 0; i < this.n; i++) {
      if (!present[i] || this.isolated?.[i] === 0) continue;
      total[ids[i]]++;
      if (this.selected?.[i]) selected[ids[i]]++;
    }
    return { total, selected };
  }

  /** Whether the nearest neighbor of item i is of another class; false where that is not known. */
  isWrong(i: number): boolean {
    if (!this.nearest) return false;
    const [own, other] = [this.labels[i], this.labels[this.nearest.items[i]]];
    return own !== other && this.classes[own] !== UNLABELED && this.classes[other] !== UNLABELED;
  }

  /** The nearest neighbor of item i as {item, distance}, or null where that is not known. */
  nearestOf(i: number): NeighborLink | null {
    if (i === this.pinned && this.neighbors.length) return this.neighbors[0];
    return this.nearest && { item: this.nearest.items[i], distance: this.nearest.distances[i] };
  }
}

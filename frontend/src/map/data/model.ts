// The items without their positions: labels, hidden classes, selection, pin.
import { UNLABELED } from "../../lib/palette.ts";
import { ViewStore } from "../../workbench/store.ts";

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

/** A grading of the points; `alarming` maps a share from low to high to 0 (well) to 1 (look here). */
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

const FROM_ISOLATION = "The points that were shown alone.";

export type SelectMode = "replace" | "add" | "subtract";

/** The items of one data set; what a person did with them is in the store. */
export class Model {
  labels: Uint16Array;
  neighbors: NeighborLink[] = [];
  grades: Grades | null = null;
  grouping: Grouping | null = null;
  /** Categories that the shapes of markers stand for, in place of the classes. */
  marking: Grouping | null = null;
  nearest: Nearest | null = null;
  /** True if these are being fetched, or still computed. */
  searching = false;

  constructor(
    readonly classes: string[],
    labels: Uint16Array | null,
    readonly n: number,
    /** Description of an item. */
    readonly noun = "test image",
    readonly store = new ViewStore(),
  ) {
    this.labels = labels ?? new Uint16Array(n);
  }

  get hidden(): ReadonlySet<number> {
    return this.store.state.hidden;
  }

  /** A byte an item, or null. */
  get selected(): Uint8Array | null {
    return this.whole(this.store.state.selected);
  }

  /** A byte an item: those that alone are shown; null where all are. */
  get isolated(): Uint8Array | null {
    return this.whole(this.store.state.isolated);
  }

  get pinned(): number | null {
    const { pinned } = this.store.state;
    return pinned !== null && pinned < this.n ? pinned : null;
  }

  /** A mask, if it is of these items: a page may show other ones already. */
  private whole(mask: Uint8Array | null): Uint8Array | null {
    return mask?.length === this.n ? mask : null;
  }

  /** The names of what items are grouped by: their classes, or the categories of a column. */
  get groups(): string[] {
    return this.grouping?.names ?? this.classes;
  }

  /** The group of each item. */
  get groupIds(): Uint16Array {
    return this.grouping?.ids ?? this.labels;
  }

  /** Group items by a column, or by their classes. False where they were already. */
  groupBy(grouping: Grouping | null): boolean {
    if (grouping?.url === this.grouping?.url) return false;
    this.grouping = grouping;
    return true;
  }

  /** True if item i is shown: its group is, and it is not left out by isolation. */
  isVisible(i: number): boolean {
    return !this.hidden.has(this.groupIds[i]) && this.isolated?.[i] !== 0;
  }

  /** A byte an item: has a place in this frame and is shown. Nothing else can be picked or selected. */
  usable(present: Uint8Array): Uint8Array {
    const usable = new Uint8Array(this.n);
    const { groupIds: ids, hidden, isolated } = this;
    const shown = this.groups.map((_, c) => (hidden.has(c) ? 0 : 1));
    for (let i = 0; i < this.n; i++) usable[i] = present[i] && isolated?.[i] !== 0 ? (shown[ids[i]] ?? 1) : 0;
    return usable;
  }

  /** Hide or show a group; hidden items leave the selection. */
  toggleClass(c: number): void {
    const labels = new Set(this.hidden);
    if (!labels.delete(c)) labels.add(c);
    this.hide(labels);
  }

  /** Show this group only; again, and all are back. */
  soloClass(c: number): void {
    const alone = !this.hidden.has(c) && this.hidden.size === this.groups.length - 1;
    this.hide(new Set(alone ? [] : this.groups.map((_, other) => other).filter((other) => other !== c)));
  }

  /** Show the selected items alone; where some are alone already, show all again, and select those if nothing else is. */
  toggleIsolation(): void {
    const { isolated, selected, store } = this;
    const back = isolated !== null && selected === null;
    const { reason } = store.state;
    if (isolated) store.set({ isolated: null, selected: selected ?? isolated, reason: back ? FROM_ISOLATION : reason });
    else store.set({ isolated: selected, selected: null });
  }

  private hide(labels: ReadonlySet<number>): void {
    const ids = this.groupIds;
    const rest = this.selected?.map((bit, i) => (bit && !labels.has(ids[i]) ? 1 : 0));
    this.store.set({ hidden: labels, selected: rest?.some(Boolean) ? rest : null });
  }

  /** Select what `mask` holds: instead of what was selected, in addition to it or taken away from it. */
  select(mask: ArrayLike<number>, how: SelectMode = "replace", reason: string | null = null): void {
    const before = this.selected;
    const next = how === "replace" || !before ? new Uint8Array(this.n) : before.slice();
    for (let i = 0; i < this.n; i++) if (mask[i]) next[i] = how === "subtract" ? 0 : 1;
    this.store.set({ selected: next.some(Boolean) ? next : null, reason });
  }

  /** Number of classes with items. */
  get usedClasses(): number {
    return new Set(this.labels).size;
  }

  /** For each group how many items are present, and not left out by isolation, and how many of those are selected. */
  counts(present: Uint8Array): { total: number[]; selected: number[] } {
    const total = this.groups.map(() => 0);
    const selected = this.groups.map(() => 0);
    const { groupIds: ids, isolated, selected: chosen } = this;
    for (let i = 0; i < this.n; i++) {
      if (!present[i] || isolated?.[i] === 0) continue;
      total[ids[i]]++;
      if (chosen?.[i]) selected[ids[i]]++;
    }
    return { total, selected };
  }

  /** True if the nearest neighbor of item i is of another class; false if that is unknown. */
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

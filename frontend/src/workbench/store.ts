// What a person looks at: one typed state, of which nothing else holds a copy. The map, the inspector, the scores and the
// address follow it. The server owns what was computed; this owns what is looked at.
import { guarded } from "../lib/boundary.ts";
import type { View } from "../map/math/camera.ts";

export type Metric = "euclidean" | "cosine";

/** The images that a map shows; "train" keeps the test images as a shadow. */
export const SHOWN_IMAGES = ["test", "both", "train"] as const;
export type ShownImages = (typeof SHOWN_IMAGES)[number];

/** Display options of a map. */
export interface Display {
  /** True if classes are named on the map. */
  names: boolean;
  /** True if pinned and selected images draw their paths. */
  trails: boolean;
  /** True if contours show where points are dense. */
  contours: boolean;
  /** True if images are drawn wherever there is room. */
  pictures: boolean;
  images: ShownImages;
  /** Meaning of a marker's shape: "plain", "class", or `column.` and a name. */
  markers: string;
}

/** The camera of a map that was left: of which map, where it was (null: it followed the data), the shorter side then. */
export interface Camera {
  of: string;
  view: View | null;
  size: number;
  playing: boolean;
}

export interface ViewState {
  run: string | null;
  /** "live", or the ID of a projection; null where only the server knows the name. */
  view: string | null;
  /** Step at which the replay was paused; null at its end. */
  step: number | null;
  pinned: number | null;
  /** The image with which the pinned one is compared. */
  partner: number | null;
  /** A byte an item; null where none is selected. */
  selected: Uint8Array | null;
  /** Why these are selected; null for a lasso. */
  reason: string | null;
  /** A byte an item: those that alone are shown; null where all are. */
  isolated: Uint8Array | null;
  /** The hidden classes, or the hidden categories of the column that colors the points. */
  hidden: ReadonlySet<number>;
  /** "class", another key of the menu, or `column.` and a name. */
  color: string;
  display: Display;
  metric: Metric;
  /** The names of what a person has opened: the map's tools, all scores, figures behind a sentence. */
  open: ReadonlySet<string>;
  camera: Camera | null;
}

export const DISPLAY: Display = {
  names: true,
  trails: true,
  contours: false,
  pictures: false,
  images: "test",
  markers: "plain",
};

export const START: ViewState = {
  run: null,
  view: null,
  step: null,
  pinned: null,
  partner: null,
  selected: null,
  reason: null,
  isolated: null,
  hidden: new Set(),
  color: "class",
  display: DISPLAY,
  metric: "euclidean",
  open: new Set(),
  camera: null,
};

const { run: _run, view: _view, camera: _camera, ...addressed } = START;
/** The view of an empty address. */
export const ADDRESSED: Partial<ViewState> = addressed;
/** Fields that belong to one run, and to the images of a data set. */
const OF_RUN: Partial<ViewState> = { view: null, step: null };
const OF_IMAGES: Partial<ViewState> = {
  pinned: null,
  partner: null,
  selected: null,
  reason: null,
  isolated: null,
  hidden: START.hidden,
};
/** Fields that undo restores. */
const UNDONE = ["selected", "reason", "pinned", "hidden", "isolated", "color", "view"] as const;
const MAX_STEPS = 100;

export type Change = ReadonlySet<keyof ViewState>;
type Snapshot = Pick<ViewState, (typeof UNDONE)[number]>;
type Listener = (change: Change, source: unknown) => void;

/** The run (or runs) that a page shows, and its test images. */
export interface Shown {
  run: string;
  dataset: string;
  n: number;
}

/** Source of a change that comes from the address. */
export const ADDRESS = Symbol("address");
export const UNDO = Symbol("undo");

export class ViewStore {
  state: ViewState = START;
  shown: Shown | null = null;
  private listeners = new Set<Listener>();
  private past: Snapshot[] = [];
  private future: Snapshot[] = [];
  private left = new Map<string, { state: ViewState; shown: Shown | null; past: Snapshot[]; future: Snapshot[] }>();
  private page = "";

  /** Change the state; `source` comes to the listeners, so that one need not follow itself. */
  set(patch: Partial<ViewState>, source?: unknown): void {
    const names = Object.keys(patch) as (keyof ViewState)[];
    const change = new Set(names.filter((name) => !isSame(patch[name], this.state[name])));
    if (!change.size) return;
    this.state = { ...this.state, ...patch };
    for (const listener of [...this.listeners]) listener(change, source);
  }

  /** Change how the images are shown. */
  setDisplay(patch: Partial<Display>): void {
    this.set({ display: { ...this.state.display, ...patch } });
  }

  /** Keep a `<details>` as open as the state says, and the state as a person leaves it. Returns how to stop. */
  keepOpen(details: HTMLDetailsElement, name: string): () => void {
    const show = () => (details.open = this.state.open.has(name));
    show();
    details.addEventListener("toggle", () => this.setOpen(name, details.open));
    return this.subscribe((change) => void (change.has("open") && show()));
  }

  setOpen(name: string, isOpen: boolean): void {
    const open = new Set(this.state.open);
    if (isOpen) open.add(name);
    else open.delete(name);
    this.set({ open });
  }

  /** Follow the changes until the returned function is called. */
  subscribe(listener: Listener): () => void {
    const own = guarded(listener);
    this.listeners.add(own);
    return () => void this.listeners.delete(own);
  }

  /**
   * A page shows this run. Of other images nothing is pinned or selected. `read` returns what the
   * address says of them, which is asked where the run is another one, or where the address was opened (`opened`).
   */
  show(shown: Shown, read: (shown: Shown) => Partial<ViewState> = () => ({}), isNew = false): void {
    const { shown: before } = this;
    const others = before?.dataset !== shown.dataset || before.n !== shown.n;
    if (!others && before.run === shown.run && !isNew) return;
    this.shown = shown;
    if (others) [this.past, this.future] = [[], []];
    const fresh = isNew || !before ? START : { ...OF_RUN, ...(others ? OF_IMAGES : {}) };
    this.set({ ...fresh, ...read(shown), run: shown.run }, ADDRESS);
  }

  /** Another page comes, with the state in which it was left. */
  enter(page: string): void {
    if (page === this.page) return;
    const { state, shown, past, future } = this;
    this.left.set(this.page, { state, shown, past, future });
    const entry = this.left.get(page);
    this.page = page;
    [this.shown, this.past, this.future] = [entry?.shown ?? null, entry?.past ?? [], entry?.future ?? []];
    this.set({ ...(entry?.state ?? START), camera: this.state.camera }, ADDRESS); // a map that goes now leaves its own
  }

  /** Remember the state. Call it before a person's change. */
  record(): void {
    this.past = [...this.past.slice(1 - MAX_STEPS), this.snapshot()];
    this.future = [];
  }

  get canUndo(): boolean {
    return this.past.length > 0;
  }

  get canRedo(): boolean {
    return this.future.length > 0;
  }

  /** Take back the last change; false where there is none. */
  undo(): boolean {
    return this.move(this.past, this.future);
  }

  /** Repeat what was taken back; false where there is nothing. */
  redo(): boolean {
    return this.move(this.future, this.past);
  }

  private move(from: Snapshot[], to: Snapshot[]): boolean {
    const snapshot = from.pop();
    if (!snapshot) return false;
    to.push(this.snapshot());
    const { view, ...rest } = snapshot;
    this.set(view === null ? rest : snapshot, UNDO);
    return true;
  }

  private snapshot(): Snapshot {
    return Object.fromEntries(UNDONE.map((name) => [name, this.state[name]])) as unknown as Snapshot;
  }
}

function isSame(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (a instanceof Uint8Array && b instanceof Uint8Array) return a.length === b.length && a.every((x, i) => x === b[i]);
  if (a instanceof Set && b instanceof Set) return a.size === b.size && [...a].every((x) => b.has(x));
  if (a === null || b === null || typeof a !== "object" || typeof b !== "object") return false;
  return JSON.stringify(a) === JSON.stringify(b);
}

/** That of the page in the app. */
export const pageStore = new ViewStore();

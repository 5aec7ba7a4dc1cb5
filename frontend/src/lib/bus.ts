// What happens on a page, for all its components. What a person looks at is in workbench/store.ts.
import type { ItemNeighbors, MapProps, NeighborHistory, QueryPlaces } from "../protocol.ts";
import { guarded } from "./boundary.ts";
import type { Selection } from "./selection.ts";

/** Rank of each item by distance on the map; null for items that are not drawn. */
export interface MapRanks {
  run: string;
  item: number | "query";
  of: Map<number, number | null>;
}

/** A person's own picture on the maps of a run, and the test images nearest to it; `open`: more places may come. */
export interface PlacedQuery {
  run: string;
  places: QueryPlaces;
  neighbors: number[];
  open: boolean;
}

/** The pictures that a person keeps with a run: their names, and on each map the places of all or the newest. */
export interface PlacedGallery {
  run: string;
  names: string[];
  places: Record<string, number[][]>;
}

/** Many new images over a map: their places, and their classes where they have any. */
export interface PlacedBatch {
  run: string;
  view: string;
  places: number[][];
  labels: number[] | null;
}

/** The neighbors of what is pinned, or why there are none. */
export interface PinnedNeighbors {
  run: string;
  item: number | null;
  found?: ItemNeighbors;
  trouble?: string;
}

/** What changes over the steps. */
export type Course = { step: number; value: number }[];

/** Events on the page. `source` is the sender, which can so ignore its own events. */
export interface BusEvents {
  hover: { run: string; item: number | null; source: unknown };
  /** A map stands at another frame. */
  frame: {
    run: string;
    view: string;
    index: number;
    count: number;
    step: number;
    /** The step of the training that it shows; null at the end of the run, which a projection of the end shows. */
    moment: number | null;
    playing: boolean;
    leads?: boolean;
    total?: number;
    source?: unknown;
  };
  /** Another map of a run, of which the page hears when it is seen; null from then on. */
  map: MapProps | null;
  /** The scores at the step that is shown, in words, and the images that they are of. */
  scored: { run: string; scores: string; note: string; sentence: string; course: Course };
  /** The smoothed loss over the steps. */
  losses: { run: string; course: Course };
  /** Go to a step; between frames too where it is scrubbed. */
  seek: { run: string; step: number; scrub?: boolean };
  play: { run: string };
  /** Pin an item, as a click on it does; null: none. */
  "pin-item": { run: string; item: number | null };
  /** Select items; `follows` is true where no person chose them anew, so that undo passes over them. */
  select: { run: string; items: number[]; reason: string | null; follows?: boolean };
  selection: Selection | null;
  pinned: { run: string; item: number | null };
  /** All test images of a run are embedded now: its neighbors are other ones. */
  embedded: { run: string };
  neighbors: PinnedNeighbors;
  query: PlacedQuery | null;
  gallery: PlacedGallery | null;
  "new-batch": PlacedBatch | null;
  ranks: MapRanks;
  /** Open the tab in which a person asks about a drawing. */
  "open-query": "Draw";
  /** Go to the outline of the map. */
  "open-outline": null;
  /** Open the detail panel; `history` is that of a query image, and "query-history" announces a new one. */
  "open-detail": { run: string; what: "classes" | "history"; history?: NeighborHistory | null };
  "query-history": { run: string; history: NeighborHistory };
  /** Each map adds what is seen of it, as an address (dmlviz/export/look.py). */
  look: { run: string; seen: Record<string, string> }[];
  /** Among linked maps. */
  camera: { source: unknown; pose: { zoom: number; x: number; y: number } | null; gliding: boolean };
  lead: { source: unknown };
}

/** New images over a map, of which one cross may stand for several. */
export const MANY_NEW = 500;
/** As many kept pictures are marked smaller, and farther apart than some lie. */
export const MANY_KEPT = 200;

type Name = keyof BusEvents;
type Listener<K extends Name> = (detail: BusEvents[K]) => void;

const listeners = new Map<Name, Set<Listener<never>>>();

const last: Partial<BusEvents> = {};

export const bus = {
  emit<K extends Name>(name: K, detail: BusEvents[K]): void {
    last[name] = detail;
    for (const listener of [...(listeners.get(name) ?? [])] as Listener<K>[]) listener(detail);
  },

  /** Listen until the returned function is called. */
  on<K extends Name>(name: K, listener: Listener<K>): () => void {
    const group = listeners.get(name) ?? new Set();
    const own = guarded(listener);
    listeners.set(name, group.add(own));
    return () => void group.delete(own);
  },

  /** The last event, for a component that is mounted later. */
  last<K extends Name>(name: K): BusEvents[K] | undefined {
    return last[name];
  },
};

// What all components of a page share: a bus for what happens now, and what a component that comes later finds.
import type { NeighborHistory } from "../protocol.ts";
import type { Selection } from "./selection.ts";

/** Where an item lies on the map among all, by item; null for those that are not drawn. */
export interface MapRanks {
  run: string;
  item: number | "query";
  of: Map<number, number | null>;
}

/** What happens on the page. `source` is whoever tells of it, so that it need not listen to itself. */
export interface BusEvents {
  hover: { run: string; item: number | null; source: unknown };
  pin: { run: string; item: number | null; source: unknown };
  /** A map stands at another frame. */
  frame: {
    run: string;
    view: string;
    index: number;
    count: number;
    step: number;
    playing: boolean;
    leads?: boolean;
    total?: number;
    source?: unknown;
  };
  /** Go to a step; between frames too where it is scrubbed. */
  seek: { run: string; step: number; scrub?: boolean };
  play: { run: string };
  /** Pin an item, as a click on it does; null: none. */
  "pin-item": { run: string; item: number | null };
  select: { run: string; items: number[]; reason: string | null };
  selection: Selection | null;
  pinned: { run: string; item: number | null };
  metric: string;
  ranks: MapRanks;
  /** Open the detail panel; `history` is that of a query image, and "query-history" announces a new one. */
  "open-detail": { run: string; what: "classes" | "history"; history?: NeighborHistory | null };
  "query-history": { run: string; history: NeighborHistory };
  /** Among linked maps. */
  picked: { source: unknown; mask: Uint8Array | null; reason: string | null };
  look: { source: unknown; eye: { zoom: number; x: number; y: number } | null; gliding: boolean };
  lead: { source: unknown };
}

type Name = keyof BusEvents;
type Listener<K extends Name> = (detail: BusEvents[K]) => void;

/** What was said last, for components that come later. */
export const shared: {
  mounts: Record<string, number>;
  pinned?: BusEvents["pinned"];
  metric?: string;
  ranks?: MapRanks;
  selection?: Selection | null;
} = { mounts: {} };

const listeners = new Map<Name, Set<Listener<never>>>();

export const bus = {
  emit<K extends Name>(name: K, detail: BusEvents[K]): void {
    for (const listener of [...(listeners.get(name) ?? [])] as Listener<K>[]) listener(detail);
  },

  /** Listen until the returned function is called. */
  on<K extends Name>(name: K, listener: Listener<K>): () => void {
    const heard = listeners.get(name) ?? new Set();
    listeners.set(name, heard.add(listener));
    return () => void heard.delete(listener);
  },
};

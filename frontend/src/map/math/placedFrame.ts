// A frame once every item has its place.
import type { Bounds } from "./camera.ts";

/** Positions of all items in a frame; present is 0 for those without one. */
export interface PlacedFrame {
  xy: Float32Array;
  present: Uint8Array;
  count: number;
  bounds: Bounds | null;
  /** The number of those that are far from all others, and stand at the edge. */
  outside?: number;
  /** Of three dimensions: the places in space, what they turn about, how far they reach, and what lies in front. */
  xyz?: Float32Array;
  pivot?: readonly number[];
  reach?: number;
  shade?: Uint8Array;
}

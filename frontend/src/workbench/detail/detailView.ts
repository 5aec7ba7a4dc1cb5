// What the drawer shows: a view, and what it is made of.
import type { DetailProps, NeighborHistory } from "../../protocol.ts";

/** A view, and its reaction to another step of the map. */
export interface DetailView {
  node: HTMLElement;
  caption: string;
  onStep?: (step: number | undefined, first?: boolean) => void;
}

/** Input of a view. */
export interface DetailSource extends DetailProps {
  /** Null at the end. */
  step: number | null;
  /** Of a picture of one's own; null: of what is pinned. */
  history: NeighborHistory | null;
  item: number | null;
  metric?: string;
}

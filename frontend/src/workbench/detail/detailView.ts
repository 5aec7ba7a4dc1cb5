// What the drawer shows: a view, and what it is made of.
import type { DetailProps, NeighborHistory } from "../../protocol.ts";

/** What is shown, and what to do when the map stands at another step. */
export interface DetailView {
  node: HTMLElement;
  caption: string;
  onStep?: (step: number | undefined, first?: boolean) => void;
}

/** What a view is made of. */
export interface DetailSource extends DetailProps {
  /** Null at the end. */
  step: number | null;
  /** Of a picture of one's own; null: of what is pinned. */
  history: NeighborHistory | null;
  item: number | null;
  metric?: string;
}

// What drawing has to know of the play, which is made above it.
import type { Frames } from "../data/frames.ts";
import type { Entry } from "../data/timeline.ts";

export interface Replay {
  readonly entries: Entry[];
  /** The entry on the stage. */
  readonly shown: Entry | null;
  readonly frames: Frames | null;
  /** Between entries, by index. */
  readonly player: { readonly position: number; readonly playing: boolean };
  /** Whether all frames share one basis. */
  readonly sharesBasis: boolean;
}

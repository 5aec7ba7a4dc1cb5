// The interface of the playback to the drawing; it is implemented in `playback`.
import type { Frames } from "../data/frames.ts";
import type { Entry } from "../data/timeline.ts";

export interface Replay {
  readonly entries: Entry[];
  /** The entry on the stage. */
  readonly shown: Entry | null;
  readonly frames: Frames | null;
  /** Between entries, by index. */
  readonly player: { readonly position: number; readonly playing: boolean };
  /** True if all frames share one basis. */
  readonly sharesBasis: boolean;
  /** Why training images have no place on the shown frame; "" where they have one. */
  readonly unplaced: string;
}

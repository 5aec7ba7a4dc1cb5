// Frames fetched before they are shown.
import type { Frames } from "../data/frames.ts";
import type { Bounds } from "../math/camera.ts";
import type { PlayState } from "./player.ts";

const MAX_BYTES = 40e6; // of all frames; a longer play fetches as it goes
const LANES = 3; // at once

export class Prefetcher {
  /** Bounds of the last frame of a common basis. */
  anchor: Bounds | null = null;
  /** The run whose frames are fetched ahead. */
  private fetching: Frames | null = null;

  /** `arrived()` is called when a frame that `ready` asked for is here. */
  constructor(
    private play: PlayState,
    private onArrival: () => void,
    private trouble: (error: unknown) => void,
  ) {}

  /** A closed timeline: keep the view wide enough for the last frame of a common basis, and fetch ahead. */
  fetchAll(): void {
    const { entries, frames, timeline, sharesBasis } = this.play;
    const last = entries.at(-1)?.frame;
    if (!frames || !last) return;
    if (timeline.replay) this.anchor = sharesBasis ? (frames.get(last)?.bounds ?? null) : null;
    if (this.fetching === frames) return;
    this.fetching = frames;
    const queue = [entries.length - 1, ...entries.keys()].map((i) => entries[i].frame);
    if (queue.reduce((sum, frame) => sum + frame.n * frame.dims * 2, 0) > MAX_BYTES) return;
    const lane = async () => {
      for (let next = queue.shift(); next && this.play.frames === frames; next = queue.shift())
        await frames.prefetch(next).catch(() => {});
    };
    for (let i = 0; i < LANES; i++) void lane();
  }

  /** The timeline has other frames from now on. */
  restart(): void {
    this.fetching = null;
  }

  /** True if frame `index` is loaded; if not, it is requested. */
  ready(index: number): boolean {
    const { frames, entries } = this.play;
    const { frame } = entries[index];
    if (!frames || frames.has(frame)) return frames !== null;
    frames.prefetch(frame).then(this.onArrival, this.trouble);
    return false;
  }
}

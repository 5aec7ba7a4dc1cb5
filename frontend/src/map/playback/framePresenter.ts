// Brings frames onto the stage: one as soon as it is here, or what lies between two where the playhead stands.
import type { Frames } from "../data/frames.ts";
import type { Entry } from "../data/timeline.ts";
import { Tween, type PlacedFrame } from "../math/tween.ts";
import type { Scene } from "../render/scene.ts";
import type { PlayState } from "./player.ts";
import type { Prefetcher } from "./prefetcher.ts";

const RETRY_MS = 300; // milliseconds between two looks for a frame that is still to come

export interface PresenterHooks {
  /** There is something to be shown anew. */
  change: () => void;
  /** The stage goes from one entry to another, or (the same one) comes to rest there. */
  frame: (from: Entry, to: Entry) => void;
  trouble: (error: unknown) => void;
}

/** A piece of a play: from frame `low` to the next. */
interface Stretch {
  low: number;
  frames: Frames;
  tween: Tween;
  to: PlacedFrame;
}

export class FramePresenter {
  /** The entry that is to come onto the stage as soon as it is here. */
  target: Entry | null = null;
  /** Seconds to take for the next frame; 0: as usual. */
  pace = 0;
  private stretch: Stretch | null = null;

  /** `still()` says whether the person asked for less motion. */
  constructor(
    private play: PlayState,
    private scene: Scene,
    private prefetcher: Prefetcher,
    private on: PresenterHooks,
    private still: () => boolean,
  ) {}

  /** True if the stage is between two frames. */
  get isBetweenFrames(): boolean {
    return this.stretch !== null;
  }

  /** Discard the buffers between two frames. */
  dropStretch(): void {
    this.stretch = null;
  }

  /** Bring frame `index` onto the stage, moving for `seconds`, as soon as it is here. */
  show(index: number, seconds: number): void {
    const { play } = this;
    const entry = play.entries[index];
    const { frames } = play;
    if (!frames) return;
    this.stretch = null;
    this.target = entry;
    const put = (frame: PlacedFrame | null) => {
      // While a slow network lags behind a live run, any newer frame is better than none.
      const step = play.shown?.step ?? -1;
      const newer = play.player.following && (step < entry.step || (step === entry.step && this.target !== null));
      if (play.frames !== frames || (this.target !== entry && !newer)) return;
      if (!frame) {
        // Polling brings it with a later message, or which items are tracked is not known yet.
        setTimeout(() => {
          if (play.frames === frames && this.target === entry) this.show(index, seconds);
        }, RETRY_MS);
        return;
      }
      if (this.target === entry) this.target = null;
      play.shown = entry;
      if (play.timeline.replay) this.prefetcher.fetchAll();
      this.on.frame(entry, entry);
      this.scene.show(frame, this.still() ? 0 : seconds, { reframe: this.pace > 0 || play.isIterativeLayout });
      this.pace = 0;
      this.on.change();
    };
    const frame = frames.get(entry.frame);
    if (frame) put(frame);
    else frames.load(entry.frame).then(put).catch(this.on.trouble);
  }

  /** Three dimensions were turned: show what is on the stage as it is seen now. */
  rotated(): void {
    const { shown, frames } = this.play;
    if (!shown) return;
    if (this.stretch) {
      this.stretch = null;
      this.showPosition();
      return;
    }
    const frame = frames?.get(shown.frame);
    if (frame?.xyz) this.scene.rotated(frame);
  }

  /** Show what lies at the playhead's position. */
  showPosition(): void {
    const { play, scene } = this;
    const { player, entries, frames } = play;
    if (!frames) return;
    const low = Math.min(Math.floor(player.position), entries.length - 1);
    const share = player.position - low;
    if (share === 0) {
      play.shown = entries[low];
      this.stretch = null;
      this.on.frame(entries[low], entries[low]);
      const frame = frames.get(entries[low].frame);
      if (frame) scene.show(frame, 0);
      return;
    }
    if (this.stretch?.low !== low || this.stretch.frames !== frames) {
      const stretch = this.transitionFrom(low, frames);
      if (!stretch) return;
      this.on.frame(entries[low], entries[low + 1]);
      this.stretch = { low, frames, ...stretch };
    }
    play.shown = entries[low];
    scene.play(this.stretch.tween, share, this.stretch.to);
  }

  private transitionFrom(low: number, frames: Frames): { tween: Tween; to: PlacedFrame } | null {
    const { scene } = this;
    const { entries, isIterativeLayout } = this.play;
    const at = (by: number) => {
      const frame = entries[low + by]?.frame;
      return frame ? frames.get(frame) : null;
    };
    const [before, from, to, after] = [at(-1), at(0), at(1), at(2)];
    if (!from || !to) return null;
    const view = isIterativeLayout && scene.camera.automatic ? scene.camera.homeOf(to) : null;
    if (!view) return { tween: Tween.stretch(before, from, to, after), to };
    const keys = [
      before && scene.rebased(before, view),
      scene.rebased(from, view, true),
      after && scene.rebased(after, view),
    ] as const;
    scene.rebaseTo(view);
    return { tween: Tween.stretch(keys[0], keys[1], to, keys[2]), to };
  }
}

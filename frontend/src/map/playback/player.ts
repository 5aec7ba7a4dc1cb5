// The playhead, a place between frames that time moves; what it plays; how long points take to a new frame. No drawing and no
// clock of its own.
import type { FrameMeta } from "../../protocol.ts";
import type { Frames } from "../data/frames.ts";
import { emptyTimeline, framesOf, isCommon, isOpen, unplaced, type Entry, type Timeline } from "../data/timeline.ts";

export const SPEEDS = [0.5, 1, 2, 4];
const PLAY_DURATION_S = 11; // seconds that a whole play takes at speed 1, within the bounds below
const MIN_RATE = 1.6; // frames a second
const MAX_RATE = 6;

/** Frames a second at speed 1 for so many frames. */
export const frameRate = (count: number): number => Math.min(MAX_RATE, Math.max(MIN_RATE, count / PLAY_DURATION_S));

/** `position` is a frame index with its fraction; `following` says that new frames are shown as they come. */
export class Player {
  position = 0;
  playing = false;
  following = true;
  speed = 1;
  stopAt: number | null = null;

  /** Start playing; from the beginning when at the end. Returns whether that rewound. */
  play(count: number): boolean {
    if (count < 2) return false;
    const rewound = this.position >= count - 1;
    if (rewound) this.position = 0;
    this.playing = true;
    this.following = false;
    this.stopAt = null;
    return rewound;
  }

  /** Stop at the next frame, so that what stands still is a frame and nothing between two. */
  pause() {
    if (this.playing) this.stopAt = Math.ceil(this.position);
  }

  /** Go to a frame at once; the newest one of an open run is followed from then on. */
  seek(index: number, count: number, open: boolean): void {
    this.position = Math.max(0, Math.min(count - 1, Math.round(index)));
    this.playing = false;
    this.stopAt = null;
    this.following = open && this.position === count - 1;
  }

  /**
   * Move on by `seconds`; not past a frame that `here(index)` says has not arrived yet. At the last frame an open run is
   * followed and a closed one stands still.
   */
  advance(seconds: number, count: number, here: (index: number) => boolean, open: boolean): void {
    if (!this.playing) return;
    const limit = this.stopAt ?? count - 1;
    let position = Math.min(limit, this.position + seconds * this.speed * frameRate(count));
    for (let next = Math.floor(this.position) + 1; next <= Math.ceil(position); next++) {
      if (!here(next)) position = Math.min(position, next - 1);
    }
    this.position = Math.max(position, this.position);
    if (this.position < limit) return;
    this.playing = false;
    this.following = open && this.position === count - 1;
    this.stopAt = null;
  }

  /** The next speed in turn. */
  cycleSpeed(): void {
    this.speed = SPEEDS[(SPEEDS.indexOf(this.speed) + 1) % SPEEDS.length];
  }
}

/** State of the playback: the timeline of a run or a projection, its frames, the playhead, and the shown entry. */
export class PlayState {
  player = new Player();
  timeline: Timeline = emptyTimeline();
  /** The entry on the stage. */
  shown: Entry | null = null;
  frames: Frames | null = null;

  get entries(): Entry[] {
    return framesOf(this.timeline);
  }

  get open(): boolean {
    return isOpen(this.timeline);
  }

  /** True if all frames share one basis. */
  get sharesBasis(): boolean {
    return isCommon(this.timeline);
  }

  /** Why training images have no place on the shown frame; "" where they have one. */
  get unplaced(): string {
    return this.shown ? unplaced(this.timeline, this.shown) : "";
  }

  /** True if it is a projection under way, whose frames have units of their own, each another. */
  get isIterativeLayout(): boolean {
    return this.timeline.noun === "iteration";
  }

  /** The first frame of a run that collapsed, which shows what size it had; else null. */
  get preCollapseFrame(): FrameMeta | null {
    const isCollapse = this.timeline.alarms.some(({ alarm }) => alarm === "collapsed");
    return isCollapse && !this.isIterativeLayout && !this.timeline.follows ? (this.entries[0]?.frame ?? null) : null;
  }
}

const BOUNDS_S: [number, number] = [0.3, 0.45]; // a motion takes as long as frames take to come, within this
const LONGEST_S = 2; // that a wait counts for

/** Time between the frames of a live run, and so the duration of the points' motion to each. */
export class LiveInterval {
  private mean = BOUNDS_S[1];
  private arrival = 0;

  /** A frame has come. */
  record(): void {
    const now = performance.now() / 1000;
    if (this.arrival) this.mean += 0.4 * (Math.min(LONGEST_S, now - this.arrival) - this.mean);
    this.arrival = now;
  }

  /** Seconds to take for the way to a new frame. */
  get motion(): number {
    return Math.min(BOUNDS_S[1], Math.max(BOUNDS_S[0], this.mean * 1.1));
  }
}

// State of the playback: the timeline of a run or a projection, its frames, the playhead, and the shown entry.
import type { FrameMeta } from "../../protocol.ts";
import type { Frames } from "../data/frames.ts";
import { emptyTimeline, framesOf, isCommon, isOpen, unplaced, type Entry, type Timeline } from "../data/timeline.ts";
import { Player } from "./player.ts";

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

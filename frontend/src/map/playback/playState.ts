// What is played: the timeline of a run or a projection, its frames, the playhead, and the entry on the stage.
import type { FrameMeta } from "../../protocol.ts";
import type { Frames } from "../data/frames.ts";
import { emptyTimeline, framesOf, isCommon, isOpen, type Entry, type Timeline } from "../data/timeline.ts";
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

  /** Whether all frames share one basis. */
  get sharesBasis(): boolean {
    return isCommon(this.timeline);
  }

  /** Whether it is a projection under way, whose frames have units of their own, each another. */
  get isIterativeLayout(): boolean {
    return this.timeline.noun === "iteration";
  }

  /** The first frame of a run that collapsed, which shows what size it had; else null. */
  get preCollapseFrame(): FrameMeta | null {
    const collapsed = this.timeline.alarms.some(({ alarm }) => alarm === "collapsed");
    return collapsed && !this.isIterativeLayout ? (this.entries[0]?.frame ?? null) : null;
  }
}

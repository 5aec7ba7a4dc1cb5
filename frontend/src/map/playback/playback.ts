// From events to motion: follows a run's or a projection's timeline and brings its frames onto the stage.
import { stream, type StreamEvent } from "../../lib/eventStream.ts";
import { union, type Bounds } from "../math/camera.ts";
import { Frames, type FrameSource } from "../data/frames.ts";
import { Player } from "./player.ts";
import {
  canRefit,
  emptyTimeline,
  framesOf,
  indexOfStep,
  isCommon,
  isOpen,
  positionOfStep,
  reduceEvent,
  type Entry,
  type Timeline,
} from "../data/timeline.ts";
import type { PlacedFrame } from "../math/placedFrame.ts";
import { Tween } from "../math/tween.ts";
import type { FrameMeta } from "../../protocol.ts";
import type { Scene } from "../render/scene.ts";

const SEEK_S = 0.18; // to ease to a frame that was asked for
const REPLAY_S = 0.8; // to the final basis, when a run ends
const SWITCH_S = 0.9; // to another run or projection of the same items
const LIVE_S: [number, number] = [0.3, 0.45]; // to a new frame of a live run: as long as they take to come, within this
const RETRY_MS = 300; // milliseconds between two looks for a frame that is still to come
const PREFETCH_BYTES = 40e6;
const PREFETCH_LANES = 3;

export interface PlaybackHooks {
  /** There is something to be shown anew. */
  change: () => void;
  /** The stage goes from one entry to another, or (the same one) comes to rest there. */
  frame: (from: Entry, to: Entry) => void;
  /** A run that was running is over. */
  ended: (state: string) => void;
  trouble: (error: unknown) => void;
}

/** What to follow: a run or (pid) one of its projections. */
export interface PlaybackSource extends FrameSource {
  run: string;
  pid: string | null;
  /** Whether Python believes that it is still going. */
  running: boolean;
  autoplay: boolean;
  step?: number | null;
}

/** A piece of a play: from frame `low` to the next. */
interface Stretch {
  low: number;
  frames: Frames;
  tween: Tween;
  to: PlacedFrame;
}

export class Playback {
  player = new Player();
  timeline: Timeline = emptyTimeline();
  /** The entry on the stage. */
  shown: Entry | null = null;
  frames: Frames | null = null;
  private source: PlaybackSource | null = null;
  /** The entry that is to come onto the stage as soon as it is here. */
  private wanted: Entry | null = null;
  private stretch: Stretch | null = null;
  private started = false;
  private told = false; // whether it has been said how the run ended
  private fresh = false; // whether events have come since the last drawing
  private pace = 0; // seconds to take for the next frame; 0: as usual
  private interval = LIVE_S[1]; // between two frames of a live run
  private arrival = 0;
  /** Bounds of the last frame of a common basis. */
  private anchor: Bounds | null = null;
  /** Whose frames are fetched ahead. */
  private fetching: Frames | null = null;
  private leave: () => void = () => {};

  /** `still()` says whether the person asked for less motion. */
  constructor(
    private scene: Scene,
    private on: PlaybackHooks,
    private still: () => boolean,
  ) {}

  follow(source: PlaybackSource): void {
    this.leave();
    this.source = source;
    this.timeline = emptyTimeline();
    this.player = Object.assign(new Player(), { speed: this.player.speed });
    this.frames = new Frames({ ...source, fed: stream.frame });
    this.wanted = null;
    this.stretch = null;
    this.started = false;
    this.told = false;
    this.pace = this.shown ? SWITCH_S : 0;
    this.shown = null;
    this.interval = LIVE_S[1];
    this.arrival = 0;
    this.anchor = null;
    this.leave = stream.subscribe(source.run, (event) => this.onEvent(event), source.pid);
    this.on.change();
  }

  private onEvent(event: StreamEvent): void {
    if (event.event === "begun" && this.source) return this.follow(this.source); // nothing shown so far is of this run
    const changed = reduceEvent(this.timeline, event);
    if (changed === "frames") this.recordArrival();
    if (changed === "replay") {
      if (!this.player.following) this.player.position = indexOfStep(this.timeline, this.shown?.step ?? 0);
      this.pace = this.shown ? REPLAY_S : this.pace;
      this.stretch = null;
    }
    if (!isOpen(this.timeline) && this.source?.running && !this.told) {
      this.told = true;
      setTimeout(() => this.on.ended(this.timeline.state), 0);
    }
    if (!changed) return;
    this.fresh = true;
    this.scene.invalidate();
  }

  private recordArrival(): void {
    const now = performance.now() / 1000;
    if (this.arrival) this.interval += 0.4 * (Math.min(2, now - this.arrival) - this.interval);
    this.arrival = now;
  }

  get entries(): Entry[] {
    return framesOf(this.timeline);
  }

  get open(): boolean {
    return isOpen(this.timeline);
  }

  /** Bounds that Home shows besides the frame on the stage: a play may not outgrow it, and a collapse not fill it. */
  get frameOfReference(): Bounds | null {
    const before = this.preCollapseFrame && this.frames?.get(this.preCollapseFrame)?.bounds;
    return union(this.anchor, before ?? null);
  }

  /** The first frame of a run that collapsed, which shows what size it had; else null. */
  private get preCollapseFrame(): FrameMeta | null {
    const collapsed = this.timeline.alarms.some(({ alarm }) => alarm === "collapsed");
    return collapsed && !this.isIterativeLayout ? (this.entries[0]?.frame ?? null) : null;
  }

  /** Whether all frames share one basis. */
  get sharesBasis(): boolean {
    return isCommon(this.timeline);
  }

  /** Bring the stage up to date; called before every drawing, `seconds` after the last. */
  tick(seconds: number): void {
    try {
      this.move(seconds);
    } catch (error) {
      this.player.playing = false;
      this.on.trouble(error);
    }
  }

  private move(seconds: number): void {
    if (this.fresh) {
      this.fresh = false;
      this.showLatest();
      this.on.change();
    }
    const { player, entries, scene } = this;
    if (!player.playing || !(this.stretch || scene.settled) || this.wanted) return;
    const before = player.position;
    player.advance(seconds, entries.length, (i) => this.ready(i), this.open);
    if (player.position !== before) this.drawPosition();
    if (player.position !== before || !player.playing) this.on.change();
    if (player.playing) scene.invalidate();
  }

  // New events: start, or follow the newest frame.
  private showLatest(): void {
    const { entries, player, source } = this;
    if (!entries.length || !source) return;
    // A run that is over comes whole within a moment; its own basis is waited for.
    if (!this.started && !source.running && this.open) return;
    const last = entries.length - 1;
    if (!this.started) {
      this.started = true;
      this.start(source, last);
    } else if (player.following) {
      player.position = last;
      this.showFrame(last, this.pace || Math.min(LIVE_S[1], Math.max(LIVE_S[0], this.interval * 1.1)));
    } else if (!player.playing) {
      this.showFrame(Math.min(last, Math.round(player.position)), SEEK_S);
    }
    if (!this.open) this.prefetch();
  }

  private start(source: PlaybackSource, last: number): void {
    const { player } = this;
    const asked = source.step === null || source.step === undefined ? null : indexOfStep(this.timeline, source.step);
    player.following = this.open && asked === null;
    const autoplay = source.autoplay && !this.open && asked === null && last > 0 && !this.still();
    player.position = asked ?? (autoplay ? 0 : last);
    const { entries, frames } = this;
    if (!frames) return;
    if (!autoplay) {
      if (!this.preCollapseFrame) {
        this.showFrame(player.position, this.pace);
        return;
      }
      // The first frame tells how far away to stand.
      const put = () => {
        if (this.frames === frames && !this.shown) this.showFrame(player.position, this.pace);
      };
      frames.prefetch(this.preCollapseFrame).then(put, put);
      return;
    }
    // The last frame tells how much room the play will need.
    const ready = Promise.all([frames.load(entries[last].frame), frames.load(entries[0].frame)]);
    void ready.catch(this.on.trouble).then(() => {
      if (this.frames !== frames || player.position !== 0) return;
      this.prefetch();
      this.showFrame(0, this.pace);
      player.play(entries.length);
    });
  }

  // A closed timeline: keep the eye wide enough for the last frame of a common basis, and fetch ahead.
  private prefetch(): void {
    const { entries, frames } = this;
    const last = entries.at(-1)?.frame;
    if (!frames || !last) return;
    if (this.timeline.replay) this.anchor = this.sharesBasis ? (frames.get(last)?.bounds ?? null) : null;
    if (this.fetching === frames) return;
    this.fetching = frames;
    const queue = [entries.length - 1, ...entries.keys()].map((i) => entries[i].frame);
    if (queue.reduce((sum, frame) => sum + frame.n * frame.dims * 2, 0) > PREFETCH_BYTES) return;
    const lane = async () => {
      for (let next = queue.shift(); next && this.frames === frames; next = queue.shift())
        await frames.prefetch(next).catch(() => {});
    };
    for (let i = 0; i < PREFETCH_LANES; i++) void lane();
  }

  private ready(index: number): boolean {
    const { frames } = this;
    const { frame } = this.entries[index];
    if (!frames || frames.has(frame)) return frames !== null;
    frames.prefetch(frame).then(() => this.scene.invalidate(), this.on.trouble);
    return false;
  }

  /** Bring frame `index` onto the stage, moving for `seconds`, as soon as it is here. */
  private showFrame(index: number, seconds: number): void {
    const entry = this.entries[index];
    const { frames } = this;
    if (!frames) return;
    this.stretch = null;
    this.wanted = entry;
    const put = (placed: PlacedFrame | null) => {
      // While a slow network lags behind a live run, any newer frame is better than none.
      const newer = this.player.following && (this.shown?.step ?? -1) < entry.step;
      if (this.frames !== frames || (this.wanted !== entry && !newer)) return;
      if (!placed) {
        // Polling brings it with a later message, or which items are tracked is not known yet.
        setTimeout(() => {
          if (this.frames === frames && this.wanted === entry) this.showFrame(index, seconds);
        }, RETRY_MS);
        return;
      }
      if (this.wanted === entry) this.wanted = null;
      this.shown = entry;
      if (this.timeline.replay) this.prefetch();
      this.on.frame(entry, entry);
      this.scene.show(placed, this.still() ? 0 : seconds, { reframe: this.pace > 0 || this.isIterativeLayout });
      this.pace = 0;
      this.on.change();
    };
    const here = frames.get(entry.frame);
    if (here) put(here);
    else frames.load(entry.frame).then(put).catch(this.on.trouble);
  }

  // Frames of a projection under way have units of their own, each another.
  private get isIterativeLayout(): boolean {
    return this.timeline.noun === "iteration";
  }

  /** Three dimensions were turned: show what is on the stage as it is seen now. */
  rotated(): void {
    if (!this.shown) return;
    if (this.stretch) {
      this.stretch = null;
      this.drawPosition();
      return;
    }
    const here = this.frames?.get(this.shown.frame);
    if (here?.xyz) this.scene.rotated(here);
  }

  private drawPosition(): void {
    const { player, entries, frames, scene } = this;
    if (!frames) return;
    const low = Math.min(Math.floor(player.position), entries.length - 1);
    const share = player.position - low;
    if (share === 0) {
      this.shown = entries[low];
      this.stretch = null;
      this.on.frame(entries[low], entries[low]);
      const placed = frames.get(entries[low].frame);
      if (placed) scene.show(placed, 0);
      return;
    }
    if (this.stretch?.low !== low || this.stretch.frames !== frames) {
      const stretch = this.transitionFrom(low, frames);
      if (!stretch) return;
      this.on.frame(entries[low], entries[low + 1]);
      this.stretch = { low, frames, ...stretch };
    }
    this.shown = entries[low];
    scene.play(this.stretch.tween, share, this.stretch.to);
  }

  private transitionFrom(low: number, frames: Frames): { tween: Tween; to: PlacedFrame } | null {
    const { entries, scene } = this;
    const at = (by: number) => {
      const frame = entries[low + by]?.frame;
      return frame ? frames.get(frame) : null;
    };
    const [before, from, to, after] = [at(-1), at(0), at(1), at(2)];
    if (!from || !to) return null;
    const view = this.isIterativeLayout && scene.camera.automatic ? scene.camera.homeOf(to) : null;
    if (!view) return { tween: Tween.stretch(before, from, to, after), to };
    const rebased = [
      before && scene.rebased(before, view),
      scene.rebased(from, view, true),
      after && scene.rebased(after, view),
    ] as const;
    scene.rebaseTo(view);
    return { tween: Tween.stretch(rebased[0], rebased[1], to, rebased[2]), to };
  }

  // ---- what the person asks

  toggle(): void {
    const { player, entries } = this;
    if (player.playing) player.pause();
    else if (player.play(entries.length)) this.showFrame(0, SEEK_S * 2);
    else if (!this.stretch && this.shown !== entries[Math.round(player.position)])
      this.showFrame(Math.round(player.position), SEEK_S);
    this.on.change();
    this.scene.invalidate();
  }

  seek(index: number): void {
    const { player, entries } = this;
    if (!entries.length) return;
    player.seek(index, entries.length, this.open);
    this.showFrame(player.position, SEEK_S);
    this.on.change();
  }

  step(by: number): void {
    const from = by > 0 ? Math.floor(this.player.position) : Math.ceil(this.player.position);
    this.seek(from + by);
  }

  /** Stand at the frame of a step because another map does. */
  seekInterpolated(step: number): void {
    const { player, entries } = this;
    if (!entries.length || !this.started) return;
    const index = indexOfStep(this.timeline, step);
    if (entries[index] === (this.wanted ?? this.shown) && !player.playing && player.position === index) return;
    player.seek(index, entries.length, false);
    this.showFrame(index, SEEK_S);
    this.on.change();
  }

  /** Go to the frame of a step of the training. */
  seekStep(step: number): void {
    if (this.entries.length && !this.isIterativeLayout) this.seek(indexOfStep(this.timeline, step));
  }

  /** Stand at a step, between two frames where need be, without easing: whoever drags has the motion in hand. */
  scrub(step: number): void {
    const { player, entries } = this;
    if (!entries.length || this.isIterativeLayout) return;
    const position = positionOfStep(this.timeline, step);
    const low = Math.floor(position);
    // What is not here yet is asked for, and the nearest frame stands in.
    if ([low, Math.ceil(position)].some((i) => !this.ready(i))) {
      this.seek(position);
      return;
    }
    Object.assign(player, { position, playing: false, following: false, stopAt: null });
    this.wanted = null;
    this.drawPosition();
    this.on.change();
  }

  /** Draw each frame on its own basis, or all on that of the end. */
  refit(): void {
    const { timeline, player, entries } = this;
    if (!canRefit(timeline)) return;
    const step = entries[Math.round(player.position)]?.step ?? 0;
    timeline.refit = !timeline.refit;
    this.fetching = null; // other frames to fetch ahead
    player.playing = false;
    player.position = indexOfStep(timeline, step);
    this.pace = REPLAY_S;
    this.showFrame(player.position, REPLAY_S);
    this.on.change();
  }

  /** Hear no more of what is followed. */
  destroy(): void {
    this.leave();
  }
}

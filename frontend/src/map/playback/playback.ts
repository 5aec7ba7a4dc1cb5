// From events to motion: follows a run's or a projection's timeline, and does what the person asks of the player.
import { stream, type StreamEvent } from "../../lib/eventStream.ts";
import { Frames, type FrameSource } from "../data/frames.ts";
import {
  canRefit,
  emptyTimeline,
  indexOfStep,
  isOpen,
  positionOfStep,
  reduceEvent,
  type Entry,
} from "../data/timeline.ts";
import { union, type Bounds } from "../math/camera.ts";
import type { Scene } from "../render/scene.ts";
import { FramePresenter, type PresenterHooks } from "./framePresenter.ts";
import { LiveInterval, Player, PlayState } from "./player.ts";
import { Prefetcher } from "./prefetcher.ts";

const SEEK_S = 0.18; // to ease to a frame that was asked for
const REPLAY_S = 0.8; // to the final basis, when a run ends
const FORMED = 10; // layouts of a training after which a map turns little
const SWITCH_S = 0.9; // to another run or projection of the same items

export interface PlaybackHooks extends PresenterHooks {
  /** A run that was running is over. */
  ended: (state: string) => void;
  /** One that is running has taken shape. */
  formed: () => void;
}

/** The followed source: a run or (pid) one of its projections. */
export interface PlaybackSource extends FrameSource {
  run: string;
  pid: string | null;
  /** True if Python believes that it is still going. */
  running: boolean;
  autoplay: boolean;
  step?: number | null;
}

export class Playback extends PlayState {
  private source: PlaybackSource | null = null;
  private prefetcher: Prefetcher;
  private presenter: FramePresenter;
  private hasStarted = false;
  private saidEnd = false; // whether it has been said how the run ended
  private fresh = false; // whether events have come since the last drawing
  private interval = new LiveInterval();
  private leave: () => void = () => {};
  private held: { entry: Entry; from: PlaybackSource | null } | null = null;

  /** `still()` says whether the person asked for less motion. */
  constructor(
    private scene: Scene,
    private on: PlaybackHooks,
    private still: () => boolean,
  ) {
    super();
    this.prefetcher = new Prefetcher(this, () => scene.invalidate(), on.trouble);
    this.presenter = new FramePresenter(this, scene, this.prefetcher, on, still);
  }

  follow(source: PlaybackSource): void {
    this.presenter.pace = this.shown ? SWITCH_S : 0;
    this.forget();
    this.source = source;
    this.frames = new Frames({ ...source, fed: stream.frame });
    const { run, pid } = source;
    const leave = stream.subscribe(run, (event) => this.onEvent(event), pid);
    const ofRun = (event: StreamEvent) => event.event.startsWith("alarm") && this.onEvent(event);
    const leaveRun = pid ? stream.subscribe(run, ofRun) : () => {}; // a map knows nothing of what its net does
    this.leave = () => {
      leave();
      leaveRun();
    };
    this.on.change();
  }

  /** Follow nothing: what comes of a run that was followed is not for this stage. */
  forget(): void {
    const { presenter } = this;
    this.leave();
    this.source = this.frames = this.shown = null;
    this.timeline = emptyTimeline();
    this.player = Object.assign(new Player(), { speed: this.player.speed });
    presenter.target = null;
    presenter.dropStretch();
    this.hasStarted = false;
    this.saidEnd = false;
    this.interval = new LiveInterval();
    this.prefetcher.anchor = null;
  }

  /** True if it follows this run or projection already; a new one waits for its items' labels. */
  isOf(run: string, pid: string | null): boolean {
    return this.source?.run === run && this.source.pid === pid;
  }

  /** Points that a person moves by the settings, as an entry: they stay until another map has come for them. */
  get moved(): Entry | null {
    return this.held?.entry ?? null;
  }

  /** Leave the stage to such points, or take it back. */
  hold(entry: Entry | null): void {
    this.player.playing = false;
    this.held = entry && { entry, from: this.held?.from ?? this.source };
    if (entry) return;
    this.fresh = true;
    this.scene.invalidate();
  }

  private onEvent(event: StreamEvent): void {
    if (event.event === "begun" && this.source) return this.follow(this.source); // nothing shown so far is of this run
    const { presenter } = this;
    const change = reduceEvent(this.timeline, event);
    if (change === "frames") {
      this.interval.record();
      if (this.entries.length === FORMED && this.source?.running) setTimeout(() => this.on.formed(), 0);
      const newest = this.entries.at(-1);
      if (newest && this.source?.running) void this.frames?.prefetch(newest.frame).catch(() => {}); // before it is drawn
    }
    if (change === "replay") {
      if (!this.player.following) this.player.position = indexOfStep(this.timeline, this.shown?.step ?? 0);
      presenter.pace = this.shown ? REPLAY_S : presenter.pace;
      presenter.dropStretch();
    }
    if (!isOpen(this.timeline) && this.source?.running && !this.saidEnd) {
      this.saidEnd = true;
      if (this.timeline.state !== "unknown") setTimeout(() => this.on.ended(this.timeline.state), 0);
    }
    if (!change) return;
    this.fresh = true;
    this.scene.invalidate();
  }

  /** Bounds that Home shows besides the frame on the stage: a play may not outgrow it, and a collapse not fill it. */
  get frameOfReference(): Bounds | null {
    const before = this.preCollapseFrame && this.frames?.get(this.preCollapseFrame)?.bounds;
    return union(this.prefetcher.anchor, before ?? null);
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
    const isReady = this.source !== this.held?.from && this.entries.length && (this.timeline.follows || !this.open);
    if (this.held && !isReady) return;
    this.held = null;
    if (this.fresh) {
      this.fresh = false;
      this.showLatest();
      this.on.change();
    }
    const { player, entries, scene, presenter } = this;
    if (!player.playing || !(presenter.isBetweenFrames || scene.settled) || presenter.target) return;
    const before = player.position;
    player.advance(seconds, entries.length, (i) => this.prefetcher.ready(i), this.open);
    if (player.position !== before) presenter.showPosition();
    if (player.position !== before || !player.playing) this.on.change();
    if (player.playing) scene.invalidate();
  }

  // New events: start, or follow the newest frame.
  private showLatest(): void {
    const { entries, player, source, presenter } = this;
    if (!entries.length || !source) return;
    // A run that is over comes whole within a moment; its own basis is waited for.
    if (!this.hasStarted && !source.running && this.open) return;
    const last = entries.length - 1;
    if (!this.hasStarted) {
      this.hasStarted = true;
      this.start(source, last);
    } else if (player.following) {
      player.position = last;
      presenter.show(last, presenter.pace || this.interval.motion);
    } else if (!player.playing) {
      presenter.show(Math.min(last, Math.round(player.position)), SEEK_S);
    }
    if (!this.open) this.prefetcher.fetchAll();
  }

  private start(source: PlaybackSource, last: number): void {
    const { player, presenter } = this;
    const request = source.step === null || source.step === undefined ? null : indexOfStep(this.timeline, source.step);
    player.following = this.open && request === null;
    const autoplay = source.autoplay && !this.open && request === null && last > 0 && !this.still();
    player.position = request ?? (autoplay ? 0 : last);
    const { entries, frames } = this;
    if (!frames) return;
    if (!autoplay) {
      if (!this.preCollapseFrame) {
        presenter.show(player.position, presenter.pace);
        return;
      }
      // The first frame sets the distance of the camera.
      const put = () => {
        if (this.frames === frames && !this.shown) presenter.show(player.position, presenter.pace);
      };
      frames.prefetch(this.preCollapseFrame).then(put, put);
      return;
    }
    // The last frame sets the space that the play will need.
    const ready = Promise.all([frames.load(entries[last].frame), frames.load(entries[0].frame)]);
    void ready.catch(this.on.trouble).then(() => {
      if (this.frames !== frames || player.position !== 0) return;
      this.prefetcher.fetchAll();
      presenter.show(0, presenter.pace);
      player.play(entries.length);
    });
  }

  /** Three dimensions were turned: show what is on the stage as it is seen now. */
  rotated(): void {
    this.presenter.rotated();
  }

  // ---- what the person asks

  toggle(): void {
    this.held = null;
    const { player, entries, presenter } = this;
    if (player.playing) player.pause();
    else if (player.play(entries.length)) presenter.show(0, SEEK_S * 2);
    else if (!presenter.isBetweenFrames && this.shown !== entries[Math.round(player.position)])
      presenter.show(Math.round(player.position), SEEK_S);
    this.on.change();
    this.scene.invalidate();
  }

  /** Play from the beginning. */
  restart(): void {
    Object.assign(this.player, { playing: false, position: this.entries.length - 1 });
    this.toggle();
  }

  seek(index: number): void {
    this.held = null;
    const { player, entries } = this;
    if (!entries.length) return;
    player.seek(index, entries.length, this.open);
    this.presenter.show(player.position, SEEK_S);
    this.on.change();
  }

  step(by: number): void {
    const from = by > 0 ? Math.floor(this.player.position) : Math.ceil(this.player.position);
    this.seek(from + by);
  }

  /** Stand at the frame of a step because another map does. */
  seekInterpolated(step: number): void {
    const { player, entries, presenter } = this;
    if (!entries.length || !this.hasStarted) return;
    const index = indexOfStep(this.timeline, step);
    if (entries[index] === (presenter.target ?? this.shown) && !player.playing && player.position === index) return;
    player.seek(index, entries.length, false);
    presenter.show(index, SEEK_S);
    this.on.change();
  }

  /** Go to the frame of a step of the training. */
  seekStep(step: number): void {
    if (this.entries.length && !this.isIterativeLayout) this.seek(indexOfStep(this.timeline, step));
  }

  /** Stand at a step, between two frames where need be, without easing: a person who drags controls the motion. */
  scrub(step: number): void {
    this.held = null;
    const { player, entries, presenter } = this;
    if (!entries.length || this.isIterativeLayout) return;
    const position = positionOfStep(this.timeline, step);
    const low = Math.floor(position);
    // A missing frame is requested, and the nearest frame stands in.
    if ([low, Math.ceil(position)].some((i) => !this.prefetcher.ready(i))) {
      this.seek(position);
      return;
    }
    Object.assign(player, { position, playing: false, following: false, stopAt: null });
    presenter.target = null;
    presenter.showPosition();
    this.on.change();
  }

  /** Draw each frame on its own basis, or all on that of the end. */
  refit(): void {
    const { timeline, player, entries } = this;
    if (!canRefit(timeline)) return;
    const step = entries[Math.round(player.position)]?.step ?? 0;
    timeline.refit = !timeline.refit;
    this.prefetcher.restart(); // other frames to fetch ahead
    player.playing = false;
    player.position = indexOfStep(timeline, step);
    this.presenter.pace = REPLAY_S;
    this.presenter.show(player.position, REPLAY_S);
    this.on.change();
  }

  /** Hear no more of what is followed. */
  destroy(): void {
    this.leave();
  }
}

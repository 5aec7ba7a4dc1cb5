// @ts-nocheck
// From events to motion: follows a run's or a projection's timeline and brings its frames onto the stage.
import { stream } from "../../lib/eventStream.ts";
import { union } from "../math/camera.ts";
import { Frames } from "../data/frames.ts";
import { Player } from "./player.ts";
import { canRefit, emptyTimeline, framesOf, headOfStep, indexOfStep, isCommon, isOpen, takeEvent } from "../data/timeline.ts";
import { Tween } from "../math/tween.ts";

const SEEK = 0.18; // seconds to ease to a frame that was asked for
const REPLAY = 0.8; // to the final basis, when a run ends
const SWITCH = 0.9; // to another run or projection of the same items
const LIVE = [0.3, 0.45]; // to a new frame of a live run: as long as they take to come, within this
const AGAIN = 300; // milliseconds between two looks for a frame that is still to come
const PREFETCH_BYTES = 40e6;
const PREFETCH_LANES = 3;

/** `on` holds change() for anything to be shown anew, ended(state) when a run that was open is over, trouble(error). */
export class Playback {
  constructor(scene, on, still) {
    Object.assign(this, { scene, on, still });
    this.player = new Player();
    this.timeline = emptyTimeline();
    this.shown = null; // the entry on the stage
    this.leave = () => {};
  }

  /** Follow a source: {run, pid, url of frames, watched, total, running, autoplay, step}. */
  follow(source) {
    this.leave();
    this.source = source;
    this.timeline = emptyTimeline();
    this.player = Object.assign(new Player(), { speed: this.player.speed });
    this.frames = new Frames({ ...source, fed: stream.frame });
    this.wanted = null;
    this.stretch = null;
    this.started = false;
    this.pace = this.shown ? SWITCH : 0;
    this.shown = null;
    this.interval = LIVE[1];
    this.arrival = 0;
    this.anchor = null; // bounds of the last frame of a common basis
    this.leave = stream.subscribe(source.run, (event) => this.take(event), source.pid);
    this.on.change();
  }

  take(event) {
    const changed = takeEvent(this.timeline, event);
    if (changed === "frames") this.clockArrival();
    if (changed === "replay") {
      if (!this.player.following) this.player.head = indexOfStep(this.timeline, this.shown?.step ?? 0);
      this.pace = this.shown ? REPLAY : this.pace;
      this.stretch = null;
    }
    if (!isOpen(this.timeline) && this.source.running && !this.source.told) {
      this.source.told = true;
      setTimeout(() => this.on.ended(this.timeline.state), 0);
    }
    if (!changed) return;
    this.fresh = true;
    this.scene.invalidate();
  }

  clockArrival() {
    const now = performance.now() / 1000;
    if (this.arrival) this.interval += 0.4 * (Math.min(2, now - this.arrival) - this.interval);
    this.arrival = now;
  }

  get entries() {
    return framesOf(this.timeline);
  }

  get open() {
    return isOpen(this.timeline);
  }

  /** Bounds that Home shows besides the frame on the stage: a play may not outgrow it, and a collapse not fill it. */
  get frameOfReference() {
    const before = this.uncollapsed && this.frames.have(this.uncollapsed)?.bounds;
    return union(this.anchor, before || null);
  }

  /** The first frame of a run that collapsed, which shows what size it had; else null. */
  get uncollapsed() {
    const collapsed = this.timeline.alarms.some(({ alarm }) => alarm === "collapsed");
    return collapsed && !this.unitless ? (this.entries[0]?.frame ?? null) : null;
  }

  /** Whether all frames share one basis. */
  get common() {
    return isCommon(this.timeline);
  }

  /** Bring the stage up to date; called before every drawing, `seconds` after the last. */
  tick(seconds) {
    try {
      this.move(seconds);
    } catch (error) {
      this.player.playing = false;
      this.on.trouble(error);
    }
  }

  move(seconds) {
    if (this.fresh) {
      this.fresh = false;
      this.catchUp();
      this.on.change();
    }
    const { player, entries, scene } = this;
    if (!player.playing || !(this.stretch || scene.settled) || this.wanted) return;
    const before = player.head;
    player.advance(seconds, entries.length, (i) => this.ready(i), this.open);
    if (player.head !== before) this.drawHead();
    if (player.head !== before || !player.playing) this.on.change();
    if (player.playing) scene.invalidate();
  }

  // New events: start, or follow the newest frame.
  catchUp() {
    const { entries, player, source } = this;
    if (!entries.length) return;
    // A run that is over comes whole within a moment; its own basis is waited for.
    if (!this.started && !source.running && this.open) return;
    const last = entries.length - 1;
    if (!this.started) {
      this.started = true;
      this.begin(last);
    } else if (player.following) {
      player.head = last;
      this.present(last, this.pace || Math.min(LIVE[1], Math.max(LIVE[0], this.interval * 1.1)));
    } else if (!player.playing) {
      this.present(Math.min(last, Math.round(player.head)), SEEK);
    }
    if (!this.open) this.settleDown();
  }

  begin(last) {
    const { source, player } = this;
    const asked = source.step === null || source.step === undefined ? null : indexOfStep(this.timeline, source.step);
    player.following = this.open && asked === null;
    const autoplay = source.autoplay && !this.open && asked === null && last > 0 && !this.still();
    player.head = asked ?? (autoplay ? 0 : last);
    const { entries, frames } = this;
    if (!autoplay) {
      if (!this.uncollapsed) return this.present(player.head, this.pace);
      // The first frame tells how far away to stand.
      const put = () => this.frames === frames && !this.shown && this.present(player.head, this.pace);
      return void frames.fetchOnly(this.uncollapsed).then(put, put);
    }
    // The last frame tells how much room the play will need.
    const ready = Promise.all([frames.load(entries[last].frame), frames.load(entries[0].frame)]);
    ready.catch((error) => this.on.trouble(error)).then(() => {
      if (this.frames !== frames || player.head !== 0) return;
      this.settleDown();
      this.present(0, this.pace);
      player.play(entries.length);
    });
  }

  // A closed timeline: keep the eye wide enough for the last frame of a common basis, and fetch ahead.
  settleDown() {
    const { entries, frames } = this;
    const last = entries.at(-1).frame;
    if (this.timeline.replay) this.anchor = this.common && frames.has(last) ? frames.have(last).bounds : null;
    if (this.fetching === frames) return;
    this.fetching = frames;
    const queue = [entries.length - 1, ...entries.keys()].map((i) => entries[i].frame);
    if (queue.reduce((sum, frame) => sum + frame.n * frame.dims * 2, 0) > PREFETCH_BYTES) return;
    const lane = async () => {
      while (queue.length && this.frames === frames) await frames.fetchOnly(queue.shift()).catch(() => {});
    };
    for (let i = 0; i < PREFETCH_LANES; i++) lane();
  }

  ready(index) {
    const entry = this.entries[index];
    if (this.frames.has(entry.frame)) return true;
    this.frames.fetchOnly(entry.frame).then(() => this.scene.invalidate(), (error) => this.on.trouble(error));
    return false;
  }

  /** Bring frame `index` onto the stage, moving for `seconds`, as soon as it is here. */
  present(index, seconds) {
    const entry = this.entries[index];
    const { frames } = this;
    this.stretch = null;
    this.wanted = entry;
    const put = (placed) => {
      // While a slow network lags behind a live run, any newer frame is better than none.
      const newer = this.player.following && (this.shown?.step ?? -1) < entry.step;
      if (this.frames !== frames || (this.wanted !== entry && !newer)) return;
      if (!placed) {
        // Polling brings it with a later message, or which items are watched is not known yet.
        setTimeout(() => this.frames === frames && this.wanted === entry && this.present(index, seconds), AGAIN);
        return;
      }
      if (this.wanted === entry) this.wanted = null;
      this.shown = entry;
      if (this.timeline.replay) this.settleDown();
      this.on.frame(entry, entry);
      this.scene.show(placed, this.still() ? 0 : seconds, { reframe: this.pace > 0 || this.unitless });
      this.pace = 0;
      this.on.change();
    };
    const here = frames.have(entry.frame);
    if (here) put(here);
    else frames.load(entry.frame).then(put).catch((error) => this.on.trouble(error));
  }

  // Frames of a projection under way have units of their own, each another.
  get unitless() {
    return this.timeline.noun === "iteration";
  }

  /** Three dimensions were turned: show what is on the stage as it is seen now. */
  turned() {
    if (!this.shown) return;
    if (this.stretch) {
      this.stretch = null;
      this.drawHead();
      return;
    }
    const here = this.frames.have(this.shown.frame);
    if (here?.xyz) this.scene.turned(here);
  }

  drawHead() {
    const { player, entries, frames, scene } = this;
    const low = Math.min(Math.floor(player.head), entries.length - 1);
    const share = player.head - low;
    if (share === 0) {
      this.shown = entries[low];
      this.stretch = null;
      this.on.frame(entries[low], entries[low]);
      return scene.show(frames.have(entries[low].frame), 0);
    }
    if (this.stretch?.low !== low || this.stretch.frames !== frames) {
      this.on.frame(entries[low], entries[low + 1]);
      this.stretch = { low, frames, ...this.stretchFrom(low) };
    }
    this.shown = entries[low];
    scene.play(this.stretch.tween, share, this.stretch.to);
  }

  stretchFrom(low) {
    const { entries, frames, scene } = this;
    const all = [-1, 0, 1, 2].map((by) => entries[low + by]?.frame);
    const placed = all.map((frame) => (frame && frames.has(frame) ? frames.have(frame) : null));
    const to = placed[2];
    if (!this.unitless || !scene.automatic) return { tween: Tween.stretch(...placed), to };
    const view = scene.homeOf(to);
    const carried = placed.map((frame, i) => frame && (i === 2 ? frame : scene.carried(frame, view, i === 1)));
    scene.carryTo(view);
    return { tween: Tween.stretch(...carried), to };
  }

  // ---- what the person asks

  toggle() {
    const { player, entries } = this;
    if (player.playing) player.pause();
    else if (player.play(entries.length)) this.present(0, SEEK * 2);
    else if (!this.stretch && this.shown !== entries[Math.round(player.head)]) this.present(Math.round(player.head), SEEK);
    this.on.change();
    this.scene.invalidate();
  }

  seek(index) {
    const { player, entries } = this;
    if (!entries.length) return;
    player.seek(index, entries.length, this.open);
    this.present(player.head, SEEK);
    this.on.change();
  }

  step(by) {
    const from = by > 0 ? Math.floor(this.player.head) : Math.ceil(this.player.head);
    this.seek(from + by);
  }

  /** Stand at the frame of a step because another map does. */
  standBeside(step) {
    const { player, entries } = this;
    if (!entries.length || !this.started) return;
    const index = indexOfStep(this.timeline, step);
    if (entries[index] === (this.wanted ?? this.shown) && !player.playing && player.head === index) return;
    player.seek(index, entries.length, false);
    this.present(index, SEEK);
    this.on.change();
  }

  /** Go to the frame of a step of the training. */
  seekStep(step) {
    if (this.entries.length && !this.unitless) this.seek(indexOfStep(this.timeline, step));
  }

  /** Stand at a step, between two frames where need be, without easing: whoever drags has the motion in hand. */
  scrub(step) {
    const { player, entries } = this;
    if (!entries.length || this.unitless) return;
    const head = headOfStep(this.timeline, step);
    const low = Math.floor(head);
    // What is not here yet is asked for, and the nearest frame stands in.
    if ([low, Math.ceil(head)].some((i) => !this.ready(i))) return this.seek(head);
    Object.assign(player, { head, playing: false, following: false, stopAt: null });
    this.wanted = null;
    this.drawHead();
    this.on.change();
  }

  /** Draw each frame on its own basis, or all on that of the end. */
  refit() {
    const { timeline, player, entries } = this;
    if (!canRefit(timeline)) return;
    const step = entries[Math.round(player.head)]?.step ?? 0;
    timeline.refit = !timeline.refit;
    this.fetching = null; // other frames to fetch ahead
    player.playing = false;
    player.head = indexOfStep(timeline, step);
    this.pace = REPLAY;
    this.present(player.head, REPLAY);
    this.on.change();
  }
}

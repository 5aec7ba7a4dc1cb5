// The slim bar under the map: play, step, scrub, how far, how fast.
import type { Course } from "../../lib/bus.ts";
import { context2d, h, icon, updateAttribute, type Child } from "../../lib/dom.ts";
import { maxOf, minOf } from "../../lib/extent.ts";
import { grouped } from "../../lib/format.ts";
import { explain } from "../../lib/glossary.ts";
import { css, type Theme } from "../../lib/theme.ts";
import {
  canRefit,
  framesOf,
  indexAt,
  isOpen,
  placeOf,
  placeOfStep,
  stepAt,
  type Entry,
  type Timeline,
} from "../data/timeline.ts";
import type { Player } from "../playback/player.ts";

const PLAY = "M4.5 2.6v10.8L13.2 8Z";
const PAUSE = "M4 2.8h2.8v10.4H4ZM9.2 2.8H12v10.4H9.2Z";
const BACK = "M11.5 3 5.5 8l6 5ZM4 3v10";
const REFIT =
  "Refit the projection at every frame, aligned to the previous one. Off: all frames use the final projection";
const COURSES = "Colored line: P@1, from 0 to 1; gray line: the loss";
const TICKS_PX = 24;
const FORWARD = "M4.5 3l6 5-6 5ZM12 3v10";

export interface PlayerHooks {
  play: () => void;
  step: (by: number) => void;
  seek: (index: number) => void;
  scrub: (step: number) => void;
  refit: () => void;
  speed: () => void;
}

export class PlayerBar {
  readonly node: HTMLElement;
  private play: HTMLButtonElement;
  private back: HTMLButtonElement;
  private forward: HTMLButtonElement;
  private ticks = h("canvas", "ticks");
  private fill = h("div", "fill");
  private knob = h("div", "knob");
  private track: HTMLElement;
  private label = h("span", "label");
  private live: HTMLButtonElement;
  private speed: HTMLButtonElement;
  private refit: HTMLButtonElement;
  private timeline: Timeline | null = null;
  private theme: Theme | null = null;
  private courses = new Map<"score" | "loss", Course>();
  private width = 0; // of the track
  /** The step that is shown, of how many; "" where there is nothing to play. */
  words = "";
  private playing: boolean | null = null;
  private key = ""; // what the ticks were drawn of

  constructor(private on: PlayerHooks) {
    const button = (name: string, title: string, act: () => void, content: Child = null) =>
      h("button", { class: name, title, "aria-label": content instanceof Element && title, click: act }, content);
    this.play = button("play", "Play", () => on.play(), icon(PLAY, true));
    this.back = button("step", "Previous frame", () => on.step(-1), icon(BACK));
    this.forward = button("step", "Next frame", () => on.step(1), icon(FORWARD));
    const slider = { class: "track", role: "slider", tabindex: 0, "aria-label": "Frame", title: COURSES };
    this.track = h("div", slider, h("div", "rail", this.fill), this.ticks, this.knob);
    this.live = button("live", "Jump to the newest frame", () => on.seek(Infinity), "Live");
    this.speed = button("speed", "Speed", () => on.speed());
    this.refit = button("refit", REFIT, () => on.refit(), "Align each frame");
    explain(this.refit, "align-each-frame");
    const parts = [this.play, this.back, this.forward, this.track, this.label, this.live, this.refit, this.speed];
    this.node = h("div", "player", ...parts);
    this.listen();
    new ResizeObserver(() => {
      this.width = this.track.clientWidth;
      this.drawTicks();
    }).observe(this.track);
  }

  listen() {
    const { track, on } = this;
    const shareOf = (event: PointerEvent) => {
      const box = track.getBoundingClientRect();
      return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    };
    let isDrag = false;
    const seek = (event: PointerEvent) => this.timeline && on.seek(indexAt(this.timeline, shareOf(event)));
    track.addEventListener("pointerdown", (event) => {
      track.setPointerCapture(event.pointerId);
      track.focus();
      isDrag = false;
      seek(event);
    });
    track.addEventListener("pointermove", (event) => {
      if (!this.timeline || !track.hasPointerCapture(event.pointerId)) return;
      isDrag = this.timeline.noun === "step";
      if (isDrag) on.scrub(stepAt(this.timeline, shareOf(event)));
      else seek(event);
    });
    const letGo = (event: PointerEvent) => {
      if (isDrag) seek(event);
      isDrag = false;
    };
    track.addEventListener("pointerup", letGo);
    track.addEventListener("pointercancel", letGo);
    track.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[event.key];
      const to = { Home: 0, End: Infinity }[event.key];
      if (by) on.step(by);
      else if (to !== undefined) on.seek(to);
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
  }

  /** Show where the player stands, and the step that is on the stage: while its points are on their way it is the one before. */
  update(timeline: Timeline, player: Player, theme: Theme, shown: Entry | null): void {
    this.timeline = timeline;
    const frames = framesOf(timeline);
    const open = isOpen(timeline);
    this.node.hidden = frames.length < 2 && !open; // nothing to play
    const low = Math.floor(player.position);
    const a = placeOf(timeline, low);
    const share = a + (placeOf(timeline, low + 1) - a) * (player.position - low);
    const total = open ? timeline.total : Math.max(frames.at(-1)?.step ?? 0, 0);
    const reached = open && timeline.total ? Math.min(1, timeline.current / timeline.total) : frames.length ? 1 : 0;
    const percent = (v: number) => `${(100 * v).toFixed(3)}%`;
    this.fill.style.width = percent(reached);
    this.knob.style.left = percent(share);
    this.knob.hidden = frames.length < 2 && !open;
    this.live.hidden = !open || player.following || !frames.length;
    this.setPlaying(player.playing);
    for (const button of [this.play, this.back, this.forward]) button.disabled = frames.length < 2;
    this.back.disabled ||= player.position <= 0;
    this.forward.disabled ||= player.position >= frames.length - 1;
    const step = (shown ?? frames[low])?.step ?? 0;
    const words =
      frames.length > 1 || (frames.length && open)
        ? `${timeline.noun} ${grouped(step)}${total ? ` of ${grouped(total)}` : ""}`
        : "";
    this.words = words;
    if (this.label.textContent !== words) this.label.textContent = words;
    this.refit.hidden = !canRefit(timeline);
    updateAttribute(this.refit, "aria-pressed", timeline.refit);
    this.speed.textContent = `${player.speed}×`;
    updateAttribute(this.track, "aria-valuemin", 0);
    updateAttribute(this.track, "aria-valuemax", Math.max(0, frames.length - 1));
    updateAttribute(this.track, "aria-valuenow", low);
    updateAttribute(this.track, "aria-valuetext", words);
    this.theme = theme;
    this.drawTicks();
  }

  /** Draw the score or the loss over the steps. */
  follow(name: "score" | "loss", course: Course): void {
    this.courses.set(name, course);
    this.drawTicks();
  }

  private setPlaying(playing: boolean): void {
    if (this.playing === playing) return;
    this.playing = playing;
    this.play.replaceChildren(icon(playing ? PAUSE : PLAY, true));
    this.play.title = playing ? "Pause (Space)" : "Play (Space)";
    this.play.setAttribute("aria-label", playing ? "Pause" : "Play");
  }

  // Asking the track for its width while a training moves the bar would lay the page out in each of its frames.
  private drawTicks(): void {
    const { timeline, theme, width } = this;
    if (!timeline || !theme || !width) return;
    const frames = framesOf(timeline);
    const key: unknown[] = [
      width,
      frames.length,
      frames.at(-1)?.frame.id,
      timeline.total,
      isOpen(timeline),
      theme.muted,
    ];
    for (const course of this.courses.values()) key.push(course.length, course.at(-1)?.step);
    if (key.join() === this.key) return;
    this.key = key.join();
    const ratio = globalThis.devicePixelRatio || 1;
    const { ticks } = this;
    ticks.width = Math.round(width * ratio);
    ticks.height = Math.round(TICKS_PX * ratio);
    const context = context2d(ticks);
    context.fillStyle = css(theme.muted);
    context.globalAlpha = 0.5;
    let before = -10;
    frames.forEach((_, i) => {
      const x = Math.round(placeOf(timeline, i) * (ticks.width - ratio));
      if (x - before < 3.5 * ratio) return; // a comb of touching ticks says less than a bar
      before = x;
      context.fillRect(x, 7.5 * ratio, Math.max(1, Math.round(ratio)), 9 * ratio);
    });
    context.globalAlpha = 0.8;
    context.lineWidth = 1.25 * ratio;
    for (const [name, course] of this.courses) {
      if (timeline.noun !== "step" || course.length < 2) continue;
      const values = course.map(({ value }) => value);
      const [low, high] = name === "score" ? [0, 1] : [minOf(values), maxOf(values)];
      context.strokeStyle = css(name === "score" ? theme.primary : theme.muted);
      context.beginPath();
      for (const { step, value } of course)
        context.lineTo(
          placeOfStep(timeline, step) * ticks.width,
          ticks.height - (1 + ((TICKS_PX - 2) * (value - low)) / (high - low || 1)) * ratio,
        );
      context.stroke();
    }
  }
}

// @ts-nocheck
// The slim bar under the map: play, step, scrub, how far, how fast.
import { element, grouped, icon, mark } from "../../lib/dom.ts";
import { canRefit, framesOf, indexAt, isOpen, placeOf, stepAt } from "../data/timeline.ts";

const PLAY = "M4.5 2.6v10.8L13.2 8Z";
const PAUSE = "M4 2.8h2.8v10.4H4ZM9.2 2.8H12v10.4H9.2Z";
const BACK = "M11.5 3 5.5 8l6 5ZM4 3v10";
const REFIT = "Fit the picture anew at every frame and turn it to the one before. Off: all frames on the basis of the end";
const FORTH = "M4.5 3l6 5-6 5ZM12 3v10";

/** `on` holds play(), step(by), seek(index), scrub(step), refit(), speed(). */
export class PlayerBar {
  constructor(on) {
    this.on = on;
    const button = (name, label, d, act, filled) =>
      element("button", { type: "button", class: name, title: label, "aria-label": label, click: act }, icon(d, filled));
    this.play = button("play", "Play", PLAY, () => on.play(), true);
    this.back = button("step", "One frame back", BACK, () => on.step(-1));
    this.forth = button("step", "One frame on", FORTH, () => on.step(1));
    this.ticks = element("canvas", { class: "ticks" });
    this.fill = element("div", { class: "fill" });
    this.knob = element("div", { class: "knob" });
    this.track = element(
      "div",
      { class: "track", role: "slider", tabindex: 0, "aria-label": "Frame" },
      element("div", { class: "rail" }, this.fill),
      this.ticks,
      this.knob,
    );
    this.label = element("span", { class: "label" });
    this.live = element(
      "button",
      { type: "button", class: "live", title: "Back to the newest frame", click: () => on.seek(Infinity) },
      "Live",
    );
    this.speed = element("button", { type: "button", class: "speed", title: "Speed", click: () => on.speed() });
    this.refit = element("button", { type: "button", class: "refit", title: REFIT, click: () => on.refit() }, "Refit");
    this.node = element(
      "div", { class: "player" },
      this.play, this.back, this.forth, this.track, this.label, this.live, this.refit, this.speed,
    );
    this.listen();
  }

  listen() {
    const { track, on } = this;
    const shareOf = (event) => {
      const box = track.getBoundingClientRect();
      return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    };
    let dragged = false;
    track.addEventListener("pointerdown", (event) => {
      track.setPointerCapture(event.pointerId);
      track.focus();
      dragged = false;
      if (this.timeline) on.seek(indexAt(this.timeline, shareOf(event)));
    });
    track.addEventListener("pointermove", (event) => {
      if (!this.timeline || !track.hasPointerCapture(event.pointerId)) return;
      dragged = this.timeline.noun === "step";
      if (dragged) on.scrub(stepAt(this.timeline, shareOf(event)));
      else on.seek(indexAt(this.timeline, shareOf(event)));
    });
    const letGo = (event) => {
      if (dragged) on.seek(indexAt(this.timeline, shareOf(event)));
      dragged = false;
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

  /** Show where the player stands. */
  update(timeline, player, theme) {
    this.timeline = timeline;
    const frames = framesOf(timeline);
    const open = isOpen(timeline);
    const low = Math.floor(player.head);
    const a = placeOf(timeline, low);
    const share = a + (placeOf(timeline, low + 1) - a) * (player.head - low);
    const total = open ? timeline.total : Math.max(frames.at(-1)?.step ?? 0, 0);
    const reached = open && timeline.total ? Math.min(1, timeline.current / timeline.total) : frames.length ? 1 : 0;
    const percent = (v) => `${(100 * v).toFixed(3)}%`;
    this.fill.style.width = percent(reached);
    this.knob.style.left = percent(share);
    this.knob.hidden = frames.length < 2 && !open;
    this.live.hidden = !open || player.following || !frames.length;
    this.setPlaying(player.playing);
    for (const button of [this.play, this.back, this.forth]) button.disabled = frames.length < 2;
    this.back.disabled ||= player.head <= 0;
    this.forth.disabled ||= player.head >= frames.length - 1;
    const step = frames[low]?.step ?? 0;
    const words = frames.length > 1 || (frames.length && open) ? `${timeline.noun} ${grouped(step)}${total ? ` of ${grouped(total)}` : ""}` : "";
    if (this.label.textContent !== words) this.label.textContent = words;
    this.refit.hidden = !canRefit(timeline);
    mark(this.refit, "aria-pressed", timeline.refit);
    this.speed.textContent = `${player.speed}×`;
    mark(this.track, "aria-valuemin", 0);
    mark(this.track, "aria-valuemax", Math.max(0, frames.length - 1));
    mark(this.track, "aria-valuenow", low);
    mark(this.track, "aria-valuetext", words);
    this.drawTicks(timeline, frames, theme);
  }

  setPlaying(playing) {
    if (this.shown === playing) return;
    this.shown = playing;
    this.play.replaceChildren(icon(playing ? PAUSE : PLAY, true));
    this.play.title = playing ? "Pause (Space)" : "Play (Space)";
    this.play.setAttribute("aria-label", playing ? "Pause" : "Play");
  }

  drawTicks(timeline, frames, theme) {
    const width = this.track.clientWidth;
    const key = [width, frames.length, frames.at(-1)?.frame.id, timeline.total, isOpen(timeline), theme.muted].join();
    if (!width || key === this.drawn) return;
    this.drawn = key;
    const ratio = globalThis.devicePixelRatio || 1;
    const { ticks } = this;
    ticks.width = Math.round(width * ratio);
    ticks.height = Math.round(9 * ratio);
    const context = ticks.getContext("2d");
    context.fillStyle = `rgb(${theme.muted})`;
    context.globalAlpha = 0.5;
    let before = -10;
    frames.forEach((_, i) => {
      const x = Math.round(placeOf(timeline, i) * (ticks.width - ratio));
      if (x - before < 3.5 * ratio) return; // a comb of touching ticks says less than a bar
      before = x;
      context.fillRect(x, 0, Math.max(1, Math.round(ratio)), ticks.height);
    });
  }
}

// @ts-nocheck
// The loss over the steps; a mark stands at the step the map shows, and dragging it moves the map.
import { bus } from "../../lib/bus.ts";
import { mount } from "../../lib/mount.ts";
import { Following, onceAFrame } from "../../charts/runSubscription.ts";
import { pathOf, scale, set, svg } from "../../charts/svg.ts";
import {
  emptyLosses, frameStep, lastStep, pointAt, rangeOf, smoothed, takeLoss, thinned, ticks,
} from "../../charts/lossSeries.ts";
import style from "./lossCurve.css";

const EDGE = { left: 38, right: 8, top: 6, bottom: 16 };

export default function ({ parentElement, data }) {
  return mount(parentElement, style, (parent) => new Curve(parent), (curve) => curve.update(data ?? {}));
}

class Curve {
  constructor(parent) {
    this.root = document.createElement("section");
    this.root.className = "curve";
    this.head = document.createElement("p");
    this.grid = svg("g", { class: "grid" });
    this.clip = svg("rect", {});
    this.raw = svg("path", { class: "raw" });
    this.mean = svg("path", { class: "mean" });
    this.frames = svg("path", { class: "frames" });
    this.ghost = svg("line", { class: "ghost" });
    this.mark = svg("line", { class: "mark" });
    this.knob = svg("circle", { class: "knob", r: 4.5 });
    this.chart = svg(
      "svg",
      { tabindex: 0, role: "slider", "aria-label": "Loss over the steps; arrow keys move the map through its frames, space plays" },
      svg("defs", {}, svg("clipPath", { id: "inside" }, this.clip)),
      this.grid,
      this.frames,
      svg("g", { "clip-path": "url(#inside)" }, this.raw, this.mean),
      this.ghost,
      this.mark,
      this.knob,
    );
    this.root.append(this.head, this.chart);
    parent.append(this.root);

    this.draw = onceAFrame(() => this.paint());
    this.step = null; // of the frame that the map shows
    this.held = null; // where a drag holds the mark
    this.hover = null;
    this.following = new Following(
      () => {
        this.losses = emptyLosses();
        this.step = null;
        this.draw();
      },
      (event) => takeLoss(this.losses, event) && this.draw(),
    );
    this.leaveBus = bus.on("frame", ({ run, view, step }) => {
      if (run !== this.run) return;
      this.step = view === "live" ? step : null; // a projection draws the embeddings of the end
      this.draw();
    });
    this.watcher = new ResizeObserver(() => this.draw());
    this.watcher.observe(this.chart);
    this.listen();
  }

  listen() {
    const { chart } = this;
    const stepAt = (event) => {
      const box = chart.getBoundingClientRect();
      const share = (event.clientX - box.left - EDGE.left) / (box.width - EDGE.left - EDGE.right);
      return Math.max(0, Math.min(1, share)) * lastStep(this.losses);
    };
    chart.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || !this.losses.frames.length) return;
      chart.setPointerCapture(event.pointerId);
      this.root.dataset.pointed = ""; // focus by pointer needs no ring
      this.hold(stepAt(event));
    });
    chart.addEventListener("pointermove", (event) => {
      this.hover = stepAt(event);
      if (this.held !== null) this.hold(this.hover);
      this.draw();
    });
    for (const name of ["pointerup", "pointercancel"]) chart.addEventListener(name, () => this.letGo());
    chart.addEventListener("pointerleave", () => {
      this.hover = null;
      this.draw();
    });
    chart.addEventListener("keydown", (event) => {
      delete this.root.dataset.pointed;
      const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[event.key];
      const to = { Home: 0, End: lastStep(this.losses) }[event.key];
      if (by === undefined && to === undefined && event.key !== " ") return;
      event.preventDefault();
      event.stopPropagation();
      if (event.key === " ") bus.emit("play", { run: this.run });
      else if (by === undefined) this.seek(frameStep(this.losses, to));
      else this.seek(frameStep(this.losses, this.step ?? lastStep(this.losses), by));
    });
  }

  seek(step) {
    if (step !== null) bus.emit("seek", { run: this.run, step });
  }

  // While it is dragged the mark is where the pointer is, and the map between two frames where need be.
  hold(step) {
    const { frames } = this.losses;
    this.held = Math.min(frames.at(-1), Math.max(frames[0], step));
    bus.emit("seek", { run: this.run, step: this.held, scrub: true });
    this.draw();
  }

  letGo() {
    if (this.held === null) return;
    this.seek(frameStep(this.losses, this.held));
    this.held = null;
    this.draw();
  }

  update({ run, begun, events_url }) {
    this.run = run;
    this.following.follow({ run, begun, events_url });
    this.draw();
  }

  paint() {
    const { losses } = this;
    const width = Math.max(120, this.chart.clientWidth);
    const height = Math.max(60, this.chart.clientHeight);
    const [low, high] = rangeOf(losses.points);
    const smooth = smoothed(losses.points);
    const last = lastStep(losses);
    const x = scale(0, last, EDGE.left, width - EDGE.right);
    const y = scale(low, high, height - EDGE.bottom, EDGE.top);
    const place = ({ step, loss }) => [x(step), y(loss)];
    set(this.chart, { viewBox: `0 0 ${width} ${height}` });
    set(this.clip, { x: EDGE.left, y: 0, width: width - EDGE.left - EDGE.right, height: height - EDGE.bottom });
    set(this.raw, { d: pathOf(thinned(losses.points).map(place)) });
    set(this.mean, { d: pathOf(thinned(smooth).map(place)) });
    this.grid.replaceChildren(
      ...(losses.points.length ? ticks(low, high) : []).flatMap((tick) => [
        svg("line", { x1: EDGE.left, x2: width - EDGE.right, y1: y(tick), y2: y(tick) }),
        svg("text", { x: EDGE.left - 5, y: y(tick) + 3.5, "text-anchor": "end" }, String(tick)),
      ]),
      svg("text", { x: EDGE.left, y: height - 3 }, "0"),
      svg("text", { x: width - EDGE.right, y: height - 3, "text-anchor": "end" }, `${last.toLocaleString("en")} steps`),
    );
    const ground = height - EDGE.bottom;
    set(this.frames, { d: losses.frames.map((step) => `M${x(step).toFixed(1)} ${ground - 3}v3`).join("") });
    const here = this.held ?? this.step ?? losses.points.at(-1)?.step ?? 0;
    const at = pointAt(smooth, here);
    set(this.mark, { x1: x(here), x2: x(here), y1: EDGE.top - 4, y2: ground });
    const inside = at ? Math.min(ground, Math.max(EDGE.top, y(at.loss))) : ground;
    set(this.knob, { cx: x(here), cy: inside, visibility: losses.frames.length ? null : "hidden" });
    const ghost = this.hover !== null && this.held === null ? x(this.hover) : null;
    set(this.ghost, { x1: ghost, x2: ghost, y1: EDGE.top, y2: ground, visibility: ghost === null ? "hidden" : null });
    set(this.chart, { "aria-valuemin": 0, "aria-valuemax": last, "aria-valuenow": Math.round(here) });
    this.paintHead(this.held ?? this.hover ?? here, smooth);
    const { dataset } = this.root;
    Object.assign(dataset, { ready: "true", run: this.run, step: Math.round(here), points: losses.points.length });
    dataset.held = this.held !== null;
  }

  paintHead(step, smooth) {
    const point = pointAt(smooth, step);
    this.head.replaceChildren("Loss ");
    if (!point) return;
    const value = document.createElement("strong");
    value.textContent = Math.abs(point.loss) >= 1000 ? point.loss.toExponential(2) : point.loss.toPrecision(3);
    this.head.append(value, ` at step ${point.step.toLocaleString("en")}, smoothed`);
  }

  stop() {
    this.leaveBus();
    this.following.stop();
    this.watcher.disconnect();
    this.draw.cancel();
    this.root.remove();
  }
}

// The loss over the steps; a mark stands at the step the map shows, and dragging it moves the map.
import { bus } from "../shared/bus.js";
import { Following, onceAFrame } from "../charts/following.js";
import { pathOf, scale, set, svg } from "../charts/svg.js";
import {
  emptyLosses, frameStep, lastStep, pointAt, rangeOf, smoothed, takeLoss, thinned, ticks,
} from "./losses.js";

const EDGE = { left: 38, right: 8, top: 6, bottom: 16 };
const mounted = new WeakMap();

export default function ({ parentElement, data }) {
  let curve = mounted.get(parentElement);
  if (!curve) mounted.set(parentElement, (curve = new Curve(parentElement)));
  curve.update(data ?? {});
  return () => {
    curve.stop();
    mounted.delete(parentElement);
  };
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
    this.mark = svg("line", { class: "mark" });
    this.chart = svg(
      "svg",
      { tabindex: 0, role: "slider", "aria-label": "Loss over the steps; arrow keys move the map through its frames" },
      svg("defs", {}, svg("clipPath", { id: "inside" }, this.clip)),
      this.grid,
      svg("g", { "clip-path": "url(#inside)" }, this.raw, this.mean),
      this.mark,
    );
    this.root.append(this.head, this.chart);
    parent.append(this.root);

    this.draw = onceAFrame(() => this.paint());
    this.step = null;
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
      if (event.button !== 0) return;
      chart.setPointerCapture(event.pointerId);
      this.dragging = true;
      this.seek(frameStep(this.losses, stepAt(event)));
    });
    chart.addEventListener("pointermove", (event) => {
      this.hover = stepAt(event);
      if (this.dragging) this.seek(frameStep(this.losses, this.hover));
      this.draw();
    });
    for (const name of ["pointerup", "pointercancel"]) chart.addEventListener(name, () => (this.dragging = false));
    chart.addEventListener("pointerleave", () => {
      this.hover = null;
      this.draw();
    });
    chart.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
      const to = { Home: 0, End: lastStep(this.losses) }[event.key];
      if (by === undefined && to === undefined) return;
      event.preventDefault();
      const from = this.step ?? lastStep(this.losses);
      this.seek(by === undefined ? frameStep(this.losses, to) : frameStep(this.losses, from, by));
    });
  }

  seek(step) {
    if (step === null || step === this.asked) return;
    this.asked = step;
    bus.emit("seek", { run: this.run, step });
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
    const last = lastStep(losses);
    const x = scale(0, last, EDGE.left, width - EDGE.right);
    const y = scale(low, high, height - EDGE.bottom, EDGE.top);
    const place = ({ step, loss }) => [x(step), y(loss)];
    set(this.chart, { viewBox: `0 0 ${width} ${height}` });
    set(this.clip, { x: EDGE.left, y: 0, width: width - EDGE.left - EDGE.right, height: height - EDGE.bottom });
    set(this.raw, { d: pathOf(thinned(losses.points).map(place)) });
    set(this.mean, { d: pathOf(thinned(smoothed(losses.points)).map(place)) });
    this.grid.replaceChildren(
      ...(losses.points.length ? ticks(low, high) : []).flatMap((tick) => [
        svg("line", { x1: EDGE.left, x2: width - EDGE.right, y1: y(tick), y2: y(tick) }),
        svg("text", { x: EDGE.left - 5, y: y(tick) + 3.5, "text-anchor": "end" }, String(tick)),
      ]),
      svg("text", { x: EDGE.left, y: height - 3 }, "0"),
      svg("text", { x: width - EDGE.right, y: height - 3, "text-anchor": "end" }, `${last.toLocaleString("en")} steps`),
    );
    const here = this.step ?? losses.points.at(-1)?.step ?? 0;
    set(this.mark, { x1: x(here), x2: x(here), y1: EDGE.top - 4, y2: height - EDGE.bottom });
    set(this.chart, { "aria-valuemin": 0, "aria-valuemax": last, "aria-valuenow": here });
    if (this.asked !== this.step) this.asked = null;
    this.paintHead(this.hover ?? here);
    Object.assign(this.root.dataset, { ready: "true", run: this.run, step: here, points: losses.points.length });
  }

  paintHead(step) {
    const point = pointAt(smoothed(this.losses.points), step);
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

// @ts-nocheck
// How far test images of one class and of two classes are apart, with the loss's margin and a threshold to drag.
import { onceAFrame } from "../charts/runSubscription.ts";
import { pathOf, scale, set, svg } from "../charts/svg.ts";
import { element } from "../lib/dom.ts";
import { bus } from "../lib/bus.ts";
import { unpack } from "./batch.ts";
import { coarse, equalError, mean, rates } from "./errorRates.ts";
import { Answers } from "./jsonCache.ts";

const HEIGHT = 200;
const EDGE = { left: 10, right: 10, top: 34, bottom: 30 };
const RULER = 20; // where the margin is written, above the curves
const BINS = 4; // of the server's make one of the picture's
const NAMES = { euclidean: "Euclidean distance", sqeuclidean: "squared Euclidean distance", cosine: "1 − cosine" };

export class DistancesView {
  constructor() {
    this.draw = onceAFrame(() => this.paint());
    this.answers = new Answers(() => this.draw());
    this.same = svg("path", { class: "same" });
    this.different = svg("path", { class: "different" });
    this.marks = svg("g", { class: "marks" });
    this.axis = svg("g", { class: "axis" });
    this.line = svg("line", { class: "threshold" });
    this.grip = svg("circle", { class: "grip", r: 6 });
    this.handle = svg("g", { tabindex: 0, role: "slider", "aria-label": "Threshold on the distance" }, this.line, this.grip);
    this.chart = svg("svg", { height: HEIGHT }, this.different, this.same, this.marks, this.axis, this.handle);
    this.words = element("p", { class: "sentence" });
    this.caption = element("p", { class: "note" });
    this.node = element("div", { class: "distances" },
      element("p", { class: "sides" }, swatch("same"), "pairs of one class", swatch("different"), "pairs of two classes"),
      this.chart, this.words, this.caption);
    this.watcher = new ResizeObserver(() => this.draw());
    this.watcher.observe(this.node);
    this.isOpen = false;
    this.leave = bus.on("frame", ({ run, view, step }) => {
      if (run !== this.run) return;
      this.step = view === "live" ? Math.round(step) : null;
      this.draw();
    });
    this.listen();
    this.begin();
  }

  begin() {
    Object.assign(this, { steps: [], last: null, step: null, shown: null, threshold: null, top: 0 });
    this.answers.forget();
    this.draw();
  }

  follow(run, begun) {
    Object.assign(this, { run, begun });
    this.draw();
  }

  take(event) {
    if (event.event === "started") this.begin();
    if (event.event === "snapshot") this.steps.push(event.step);
    if (event.event === "finished" || event.event === "stopped") if (event.step) this.steps.push(event.step);
    this.draw();
  }

  open(open) {
    this.isOpen = open;
    this.draw();
  }

  listen() {
    const at = (event) => {
      const box = this.chart.getBoundingClientRect();
      const share = (event.clientX - box.left - EDGE.left) / (box.width - EDGE.left - EDGE.right);
      return Math.max(0, Math.min(1, share)) * this.shown.high;
    };
    this.chart.addEventListener("pointerdown", (event) => {
      if (!this.shown || event.button !== 0) return;
      this.chart.setPointerCapture(event.pointerId);
      this.dragging = true;
      this.move(at(event));
    });
    this.chart.addEventListener("pointermove", (event) => this.dragging && this.move(at(event)));
    for (const name of ["pointerup", "pointercancel"]) this.chart.addEventListener(name, () => (this.dragging = false));
    this.chart.addEventListener("dblclick", () => this.move(null));
    this.handle.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
      if (!by || !this.shown) return;
      event.preventDefault();
      this.move(Math.max(0, Math.min(this.shown.high, this.here() + (by * this.shown.high) / 100)));
    });
  }

  move(threshold) {
    this.threshold = threshold;
    this.draw();
  }

  here() {
    return Math.min(this.shown.high, this.threshold ?? equalError(this.shown));
  }

  load() {
    const steps = this.steps;
    if (!steps.length) return;
    const wanted = this.step ?? steps.at(-1);
    const step = steps.reduce((best, each) => (Math.abs(each - wanted) < Math.abs(best - wanted) ? each : best));
    const answer = this.answers.get(`/api/runs/${this.run}/distances/${step}.json?${this.begun}`);
    if (!answer) return;
    this.error = answer.error ?? null;
    if (this.error || answer === this.told) return;
    this.told = answer;
    this.shown = { ...answer, same: [...unpack(answer.same, "<u4")], different: [...unpack(answer.different, "<u4")] };
  }

  paint() {
    if (!this.isOpen || this.node.offsetParent === null) return;
    this.load();
    const { shown } = this;
    this.chart.style.visibility = shown ? "" : "hidden";
    if (!shown) {
      this.caption.textContent = this.error ?? "The first distances are here as soon as the training has begun.";
      return;
    }
    const width = Math.max(200, this.chart.clientWidth);
    const x = scale(0, shown.high, EDGE.left, width - EDGE.right);
    const [same, different] = [shown.same, shown.different].map((counts) => coarse(counts, BINS));
    const top = Math.max(...same, ...different) || 1;
    const y = scale(0, top, HEIGHT - EDGE.bottom, EDGE.top);
    set(this.chart, { viewBox: `0 0 ${width} ${HEIGHT}` });
    const area = (shares) => {
      const points = shares.map((share, i) => [x(((i + 0.5) / shares.length) * shown.high), y(share)]);
      return `${pathOf([[x(0), y(0)], ...points, [x(shown.high), y(0)]])}Z`;
    };
    set(this.same, { d: area(same) });
    set(this.different, { d: area(different) });
    this.axis.replaceChildren(
      svg("line", { x1: x(0), x2: x(shown.high), y1: y(0), y2: y(0) }),
      ...[0, 0.25, 0.5, 0.75, 1].map((share) =>
        svg("text", { x: x(share * shown.high), y: HEIGHT - 16, "text-anchor": share === 0 ? "start" : share === 1 ? "end" : "middle" },
          String(Number((share * shown.high).toPrecision(3))))),
      svg("text", { x: width / 2, y: HEIGHT - 3, "text-anchor": "middle" }, NAMES[shown.measure]),
    );
    this.marks.replaceChildren(...this.margins(x, y));
    const here = this.here();
    set(this.line, { x1: x(here), x2: x(here), y1: 8, y2: y(0) });
    set(this.grip, { cx: x(here), cy: 8 });
    const { accepted, rejected } = rates(shown, here);
    const value = Number(here.toPrecision(3));
    set(this.handle, { "aria-valuemin": 0, "aria-valuemax": shown.high, "aria-valuenow": value, "aria-valuetext": String(value) });
    this.words.textContent =
      `Called “same class” below ${value}: ${percent(accepted)} of the pairs of two classes would be accepted (false accepts), ` +
      `${percent(rejected)} of the pairs of one class rejected (false rejects)${this.threshold === null ? "; here both are alike. Drag the line." : ". Double-click sets it where both are alike."}`;
    const pairs = (shown.images * (shown.images - 1)) / 2;
    this.caption.textContent = `${pairs.toLocaleString("en")} pairs of ${shown.images.toLocaleString("en")} of the ${shown.watched.toLocaleString("en")} watched test images after step ${shown.step.toLocaleString("en")}. Each curve has the same area.`;
    Object.assign(this.node.dataset, { step: shown.step, accepted: accepted.toFixed(4), rejected: rejected.toFixed(4) });
  }

  /** Where the loss leaves pairs alone; for a loss without such places its margin as a ruler. */
  margins(x, y) {
    const { near, far, gap, sharp } = this.shown.reach;
    const mark = (at, text, anchor) => [
      svg("line", { x1: x(at), x2: x(at), y1: RULER - 6, y2: y(0) }),
      svg("text", { x: x(at) + (anchor === "end" ? -4 : 4), y: RULER + 2, "text-anchor": anchor }, text),
    ];
    const inside = (at) => at !== null && at >= 0 && at <= this.shown.high;
    if (near !== null && sharp) {
      return [...(inside(near) && near > 0 ? mark(near, `one class: left alone below ${short(near)}`, "end") : []),
        ...(inside(far) ? mark(far, `margin ${short(far)}: two classes left alone beyond`, x(far) > x(this.shown.high) * 0.6 ? "end" : "start") : [])];
    }
    if (!sharp || !gap || gap > this.shown.high) return [];
    const from = Math.min(mean(this.shown.same, this.shown.high), this.shown.high - gap);
    return [
      svg("line", { x1: x(from), x2: x(from + gap), y1: RULER, y2: RULER }),
      ...[from, from + gap].map((at) => svg("line", { x1: x(at), x2: x(at), y1: RULER - 4, y2: RULER + 4 })),
      svg("text", { x: x(from + gap) + 5, y: RULER + 4, "text-anchor": "start" }, `margin ${short(gap)}: how much farther a negative must be than a positive`),
    ];
  }

  stop() {
    this.leave();
    this.watcher.disconnect();
    this.draw.cancel();
  }
}

const short = (value) => String(Number(value.toPrecision(3)));
const percent = (share) => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;

function swatch(name) {
  return element("i", { class: name });
}

// Distances of test images of one class and of two classes, with the loss's margin and a threshold to drag.
import { maxOf } from "../lib/extent.ts";
import type { DistancesAnswer } from "../protocol.ts";
import { ROUTES } from "../lib/server.ts";
import { counted, digits as short, grouped, percent } from "../lib/format.ts";
import { onAnimationFrame } from "../charts/runSubscription.ts";
import { pathOf, scale, setAttributes, svg } from "../charts/svg.ts";
import { h, setData } from "../lib/dom.ts";
import { bus } from "../lib/bus.ts";
import { unpack } from "./batch.ts";
import { eerThreshold, mean, rates, rebin, type Histograms } from "./errorRates.ts";
import { JsonCache } from "./jsonCache.ts";
import type { StreamEvent } from "../lib/eventStream.ts";

const HEIGHT = 200;
const PADDING = { left: 10, right: 10, top: 34, bottom: 30 };
const RULER_HEIGHT = 20; // where the margin is written, above the curves
const BINS = 4; // of the server's make one of the picture's
const DISTANCE_LABELS = {
  euclidean: "Euclidean distance",
  sqeuclidean: "squared Euclidean distance",
  cosine: "1 − cosine",
};

/** An answer with its histograms as numbers. */
type Shown = Omit<DistancesAnswer, "same" | "different"> & Histograms;
type Scale = (value: number) => number;

export class DistanceHistogram {
  private draw = onAnimationFrame(() => this.render());
  private answers = new JsonCache<DistancesAnswer>(() => this.draw());
  private same = svg("path", { class: "same" });
  private different = svg("path", { class: "different" });
  private marks = svg("g", { class: "marks" });
  private axis = svg("g", { class: "axis" });
  private line = svg("line", { class: "threshold" });
  private grip = svg("circle", { class: "grip", r: 6 });
  private handle = svg(
    "g",
    { tabindex: 0, role: "slider", "aria-label": "Threshold on the distance" },
    this.line,
    this.grip,
  );
  private chart = svg("svg", { height: HEIGHT }, this.different, this.same, this.marks, this.axis, this.handle);
  private words = h("p", "sentence");
  private caption = h("p", "note");
  readonly node = h(
    "div",
    "distances",
    h("p", "sides", h("i", "same"), "same-class pairs", h("i", "different"), "different-class pairs"),
    this.chart,
    this.words,
    this.caption,
  );
  private watcher = new ResizeObserver(() => this.draw());
  private leave: () => void;
  private run = "";
  private begun: string | null = null;
  private steps: number[] = [];
  private step: number | null = null; // of the map
  private shown: Shown | null = null;
  private answer: DistancesAnswer | null = null; // what is shown, as the server sent it
  private error: string | null = null;
  private threshold: number | null = null;
  private dragging = false;
  private isOpen = false;

  /** `noun` is what one of the points is, where it is no test image. */
  constructor(private noun?: string) {
    this.watcher.observe(this.node);
    this.leave = bus.on("frame", ({ run, moment }) => {
      if (run !== this.run) return;
      this.step = moment;
      this.draw();
    });
    this.listen();
  }

  reset(): void {
    this.steps = [];
    this.step = this.threshold = null;
    this.shown = this.answer = null;
    this.answers.clear();
    this.draw();
  }

  follow(run: string, begun: string | null): void {
    this.run = run;
    this.begun = begun;
    this.draw();
  }

  onEvent(event: StreamEvent): void {
    if (event.event === "started") this.reset();
    if (event.event === "snapshot") this.steps.push(event.step);
    if ((event.event === "finished" || event.event === "stopped") && event.step !== undefined)
      this.steps.push(event.step);
    this.draw();
  }

  open(open: boolean): void {
    this.isOpen = open;
    this.draw();
  }

  private listen(): void {
    const at = (event: PointerEvent) => {
      const box = this.chart.getBoundingClientRect();
      const share = (event.clientX - box.left - PADDING.left) / (box.width - PADDING.left - PADDING.right);
      return Math.max(0, Math.min(1, share)) * (this.shown?.high ?? 0);
    };
    this.chart.addEventListener("pointerdown", (event) => {
      if (!this.shown || event.button !== 0) return;
      this.chart.setPointerCapture(event.pointerId);
      this.dragging = true;
      this.move(at(event));
    });
    this.chart.addEventListener("pointermove", (event) => {
      if (this.dragging) this.move(at(event));
    });
    for (const name of ["pointerup", "pointercancel"] as const) {
      this.chart.addEventListener(name, () => {
        this.dragging = false;
      });
    }
    this.chart.addEventListener("dblclick", () => this.move(null));
    this.handle.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
      if (!by || !this.shown) return;
      event.preventDefault();
      this.move(Math.max(0, Math.min(this.shown.high, this.thresholdOf(this.shown) + (by * this.shown.high) / 100)));
    });
  }

  private move(threshold: number | null): void {
    this.threshold = threshold;
    this.draw();
  }

  private thresholdOf(shown: Shown): number {
    return Math.min(shown.high, this.threshold ?? eerThreshold(shown));
  }

  private load(): void {
    const { steps } = this;
    const newest = steps.at(-1);
    if (newest === undefined) return;
    const target = this.step ?? newest;
    const step = steps.reduce((best, each) => (Math.abs(each - target) < Math.abs(best - target) ? each : best));
    const answer = this.answers.get(`${ROUTES}/runs/${this.run}/distances/${step}.json?${this.begun}`);
    if (!answer) return;
    this.error = "error" in answer ? answer.error : null;
    if ("error" in answer || answer === this.answer) return;
    this.answer = answer;
    this.shown = { ...answer, same: [...unpack(answer.same, "<u4")], different: [...unpack(answer.different, "<u4")] };
  }

  private render(): void {
    if (!this.isOpen || this.node.offsetParent === null) return;
    this.load();
    const { shown } = this;
    this.chart.style.visibility = shown ? "" : "hidden";
    if (!shown) {
      this.caption.textContent =
        this.error ?? (this.steps.length ? "Measuring distances …" : "Waiting for the first snapshot …");
      return;
    }
    const width = Math.max(200, this.chart.clientWidth);
    const x = scale(0, shown.high, PADDING.left, width - PADDING.right);
    const [same, different] = [shown.same, shown.different].map((counts) => rebin(counts, BINS));
    const top = maxOf([...same, ...different]) || 1;
    const y = scale(0, top, HEIGHT - PADDING.bottom, PADDING.top);
    setAttributes(this.chart, { viewBox: `0 0 ${width} ${HEIGHT}` });
    const area = (shares: number[]) => {
      const points = shares.map((share, i): [number, number] => [
        x(((i + 0.5) / shares.length) * shown.high),
        y(share),
      ]);
      return `${pathOf([[x(0), y(0)], ...points, [x(shown.high), y(0)]])}Z`;
    };
    setAttributes(this.same, { d: area(same) });
    setAttributes(this.different, { d: area(different) });
    this.axis.replaceChildren(
      svg("line", { x1: x(0), x2: x(shown.high), y1: y(0), y2: y(0) }),
      ...[0, 0.25, 0.5, 0.75, 1].map((share) =>
        svg(
          "text",
          {
            x: x(share * shown.high),
            y: HEIGHT - 16,
            "text-anchor": share === 0 ? "start" : share === 1 ? "end" : "middle",
          },
          String(Number((share * shown.high).toPrecision(3))),
        ),
      ),
      svg("text", { x: width / 2, y: HEIGHT - 3, "text-anchor": "middle" }, DISTANCE_LABELS[shown.measure]),
    );
    this.marks.replaceChildren(...margins(shown, x, y));
    const threshold = this.thresholdOf(shown);
    setAttributes(this.line, { x1: x(threshold), x2: x(threshold), y1: 8, y2: y(0) });
    setAttributes(this.grip, { cx: x(threshold), cy: 8 });
    const { accepted, rejected } = rates(shown, threshold);
    const value = Number(short(threshold));
    setAttributes(this.handle, {
      "aria-valuemin": 0,
      "aria-valuemax": shown.high,
      "aria-valuenow": value,
      "aria-valuetext": String(value),
    });
    this.words.textContent =
      `At threshold ${value}: ${percent(accepted)} of different-class pairs are accepted (FAR), ` +
      `${percent(rejected)} of same-class pairs are rejected (FRR)${this.threshold === null ? ": the equal error rate. Drag the line to change it." : ". Double-click to return to the equal error rate."}`;
    const pairs = (shown.images * (shown.images - 1)) / 2;
    this.caption.textContent = `${grouped(pairs)} pairs of ${shown.images === shown.tracked ? "all" : `${grouped(shown.images)} of the`} ${grouped(shown.tracked)} ${this.noun ? `${this.noun}s` : `tracked test images after ${counted(shown.step, "step")}`}. Each curve has the same area.`;
    setData(this.node, { step: shown.step, accepted: accepted.toFixed(4), rejected: rejected.toFixed(4) });
  }

  destroy(): void {
    this.leave();
    this.watcher.disconnect();
    this.draw.cancel();
  }
}

/** The distances beyond which the loss ignores pairs; for a loss without them its margin as a ruler. */
function margins(
  {
    thresholds: { positive_threshold: near, negative_threshold: far, margin: gap, is_hinge: sharp },
    high,
    same,
  }: Shown,
  x: Scale,
  y: Scale,
): SVGElement[] {
  const mark = (at: number, text: string, anchor: "start" | "end") => [
    svg("line", { x1: x(at), x2: x(at), y1: RULER_HEIGHT - 6, y2: y(0) }),
    svg("text", { x: x(at) + (anchor === "end" ? -4 : 4), y: RULER_HEIGHT + 2, "text-anchor": anchor }, text),
  ];
  const isInside = (at: number | null): at is number => at !== null && at >= 0 && at <= high;
  if (near !== null && sharp) {
    return [
      ...(isInside(near) && near > 0 ? mark(near, `positives below ${short(near)}: no loss`, "end") : []),
      ...(isInside(far)
        ? mark(far, `negatives beyond ${short(far)}: no loss`, x(far) > x(high) * 0.6 ? "end" : "start")
        : []),
    ];
  }
  if (!sharp || !gap || gap > high) return [];
  const from = Math.min(mean(same, high), high - gap);
  const words = `margin ${short(gap)}: how much farther a negative must be than a positive`;
  return [
    svg("line", { x1: x(from), x2: x(from + gap), y1: RULER_HEIGHT, y2: RULER_HEIGHT }),
    ...[from, from + gap].map((at) =>
      svg("line", { x1: x(at), x2: x(at), y1: RULER_HEIGHT - 4, y2: RULER_HEIGHT + 4 }),
    ),
    svg("text", { x: x(from + gap) + 5, y: RULER_HEIGHT + 4, "text-anchor": "start" }, words),
  ];
}

// The share of active terms over the steps, with a mark for each batch that was kept: a small chart to choose from.
import { grouped } from "../lib/format.ts";
import { pathOf, scale, setAttributes, svg } from "../charts/svg.ts";
import { h, pointerPlace } from "../lib/dom.ts";
import type { StreamEvent } from "../lib/eventStream.ts";
import { downsample, movingAverage, type LossPoint } from "../charts/lossSeries.ts";

const HEIGHT = 34;
const PADDING = 6;

export class StepSlider {
  private words = h("p");
  private course = svg("path", { class: "course" });
  private marks = svg("g");
  private chart = svg(
    "svg",
    { height: HEIGHT, tabindex: 0, role: "slider", "aria-label": "Recorded batch; arrow keys choose another" },
    this.course,
    this.marks,
  );
  readonly node = h("div", "active", this.words, this.chart);
  /** The share of active terms by step. */
  private points: LossPoint[] = [];
  private total = 1;
  private step: number | null = null;
  private steps: number[] = [];
  /** The share of active terms of each batch that was kept. */
  private shares = new Map<number, number>();

  constructor(onchoose: (step: number) => void) {
    this.chart.addEventListener("click", (event) => {
      const width = this.chart.clientWidth;
      const step = this.stepAt((pointerPlace(event, this.chart)[0] * width - PADDING) / (width - 2 * PADDING));
      if (step !== null) onchoose(step);
    });
    this.chart.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
      if (!by || !this.steps.length) return;
      event.preventDefault();
      const at = this.steps.indexOf(this.step ?? -1);
      onchoose(this.steps[Math.max(0, Math.min(this.steps.length - 1, at + by))]);
    });
  }

  reset(): void {
    this.points = [];
    this.total = 1;
    this.steps = [];
    this.shares = new Map();
  }

  /** Says whether there is more to show. */
  onEvent(event: StreamEvent): boolean {
    if (event.event === "started" && "steps" in event) this.total = event.steps ?? 1;
    if (event.event === "batch") this.shares.set(event.step, event.active ?? NaN);
    if (event.event === "stopped") this.total = event.step || this.total;
    if (event.event !== "step" || event.active === null) return false;
    this.points.push({ step: event.step, loss: event.active });
    return true;
  }

  // Dense at the start, kept batches would lie upon each other on a straight axis: the root spreads them evenly.
  private place(step: number): number {
    return Math.sqrt(Math.max(0, step - 1) / Math.max(1, this.total - 1));
  }

  private stepAt(share: number): number | null {
    return this.steps.reduce<number | null>(
      (best, step) =>
        best === null || Math.abs(this.place(step) - share) < Math.abs(this.place(best) - share) ? step : best,
      null,
    );
  }

  render(step: number | null, steps: number[]): void {
    this.step = step;
    this.steps = [...steps].sort((a, b) => a - b);
    const width = Math.max(120, this.chart.clientWidth);
    const x = scale(0, 1, PADDING, width - PADDING);
    const y = scale(0, 1, HEIGHT - 14, 3);
    setAttributes(this.chart, {
      viewBox: `0 0 ${width} ${HEIGHT}`,
      "aria-valuenow": step ?? 0,
      "aria-valuemin": this.steps[0] ?? 0,
      "aria-valuemax": this.steps.at(-1) ?? 0,
    });
    setAttributes(this.course, {
      d: pathOf(downsample(movingAverage(this.points)).map((point) => [x(this.place(point.step)), y(point.loss)])),
    });
    this.marks.replaceChildren(
      ...this.steps.flatMap((other) => {
        const at = x(this.place(other));
        const own = other === step;
        const anchor = at < 24 ? "start" : at > width - 24 ? "end" : "middle";
        return [
          svg("line", { x1: at, x2: at, y1: 2, y2: HEIGHT - 13, class: own ? "own" : "kept" }),
          svg("text", { x: at, y: HEIGHT - 2, "text-anchor": anchor, class: own ? "own" : "kept" }, grouped(other)),
        ];
      }),
    );
    const now = step === null ? NaN : (this.shares.get(step) ?? NaN);
    const strong = h("strong", {}, !Number.isFinite(now) ? "–" : `${Math.round(100 * now)} %`);
    this.words.replaceChildren(
      "Batch of step ",
      h("strong", {}, step === null ? "–" : grouped(step)),
      " · active terms ",
      strong,
    );
  }

  destroy(): void {
    this.chart.remove();
  }
}

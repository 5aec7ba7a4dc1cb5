// @ts-nocheck
// The share of active terms over the steps, with a mark for each batch that was kept: a small chart to choose from.
import { pathOf, scale, set, svg } from "../charts/svg.ts";
import { element } from "../lib/dom.ts";
import { smoothed, thinned } from "../charts/lossSeries.ts";

const HEIGHT = 34;
const EDGE = 6;

export class Active {
  constructor(onchoose) {
    this.onchoose = onchoose;
    this.words = element("p", {});
    this.course = svg("path", { class: "course" });
    this.marks = svg("g", {});
    this.chart = svg("svg", {
      height: HEIGHT, tabindex: 0, role: "slider", "aria-label": "Recorded batch; arrow keys choose another",
    }, this.course, this.marks);
    this.node = element("div", { class: "active" }, this.words, this.chart);
    this.chart.addEventListener("click", (event) => {
      const box = this.chart.getBoundingClientRect();
      const step = this.stepAt((event.clientX - box.left - EDGE) / (box.width - 2 * EDGE));
      if (step !== null) onchoose(step);
    });
    this.chart.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
      if (!by || !this.steps?.length) return;
      event.preventDefault();
      const at = this.steps.indexOf(this.step);
      onchoose(this.steps[Math.max(0, Math.min(this.steps.length - 1, at + by))]);
    });
    this.begin();
  }

  begin() {
    Object.assign(this, { points: [], total: 1, steps: [], kept: new Map() });
  }

  take(event) {
    if (event.event === "started") this.total = event.steps;
    if (event.event === "batch") this.kept.set(event.step, event.active);
    if (event.event === "stopped") this.total = event.step || this.total;
    if (event.event !== "step" || !Number.isFinite(event.active)) return false;
    this.points.push({ step: event.step, loss: event.active });
    return true;
  }

  // Dense at the start, kept batches would lie upon each other on a straight axis: the root spreads them evenly.
  place(step) {
    return Math.sqrt(Math.max(0, step - 1) / Math.max(1, this.total - 1));
  }

  stepAt(share) {
    return this.steps.reduce((best, step) =>
      best === null || Math.abs(this.place(step) - share) < Math.abs(this.place(best) - share) ? step : best, null);
  }

  paint(step, steps) {
    Object.assign(this, { step, steps: [...steps].sort((a, b) => a - b) });
    const width = Math.max(120, this.chart.clientWidth);
    const x = scale(0, 1, EDGE, width - EDGE);
    const y = scale(0, 1, HEIGHT - 14, 3);
    set(this.chart, { viewBox: `0 0 ${width} ${HEIGHT}`, "aria-valuenow": step ?? 0, "aria-valuemin": this.steps[0] ?? 0, "aria-valuemax": this.steps.at(-1) ?? 0 });
    set(this.course, { d: pathOf(thinned(smoothed(this.points)).map((point) => [x(this.place(point.step)), y(point.loss)])) });
    this.marks.replaceChildren(
      ...this.steps.flatMap((kept) => {
        const at = x(this.place(kept));
        const own = kept === step;
        const anchor = at < 24 ? "start" : at > width - 24 ? "end" : "middle";
        return [
          svg("line", { x1: at, x2: at, y1: 2, y2: HEIGHT - 13, class: own ? "own" : "kept" }),
          svg("text", { x: at, y: HEIGHT - 2, "text-anchor": anchor, class: own ? "own" : "kept" }, kept.toLocaleString("en")),
        ];
      }),
    );
    const now = this.kept.get(step);
    const strong = element("strong", {}, now === undefined ? "–" : `${Math.round(100 * now)} %`);
    this.words.replaceChildren("Batch of step ", element("strong", {}, step === null ? "–" : step.toLocaleString("en")), " · active terms ", strong);
  }

  stop() {
    this.chart.remove();
  }
}

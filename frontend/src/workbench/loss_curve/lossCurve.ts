// The loss over the steps; a mark stands at the step the map shows, and dragging it moves the map.
import { counted, grouped } from "../../lib/format.ts";
import { explain } from "../../lib/glossary.ts";
import type { Source } from "../../protocol.ts";
import { bus } from "../../lib/bus.ts";
import { h, setData } from "../../lib/dom.ts";
import { mount, type ComponentArguments } from "../../lib/mount.ts";
import { RunSubscription, onAnimationFrame } from "../../charts/runSubscription.ts";
import { pathOf, scale, setAttributes, svg } from "../../charts/svg.ts";
import {
  addLoss,
  costOf,
  downsample,
  emptySeries,
  frameStep,
  lastStep,
  pointAt,
  rangeOf,
  movingAverage,
  ticks,
  type LossPoint,
  type LossSeries,
} from "../../charts/lossSeries.ts";
import style from "./lossCurve.css";

const PADDING = { left: 38, right: 8, top: 6, bottom: 16 };

export default function ({ parentElement, data }: ComponentArguments<Source>) {
  return mount(
    parentElement,
    style,
    (parent) => new LossCurve(parent, data.run),
    (curve) => curve.update(data),
  );
}

class LossCurve {
  private head = h("p");
  private grid = svg("g", { class: "grid" });
  private clip = svg("rect");
  private raw = svg("path", { class: "raw" });
  private mean = svg("path", { class: "mean" });
  private validation = svg("path", { class: "validation" });
  private caption = h("p", "caption");
  private frames = svg("path", { class: "frames" });
  private ghost = svg("line", { class: "ghost" });
  private mark = svg("line", { class: "mark" });
  private knob = svg("circle", { class: "knob", r: 4.5 });
  private chart: SVGSVGElement;
  private root: HTMLElement;
  private draw = onAnimationFrame(() => this.render());
  private size = { width: 120, height: 60 }; // of the chart; a look at it in each frame would lay the page out
  private losses: LossSeries = emptySeries();
  private step: number | null = null; // of the frame that the map shows
  private dragStep: number | null = null; // where a drag holds the mark
  private hover: number | null = null;
  private subscription: RunSubscription;
  private watcher: ResizeObserver;
  private leaveBus: () => void;

  constructor(
    parent: ParentNode,
    private run: string,
  ) {
    this.chart = svg(
      "svg",
      {
        tabindex: 0,
        role: "slider",
        "aria-label": "Loss over the steps; arrow keys move the map through its frames, space plays",
      },
      svg("defs", {}, svg("clipPath", { id: "inside" }, this.clip)),
      this.grid,
      this.frames,
      svg("g", { "clip-path": "url(#inside)" }, this.raw, this.mean, this.validation),
      this.ghost,
      this.mark,
      this.knob,
    );
    this.root = h("section", "loss-curve", this.head, this.chart, this.caption);
    parent.append(this.root);
    this.subscription = new RunSubscription(
      () => {
        this.losses = emptySeries();
        this.step = null;
        this.draw();
      },
      (event) => {
        if (addLoss(this.losses, event)) this.draw();
      },
    );
    this.leaveBus = bus.on("frame", ({ run, moment }) => {
      if (run !== this.run) return;
      this.step = moment;
      this.draw();
    });
    this.watcher = new ResizeObserver(([{ contentRect: size }]) => {
      this.size = { width: Math.max(120, size.width), height: Math.max(60, size.height) };
      this.draw();
    });
    this.watcher.observe(this.chart);
    this.listen();
  }

  private listen(): void {
    const { chart } = this;
    const stepAt = (event: PointerEvent) => {
      const box = chart.getBoundingClientRect();
      const share = (event.clientX - box.left - PADDING.left) / (box.width - PADDING.left - PADDING.right);
      return Math.max(0, Math.min(1, share)) * lastStep(this.losses);
    };
    chart.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || !this.losses.frames.length) return;
      chart.setPointerCapture(event.pointerId);
      this.root.dataset.pointed = ""; // focus by pointer needs no ring
      this.drag(stepAt(event));
    });
    chart.addEventListener("pointermove", (event) => {
      this.hover = stepAt(event);
      if (this.dragStep !== null) this.drag(this.hover);
      this.draw();
    });
    for (const name of ["pointerup", "pointercancel"]) chart.addEventListener(name, () => this.endDrag());
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
      else if (to !== undefined) this.seek(frameStep(this.losses, to));
      else this.seek(frameStep(this.losses, this.step ?? lastStep(this.losses), by));
    });
  }

  private seek(step: number | null): void {
    if (step !== null) bus.emit("seek", { run: this.run, step });
  }

  // While it is dragged the mark is where the pointer is, and the map between two frames where need be.
  private drag(step: number): void {
    const { frames } = this.losses;
    this.dragStep = Math.min(frames.at(-1) ?? step, Math.max(frames[0] ?? step, step));
    bus.emit("seek", { run: this.run, step: this.dragStep, scrub: true });
    this.draw();
  }

  private endDrag(): void {
    if (this.dragStep === null) return;
    this.seek(frameStep(this.losses, this.dragStep));
    this.dragStep = null;
    this.draw();
  }

  update({ run, begun, events_url }: Source): void {
    this.run = run;
    this.subscription.subscribe({ run, begun, events_url });
    this.draw();
  }

  private render(): void {
    const { losses } = this;
    this.root.hidden = losses.over && !losses.points.length; // no loss was recorded
    const { width, height } = this.size;
    const [low, high] = rangeOf(losses.points, losses.validation);
    const smooth = movingAverage(losses.points);
    const course = downsample(smooth).map(({ step, loss }) => ({ step, value: loss }));
    bus.emit("losses", { run: this.run, course });
    const last = lastStep(losses);
    const x = scale(0, last, PADDING.left, width - PADDING.right);
    const y = scale(low, high, height - PADDING.bottom, PADDING.top);
    const place = ({ step, loss }: LossPoint): [number, number] => [x(step), y(loss)];
    setAttributes(this.chart, { viewBox: `0 0 ${width} ${height}` });
    setAttributes(this.clip, {
      x: PADDING.left,
      y: 0,
      width: width - PADDING.left - PADDING.right,
      height: height - PADDING.bottom,
    });
    setAttributes(this.raw, { d: pathOf(downsample(losses.points).map(place)) });
    setAttributes(this.mean, { d: pathOf(downsample(smooth).map(place)) });
    setAttributes(this.validation, { d: pathOf(losses.validation.map(place)) });
    this.grid.replaceChildren(
      ...(losses.points.length ? ticks(low, high) : []).flatMap((tick) => [
        svg("line", { x1: PADDING.left, x2: width - PADDING.right, y1: y(tick), y2: y(tick) }),
        svg("text", { x: PADDING.left - 5, y: y(tick) + 3.5, "text-anchor": "end" }, String(tick)),
      ]),
      svg("text", { x: PADDING.left, y: height - 3 }, "0"),
      svg("text", { x: width - PADDING.right, y: height - 3, "text-anchor": "end" }, counted(last, "step")),
    );
    const ground = height - PADDING.bottom;
    setAttributes(this.frames, { d: losses.frames.map((step) => `M${x(step).toFixed(1)} ${ground - 3}v3`).join("") });
    const current = this.dragStep ?? this.step ?? (losses.over ? last : (losses.points.at(-1)?.step ?? 0));
    const at = pointAt(smooth, current);
    setAttributes(this.mark, { x1: x(current), x2: x(current), y1: PADDING.top - 4, y2: ground });
    const inside = at ? Math.min(ground, Math.max(PADDING.top, y(at.loss))) : ground;
    setAttributes(this.knob, { cx: x(current), cy: inside, visibility: losses.frames.length ? null : "hidden" });
    const ghost = this.hover !== null && this.dragStep === null ? x(this.hover) : null;
    setAttributes(this.ghost, {
      x1: ghost,
      x2: ghost,
      y1: PADDING.top,
      y2: ground,
      visibility: ghost === null ? "hidden" : null,
    });
    setAttributes(this.chart, { "aria-valuemin": 0, "aria-valuemax": last, "aria-valuenow": Math.round(current) });
    this.drawReadout(this.dragStep ?? this.hover ?? current, smooth);
    this.drawCaption(this.dragStep ?? this.hover ?? current);
    setData(this.root, {
      ready: true,
      run: this.run,
      step: Math.round(current),
      points: losses.points.length,
      held: this.dragStep !== null,
    });
  }

  private drawReadout(step: number, smooth: LossPoint[]): void {
    const point = pointAt(smooth, step);
    this.head.replaceChildren("Loss ");
    if (!point) return;
    const value = Math.abs(point.loss) >= 1000 ? point.loss.toExponential(2) : point.loss.toPrecision(3);
    this.head.append(h("strong", null, value), ` at step ${grouped(point.step)}, smoothed`, this.costNode());
  }

  // The two lines are of other images and of other comparisons, so that their levels may differ.
  private drawCaption(step: number): void {
    const { validation, compared } = this.losses;
    const point = pointAt(validation, step);
    this.caption.hidden = !point;
    if (!point) return;
    this.caption.replaceChildren(
      "Dashed: validation loss ",
      h("strong", null, point.loss.toPrecision(3)),
      ` of ${compared}`,
    );
    this.caption.title = `The loss of ${compared} of validation images, which are in no batch: drawn at random once, the same at every snapshot and for every seed. No miner chooses among them, so compare the direction of the two lines rather than their height.`;
  }

  // What online selection gains: many terms from the embeddings of one batch, at nearly the same speed.
  private costNode(): HTMLElement {
    const { terms, imagesPerSecond } = costOf(this.losses);
    const number =
      terms === null
        ? ""
        : `${terms < 100 ? Number(terms.toPrecision(3)) : grouped(Math.round(terms))} ${terms === 1 ? "term" : "terms"} per image`;
    const speed = imagesPerSecond === null ? "" : `${grouped(Math.round(imagesPerSecond))} images/s`;
    const title = "Mean over the training: loss terms of a batch divided by its images; images trained on in a second";
    const link = number ? explain(h("span", null, number), "terms-per-image") : "";
    return h("span", { class: "cost", title }, link, number && speed ? " · " : "", speed);
  }

  destroy(): void {
    this.leaveBus();
    this.subscription.unsubscribe();
    this.watcher.disconnect();
    this.draw.cancel();
    this.root.remove();
  }
}

// The loss of a pair, a triplet or an image and class weights against distance or angle, and its slope, as the library
// samples them: a few samples while a slider moves, many once it rests.
import { onAnimationFrame } from "../../charts/runSubscription.ts";
import { setAttributes, svg } from "../../charts/svg.ts";
import { h, setData } from "../../lib/dom.ts";
import { mount, type ComponentArguments } from "../../lib/mount.ts";
import type { CurveControl, LossCurve, LossPlotProps } from "../../protocol.ts";
import { sentence } from "../../lib/format.ts";
import { ROUTES } from "../../lib/server.ts";
import { defaults, formatNumber, renderControls, visibleParams, type ParamValue } from "../../widgets/paramControls.ts";
import { NewestQuestion } from "../newestQuestion.ts";
import { readAt, type Reading } from "./curveChart.ts";
import { axisValue, drawCurve, shareAt } from "./curveChart.ts";
import style from "./lossPlot.css";

const FINE = 160; // samples
const COARSE = 24;

type Values = Record<string, ParamValue>;

interface CurveQuestion {
  params: Values;
  held: Values;
  samples: number;
}

export default function ({ parentElement, data, setTriggerValue }: ComponentArguments<LossPlotProps>) {
  return mount(
    parentElement,
    style,
    (parent) => new LossPlot(parent),
    (plot) => {
      plot.onGo = (params) => setTriggerValue("go", params);
      plot.update(data);
    },
  );
}

class LossPlot {
  /** A person wants to train with these parameters. */
  onGo: (params: Values) => void = () => {};
  private loss = "";
  private params: Values = {};
  /** The sliders of the fixed quantities, and their values. */
  private values: Values = {};
  private sliders = "";
  /** Position at which the curve is read, as a share of the axis. */
  private probe = 0.4;
  private curve: LossCurve | null = null;
  private question: CurveQuestion | null = null;

  private draw = onAnimationFrame(() => this.paint());
  private questions = new NewestQuestion<CurveQuestion, LossCurve>(
    (curve, question) => this.onAnswer(curve, question),
    (why) => (this.head.textContent = why),
  );
  private head = h("p", { class: "reading", "aria-live": "polite" });
  private note = h("p", "note");
  private chart = svg("svg", { tabindex: 0 }); // a slider as soon as it has a value
  private own = h("div", "knobs");
  private held = h("div", "knobs held");
  private root: HTMLElement;
  private watcher = new ResizeObserver(() => this.draw());

  constructor(parent: ParentNode) {
    const link = h(
      "button",
      { type: "button", class: "try", click: () => this.onGo(this.params) },
      "Try these settings in Explore",
    );
    this.root = h(
      "section",
      "lossplot",
      h("div", "picture", this.head, this.chart, this.note),
      h("div", "side", this.own, this.held, link),
    );
    parent.append(this.root);
    this.watcher.observe(this.chart);
    for (const name of ["pointermove", "pointerdown"] as const)
      this.chart.addEventListener(name, (event) => this.read(shareAt(this.chart, event.clientX)));
    this.chart.addEventListener("keydown", (event) => this.onKey(event));
  }

  update({ loss, parameters }: LossPlotProps): void {
    if (loss === this.loss) return;
    this.loss = loss;
    this.params = defaults(parameters);
    this.values = {};
    this.sliders = "";
    this.probe = 0.4;
    this.curve = null;
    renderControls(this.own, visibleParams(parameters), this.params, (name, value) => {
      this.params[name] = value;
      this.ask(COARSE);
    });
    this.held.replaceChildren();
    this.chart.replaceChildren();
    this.head.textContent = this.note.textContent = "";
    delete this.root.dataset.ready;
    this.ask(FINE);
  }

  destroy(): void {
    this.questions.close();
    this.watcher.disconnect();
    this.draw.cancel();
    this.root.remove();
  }

  private read(share: number): void {
    this.probe = Math.max(0, Math.min(1, share));
    this.draw();
  }

  private onKey(event: KeyboardEvent): void {
    const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    const to = { Home: 0, End: 1 }[event.key];
    if (by === undefined && to === undefined) return;
    event.preventDefault();
    this.read(to ?? this.probe + (by ?? 0) / (event.shiftKey ? 10 : 100));
  }

  private ask(samples: number): void {
    this.question = { params: { ...this.params }, held: { ...this.values }, samples };
    this.questions.ask(`${ROUTES}/losses/${this.loss}/curve.json`, this.question);
  }

  private onAnswer(curve: LossCurve, question: CurveQuestion): void {
    if (this.question !== question && !this.curve) return; // of the loss before
    this.curve = curve;
    this.renderHeld(curve.held);
    this.note.textContent = curve.note;
    this.draw();
    if (this.question === question && question.samples === COARSE) this.ask(FINE);
  }

  /** The sliders of what stands still; what a person set stays when a parameter brings other ones. */
  private renderHeld(controls: CurveControl[]): void {
    const sliders = controls.map(({ name, label }) => name + label).join();
    if (sliders === this.sliders) return;
    this.sliders = sliders;
    this.values = Object.fromEntries(controls.map(({ name, default: value }) => [name, this.values[name] ?? value]));
    renderControls(this.held, controls, this.values, (name, value) => {
      this.values[name] = value;
      this.ask(COARSE);
    });
  }

  private paint(): void {
    const { curve } = this;
    if (!curve) return;
    const value = curve.low + this.probe * (curve.high - curve.low);
    drawCurve(this.chart, curve, value);
    this.describe(curve, value);
    setData(this.root, { ready: "true", loss: this.loss, at: value.toFixed(4) });
  }

  private describe(curve: LossCurve, value: number): void {
    const { axis, names } = curve;
    const [near, far] = [curve.near, curve.far].map((side) => readAt(curve, side, value));
    const place = `${sentence(axis.title)} ${axisValue(axis, value)}`;
    this.head.replaceChildren(
      h("span", "place", place),
      readingNode(names[0], near, "near"),
      readingNode(names[1], far, "far"),
    );
    setData(this.root, { near: near.value, far: far.value });
    setAttributes(this.chart, {
      role: "slider",
      "aria-label": `Loss against ${axis.title}; arrow keys move the reading`,
      "aria-valuemin": 0,
      "aria-valuemax": 100,
      "aria-valuenow": Math.round(this.probe * 100),
      "aria-valuetext": `${place}: ${names[0]} ${formatNumber(near.value)}, ${names[1]} ${formatNumber(far.value)}`,
    });
  }
}

const readingNode = (name: string, { value, slope }: Reading, kind: string): HTMLElement =>
  h("span", kind, name, h("strong", "", formatNumber(value)), ` slope ${formatNumber(slope)}`);

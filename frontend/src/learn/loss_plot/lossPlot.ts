// @ts-nocheck
// The loss of a pair, a triplet or an image and class weights against distance or angle, and its slope, as the library
// samples them: a few samples while a slider moves, many once it rests.
import { onAnimationFrame } from "../../charts/runSubscription.ts";
import { pathOf, scale, setAttributes, svg } from "../../charts/svg.ts";
import { ticks } from "../../charts/lossSeries.ts";
import { h } from "../../lib/dom.ts";
import { defaults, renderControls, visibleParams, formatNumber } from "../../widgets/paramControls.ts";
import { mount } from "../../lib/mount.ts";
import { ROUTES } from "../../protocol.ts";
import { NewestQuestion } from "../newestQuestion.ts";
import { pointsOf, readAt } from "./curve.ts";
import style from "./lossPlot.css";

const EDGE = { left: 44, right: 12, top: 8, bottom: 22 };
const SLOPES = 0.3; // share of the height that the slopes have
const FINE = 160; // samples
const COARSE = 24;

export default function ({ parentElement, data, setTriggerValue }) {
  return mount(
    parentElement,
    style,
    (parent) => new LossPlot(parent),
    (plot) => {
      plot.go = (params) => setTriggerValue("go", params);
      plot.update(data ?? {});
    },
  );
}

class LossPlot {
  constructor(parent) {
    this.root = h("section", "lossplot");
    this.head = h("p", "reading");
    this.head.setAttribute("aria-live", "polite");
    this.note = h("p", "note");
    this.chart = svg("svg", { tabindex: 0, role: "slider" });
    this.own = h("div", "knobs");
    this.held = h("div", "knobs held");
    this.link = h("button", "try", "Try these settings in Explore");
    this.link.type = "button";
    this.link.addEventListener("click", () => this.go(this.params));
    const left = h("div", "picture");
    left.append(this.head, this.chart, this.note);
    const right = h("div", "side");
    right.append(this.own, this.held, this.link);
    this.root.append(left, right);
    parent.append(this.root);
    this.questions = new NewestQuestion(
      (curve, question) => this.answered(curve, question),
      (why) => (this.head.textContent = why),
    );
    this.draw = onAnimationFrame(() => this.paint());
    this.watcher = new ResizeObserver(() => this.draw());
    this.watcher.observe(this.chart);
    this.listen();
  }

  listen() {
    const { chart } = this;
    const look = (event) => {
      const box = chart.getBoundingClientRect();
      const share = (event.clientX - box.left - EDGE.left) / (box.width - EDGE.left - EDGE.right);
      this.probe = Math.max(0, Math.min(1, share));
      this.draw();
    };
    chart.addEventListener("pointermove", look);
    chart.addEventListener("pointerdown", look);
    chart.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
      const to = { Home: 0, End: 1 }[event.key];
      if (by === undefined && to === undefined) return;
      event.preventDefault();
      this.probe = to ?? Math.max(0, Math.min(1, this.probe + by / (event.shiftKey ? 10 : 100)));
      this.draw();
    });
  }

  update({ loss, parameters = [] }) {
    if (loss === this.loss) return;
    Object.assign(this, { loss, parameters, params: defaults(parameters), probe: 0.4, kept: {}, curve: null });
    this.holding = "";
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

  ask(samples) {
    const question = { params: { ...this.params }, held: { ...this.kept }, samples };
    this.asked = question;
    this.questions.ask(`${ROUTES}/losses/${this.loss}/curve.json`, question);
  }

  answered(curve, question) {
    if (this.asked !== question && !this.curve) return; // of the loss before
    this.curve = curve;
    this.hold(curve.held);
    this.note.textContent = curve.note;
    this.draw();
    if (this.asked === question && question.samples === COARSE) this.ask(FINE);
  }

  /** The sliders of what stands still; what a person set stays when a parameter brings other ones. */
  hold(held) {
    const names = held.map(({ name, label }) => name + label).join();
    if (names === this.holding) return;
    this.holding = names;
    this.kept = Object.fromEntries(held.map(({ name, default: value }) => [name, this.kept[name] ?? value]));
    renderControls(this.held, held, this.kept, (name, value) => {
      this.kept[name] = value;
      this.ask(COARSE);
    });
  }

  paint() {
    const { chart, curve } = this;
    if (!curve) return;
    const width = Math.max(240, chart.clientWidth);
    const height = Math.max(180, chart.clientHeight);
    const { axis, names, low, high } = curve;
    const x = scale(low, high, EDGE.left, width - EDGE.right);
    const here = low + this.probe * (high - low);
    const split = height - EDGE.bottom - (height - EDGE.bottom) * SLOPES;
    setAttributes(chart, { viewBox: `0 0 ${width} ${height}` });
    const parts = [
      ...bottom(axis, x, curve, width, height),
      ...panel(curve, "loss", x, [EDGE.top, split - 14], width),
      ...panel(curve, "slope", x, [split + 6, height - EDGE.bottom], width),
      ...curve.marks.flatMap((mark) => [
        svg("line", { class: "limit", x1: x(mark.x), x2: x(mark.x), y1: EDGE.top, y2: height - EDGE.bottom }),
        svg("text", { x: x(mark.x) + 4, y: EDGE.top + 10 }, mark.label),
      ]),
      svg("line", { class: "probe", x1: x(here), x2: x(here), y1: EDGE.top, y2: height - EDGE.bottom }),
    ];
    chart.replaceChildren(...parts);
    this.say(axis, names, here);
    Object.assign(this.root.dataset, { ready: "true", loss: this.loss, at: here.toFixed(4) });
  }

  say(axis, names, here) {
    const [near, far] = [this.curve.near, this.curve.far].map((side) => readAt(this.curve, side, here));
    const place = `${axis.title[0].toUpperCase()}${axis.title.slice(1)} ${formatNumber(here / axis.unit)}${axis.suffix}`;
    const entry = (name, { value, slope }, kind) => {
      const part = h("span", kind, name);
      part.append(h("strong", "", formatNumber(value)), ` slope ${formatNumber(slope)}`);
      return part;
    };
    this.head.replaceChildren(h("span", "place", place), entry(names[0], near, "near"), entry(names[1], far, "far"));
    Object.assign(this.root.dataset, { near: near.value, far: far.value });
    setAttributes(this.chart, {
      "aria-label": `Loss against ${axis.title}; arrow keys move the reading`,
      "aria-valuemin": 0,
      "aria-valuemax": 100,
      "aria-valuenow": Math.round(this.probe * 100),
      "aria-valuetext": `${place}: ${names[0]} ${formatNumber(near.value)}, ${names[1]} ${formatNumber(far.value)}`,
    });
  }

  destroy(): void {
    this.questions.close();
    this.watcher.disconnect();
    this.draw.cancel();
    this.root.remove();
  }
}

function bottom(axis, x, { low, high }, width, height) {
  const y = height - EDGE.bottom;
  const marks = axis.suffix ? [0, 45, 90, 135, 180] : ticks(low, high).concat(low === 0 ? [0] : []);
  return [
    ...marks.map((mark) =>
      svg(
        "text",
        { x: x(mark * axis.unit), y: y + 12, "text-anchor": "middle" },
        `${formatNumber(mark)}${axis.suffix}`,
      ),
    ),
    svg("text", { x: width - EDGE.right, y: height - 1, "text-anchor": "end" }, axis.title),
  ];
}

function panel(drawn, key, x, [top, base], width) {
  const [near, far] = [pointsOf(drawn, drawn.near[key]), pointsOf(drawn, drawn.far[key])];
  const values = [...near, ...far].map(([, value]) => value);
  const [low, high] = [Math.min(0, ...values), Math.max(1e-6, ...values)];
  const y = scale(low, high, base, top);
  const line = (points, kind) =>
    svg("path", { class: kind, d: pathOf(points.map(([at, value]) => [x(at), y(value)])) });
  return [
    ...ticks(low, high).map((tick) =>
      svg("text", { x: EDGE.left - 6, y: y(tick) + 3.5, "text-anchor": "end" }, formatNumber(tick)),
    ),
    ...ticks(low, high).map((tick) =>
      svg("line", { class: "grid", x1: EDGE.left, x2: width - EDGE.right, y1: y(tick), y2: y(tick) }),
    ),
    svg("line", { class: "zero", x1: EDGE.left, x2: width - EDGE.right, y1: y(0), y2: y(0) }),
    svg(
      "text",
      { class: "name", x: EDGE.left + 6, y: top + 10 },
      key === "loss" ? "Loss" : "Slope: above 0 pulls nearer, below 0 pushes away",
    ),
    line(far, "far"),
    line(near, "near"),
  ];
}

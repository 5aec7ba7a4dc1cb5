// A threshold on the distance: its line on the histograms, its point on the ROC and the verdicts of pairs move together.
import { maxOf } from "../../lib/extent.ts";
import { onAnimationFrame } from "../../charts/runSubscription.ts";
import { pathOf, scale, svg } from "../../charts/svg.ts";
import { h, pointerPlace, setData } from "../../lib/dom.ts";
import { component } from "../../lib/mount.ts";
import { readTheme } from "../../lib/theme.ts";
import type { ThresholdNet, ThresholdProps } from "../../protocol.ts";
import { accuracy, ratesAt, thresholdNear } from "./thresholds.ts";
import style from "./threshold.css";

const [WIDTH, HEIGHT] = [400, 250];
const [LEFT, RIGHT, TOP, BOTTOM] = [40, 392, 12, 212];
const STEPS = 200; // of the slider
const percent = (share: number) => `${(100 * share).toFixed(1)} %`;

class Threshold {
  private data: ThresholdProps | null = null;
  private threshold = 0;
  private chooser = h("select", { "aria-label": "Net", change: () => this.choose() });
  private slider = h("input", {
    type: "range",
    min: 0,
    max: STEPS,
    step: 1,
    "aria-label": "Threshold",
    input: () => this.moveTo((Number(this.slider.value) / STEPS) * this.end),
  });
  private reading = h("p", { class: "reading", "aria-live": "polite" });
  private histogram = this.chart("Distances of the pairs; drag the threshold", (x) =>
    this.moveTo(scale(LEFT, RIGHT, 0, this.end)(x)),
  );
  private roc = this.chart("ROC; drag the point along the curve", (x, y) =>
    this.moveTo(thresholdNear(this.net, scale(LEFT, RIGHT, 0, 1)(x), scale(BOTTOM, TOP, 0, 1)(y))),
  );
  private strip = h("div", { class: "strip", role: "list", "aria-label": "Pairs, the nearest first" });
  private folds = h("div", "folds");
  private root: HTMLElement;
  private draw = onAnimationFrame(() => this.paint());

  constructor(parent: ParentNode) {
    this.root = h(
      "section",
      "threshold",
      h("div", "head", h("label", null, "Net ", this.chooser), h("label", "wide", "Threshold ", this.slider)),
      this.reading,
      h("div", "charts", this.histogram, this.roc),
      this.strip,
      this.folds,
    );
    parent.append(this.root);
  }

  destroy(): void {
    this.draw.cancel();
    this.root.remove();
  }

  update(data: ThresholdProps): void {
    const [before, now] = [this.data, data].map((props) => props && JSON.stringify(props));
    if (before === now) return;
    const titles = data.nets.map((net) => net.title);
    const index = titles.indexOf(this.data ? this.chooser.value : data.best);
    this.data = data;
    this.chooser.replaceChildren(...titles.map((title) => h("option", { value: title }, title)));
    this.chooser.selectedIndex = Math.max(0, index);
    this.choose();
  }

  private get net(): ThresholdNet {
    const nets = this.data?.nets ?? [];
    return nets[Math.max(0, this.chooser.selectedIndex)];
  }

  private get end(): number {
    return this.net.edges[this.net.edges.length - 1];
  }

  private choose(): void {
    this.moveTo(this.net.threshold);
  }

  private moveTo(threshold: number): void {
    this.threshold = Math.max(0, Math.min(this.end, threshold));
    this.draw();
  }

  private chart(label: string, drag: (x: number, y: number) => void): SVGSVGElement {
    const chart = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label });
    const move = (event: PointerEvent) => {
      const [x, y] = pointerPlace(event, chart);
      drag(x * WIDTH, y * HEIGHT);
    };
    chart.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      chart.setPointerCapture(event.pointerId);
      move(event);
    });
    chart.addEventListener("pointermove", (event) => {
      if (chart.hasPointerCapture(event.pointerId)) move(event);
    });
    return chart;
  }

  private paint(): void {
    if (!this.data) return;
    this.root.classList.toggle("dark", readTheme(this.root).dark);
    const rates = ratesAt(this.net, this.threshold);
    this.slider.value = String(Math.round((this.threshold / this.end) * STEPS));
    this.slider.setAttribute("aria-valuetext", this.threshold.toFixed(2));
    this.reading.textContent =
      `Nearer than ${this.threshold.toFixed(2)} is “the same”: ${percent(rates.recall)} of the pairs of one identity ` +
      `are recognized, ${percent(rates.falsePositives)} of those of two accepted. ` +
      `Of as many of each, ${percent(accuracy(rates))} are judged rightly.`;
    this.paintHistogram();
    this.paintRoc(rates.falsePositives, rates.recall);
    this.paintPairs();
    this.paintFolds();
    setData(this.root, { ready: true, threshold: this.threshold.toFixed(4), recall: rates.recall.toFixed(4) });
  }

  private paintHistogram(): void {
    const { edges, same, different } = this.net;
    const x = scale(0, this.end, LEFT, RIGHT);
    const y = scale(0, maxOf([...same, ...different]), BOTTOM, TOP);
    const area = (shares: number[], name: string) => {
      const top = shares.flatMap((share, i): [number, number][] => [
        [x(edges[i]), y(share)],
        [x(edges[i + 1]), y(share)],
      ]);
      return svg("path", { class: name, d: pathOf([[LEFT, BOTTOM], ...top, [RIGHT, BOTTOM]]) + "Z" });
    };
    const at = x(this.threshold);
    this.histogram.replaceChildren(
      area(different, "different"),
      area(same, "same"),
      ...axes(
        "distance",
        [0, this.end / 2, this.end].map((value) => [x(value), value.toFixed(1)]),
      ),
      ...this.net.folds.threshold.map((value) =>
        svg(
          "path",
          { class: "fold", d: `M${x(value)} ${BOTTOM}v-7` },
          svg("title", {}, `a fold's: ${value.toFixed(3)}`),
        ),
      ),
      svg("path", { class: "line", d: `M${at} ${TOP}V${BOTTOM}` }),
      svg("circle", { class: "grip", cx: at, cy: TOP + 4, r: 6 }),
      svg("text", { class: "same", x: LEFT + 6, y: TOP + 10 }, "one identity"),
      svg("text", { class: "different", x: RIGHT - 4, y: TOP + 10, "text-anchor": "end" }, "two identities"),
    );
  }

  private paintRoc(falsePositives: number, recall: number): void {
    const [x, y] = [scale(0, 1, LEFT, RIGHT), scale(0, 1, BOTTOM, TOP)];
    const points = this.net.edges.map((edge): [number, number] => {
      const rates = ratesAt(this.net, edge);
      return [x(rates.falsePositives), y(rates.recall)];
    });
    const you = this.data?.you;
    const cross = you ? [x(you[0]), y(you[1])] : null;
    this.roc.replaceChildren(
      svg("path", { class: "chance", d: `M${LEFT} ${BOTTOM}L${RIGHT} ${TOP}` }),
      svg("path", { class: "curve", d: pathOf(points) }),
      ...axes(
        "false positive rate",
        [0, 0.5, 1].map((value) => [x(value), String(value)]),
      ),
      ...[0, 0.5, 1].map((value) =>
        svg("text", { class: "tick", x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, String(value)),
      ),
      svg(
        "text",
        { class: "tick", transform: `translate(14 ${(TOP + BOTTOM) / 2 - 30}) rotate(-90)`, "text-anchor": "middle" },
        "recall",
      ),
      ...(cross ? [svg("path", { class: "you", d: `M${cross[0] - 7} ${cross[1] - 7}l14 14m0 -14l-14 14` })] : []),
      ...(cross ? [svg("text", { class: "you", x: cross[0] + 10, y: cross[1] + 14 }, "you")] : []),
      svg("circle", { class: "grip", cx: x(falsePositives), cy: y(recall), r: 6 }),
    );
  }

  private paintPairs(): void {
    const { pairs = [] } = this.data ?? {};
    const order = pairs.map((_, i) => i).sort((a, b) => this.net.distances[a] - this.net.distances[b]);
    const accepted = order.filter((i) => this.net.distances[i] < this.threshold);
    const one = (i: number) => {
      const { images, same, pixels } = pairs[i];
      const right = same === this.net.distances[i] < this.threshold;
      return h(
        "figure",
        { class: right ? "right" : "wrong", role: "listitem", "data-same": same },
        h("span", "images", ...images.map((src) => h("img", { src, alt: same ? "one identity" : "one of two" }))),
        h("figcaption", null, `${right ? "✓" : "✗"} ${this.net.distances[i].toFixed(2)}`),
        pixels === null ? null : h("figcaption", "pixels", `pixels ${pixels.toFixed(1)}`),
      );
    };
    const rest = order.slice(accepted.length);
    this.strip.replaceChildren(
      h("p", null, `Said to be the same: ${accepted.length} of ${order.length} pairs`),
      h("div", "row", ...accepted.map(one)),
      h("p", null, `Said to be different: ${rest.length}`),
      h("div", "row", ...rest.map(one)),
    );
    this.strip.hidden = !order.length;
    setData(this.root, { accepted: accepted.length });
  }

  private paintFolds(): void {
    const { accuracy: right, threshold } = this.net.folds;
    const mean = right.reduce((sum, value) => sum + value, 0) / right.length;
    const row = (title: string, values: string[]) =>
      h("tr", null, h("th", { scope: "row" }, title), ...values.map((value) => h("td", null, value)));
    this.folds.replaceChildren(
      h(
        "table",
        null,
        row("Fold", [...right.map((_, i) => String(i + 1)), "mean"]),
        row("Threshold of the other nine", [...threshold.map((value) => value.toFixed(3)), ""]),
        row("Accuracy", [...right.map(percent), percent(mean)]),
      ),
    );
  }
}

export default component(style, Threshold);

function axes(title: string, ticks: [number, string][]): SVGElement[] {
  return [
    svg("path", { class: "axis", d: `M${LEFT} ${TOP}V${BOTTOM}H${RIGHT}` }),
    ...ticks.map(([x, text]) => svg("text", { class: "tick", x, y: BOTTOM + 15, "text-anchor": "middle" }, text)),
    svg("text", { class: "tick", x: (LEFT + RIGHT) / 2, y: BOTTOM + 31, "text-anchor": "middle" }, title),
  ];
}

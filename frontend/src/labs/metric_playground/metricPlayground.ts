// Two tilted groups of points and a query in the plane: who is nearer, by Euclid, by Mahalanobis, by a learned metric?
import { onAnimationFrame } from "../../charts/runSubscription.ts";
import { svg } from "../../charts/svg.ts";
import { h, pointerPlace, setData } from "../../lib/dom.ts";
import { component } from "../../lib/mount.ts";
import { classColors } from "../../lib/palette.ts";
import { css, readTheme } from "../../lib/theme.ts";
import {
  covariance,
  descend,
  eigen,
  EUCLID,
  inverse,
  LEARNERS,
  matrixOf,
  nearestError,
  normals,
  objective,
  pointsOf,
  squared,
  type Group,
  type Learner,
  type Matrix,
  type Point,
  type Weights,
} from "./planeMetric.ts";
import style from "./metricPlayground.css";

const EXTENT = 4;
const COUNT = 30; // points of a group
const TITLES: Record<Learner, string> = { xing: "Xing et al.", nca: "NCA", lmnn: "LMNN" };
const STEPS = 150;
const RATE = 0.1;

class MetricPlayground {
  private groups: Group[] = [
    { middle: [-1, 0.4], long: 1.5, wide: 0.35, tilt: 0.75 },
    { middle: [0.8, -0.5], long: 1.5, wide: 0.35, tilt: 0.75 },
  ];
  private query: Point = [0.9, 1.2];
  private draws = [normals(COUNT, 7), normals(COUNT, 8)];
  private weights: Weights = [1, 0, 0, 1];
  private step = 0;
  private learning = false;
  private drag: { move: (to: Point) => void } | null = null;
  private chart = svg("svg", {
    viewBox: `${-EXTENT} ${-EXTENT} ${2 * EXTENT} ${2 * EXTENT}`,
    role: "group",
    "aria-label": "Two groups of points and a query to drag",
  });
  private reading = h("div", { class: "readings", "aria-live": "polite" });
  private learner = h(
    "select",
    { "aria-label": "Learned by", change: () => this.restart() },
    ...LEARNERS.map((name) => h("option", { value: name }, TITLES[name])),
  );
  private button = h("button", { click: () => this.learn() }, "Learn");
  private root: HTMLElement;
  private draw = onAnimationFrame(() => this.paint());
  private next = onAnimationFrame(() => this.oneStep());

  constructor(parent: ParentNode) {
    this.learner.value = "nca";
    this.root = h(
      "section",
      "metric-playground",
      h("div", "stage", this.chart),
      h(
        "div",
        "side",
        h("p", null, "Drag the middles, the ends and the query q: which group is q nearer to?"),
        h("div", "row", h("label", null, "Learned by ", this.learner), this.button),
        this.reading,
        h(
          "p",
          "note",
          "Each outline is all that lies at one distance from q: a circle for Euclid, an ellipse for the others. " +
            "The lines in it are the eigenvectors of A. Mahalanobis knows how the groups are stretched; the learned metric sees only which points belong together.",
        ),
      ),
    );
    parent.append(this.root);
    this.chart.addEventListener("pointermove", (event) => this.drag?.move(this.placeOf(event)));
    for (const name of ["pointerup", "pointercancel"] as const)
      this.chart.addEventListener(name, () => (this.drag = null));
    this.draw();
  }

  update(): void {} // its data are all its own

  destroy(): void {
    this.draw.cancel();
    this.next.cancel();
    this.root.remove();
  }

  private get points(): Point[] {
    return this.groups.flatMap((group, i) => pointsOf(group, this.draws[i]));
  }

  private get labels(): number[] {
    return this.groups.flatMap((_, i) => this.draws[i].map(() => i));
  }

  private restart(): void {
    this.weights = [1, 0, 0, 1];
    this.step = 0;
    this.learning = false;
    this.draw();
  }

  private learn(): void {
    this.restart();
    this.learning = true;
    this.next();
  }

  private oneStep(): void {
    if (!this.learning) return;
    const [, gradient] = objective(this.learner.value as Learner, this.weights, this.points, this.labels);
    this.weights = descend(this.weights, gradient, RATE);
    this.step += 1;
    this.paint();
    if (this.step < STEPS) this.next();
  }

  /** Mahalanobis' matrix: the inverse of the mean covariance of the groups. */
  private get mahalanobis(): Matrix {
    const [p, q] = this.groups.map(covariance);
    return inverse({ a: (p.a + q.a) / 2, b: (p.b + q.b) / 2, c: (p.c + q.c) / 2 });
  }

  private paint(): void {
    const dark = readTheme(this.root).dark;
    const colors = classColors(2, dark).map((color) => css(color));
    const metrics: [string, string, Matrix][] = [
      ["Euclid", "euclid", EUCLID],
      ["Mahalanobis", "mahalanobis", this.mahalanobis],
      [`Learned (${TITLES[this.learner.value as Learner]})`, "learned", matrixOf(this.weights)],
    ];
    const dots = this.points.map(([x, y], i) =>
      svg("circle", { cx: x, cy: -y, r: 0.06, fill: colors[this.labels[i]], class: "point" }),
    );
    const outlines = metrics.map(([, name, matrix]) => ellipse(matrix, this.query, name));
    const label = this.chart.querySelector(":focus")?.getAttribute("aria-label");
    this.chart.replaceChildren(...dots, ...outlines, ...this.handles(colors));
    if (label) this.chart.querySelector<SVGElement>(`[aria-label="${label}"]`)?.focus();
    this.reading.replaceChildren(...metrics.map(([title, name, matrix]) => this.row(title, name, matrix)));
    setData(this.root, { ready: true, step: this.step });
  }

  private row(title: string, name: string, matrix: Matrix): HTMLElement {
    const [d1, d2] = this.groups.map(({ middle }) => Math.sqrt(squared(matrix, this.query, middle)));
    const { a, b, c } = matrix;
    const error = nearestError(matrix, this.points, this.labels);
    return h(
      "div",
      { class: `metric ${name}`, "data-nearer": d1 < d2 ? 1 : 2, "data-error": error.toFixed(3) },
      h("b", null, title),
      ` q is nearer to group ${d1 < d2 ? 1 : 2} (${d1.toFixed(2)}, ${d2.toFixed(2)}). `,
      h("span", "matrix", `A = [${a.toFixed(2)} ${b.toFixed(2)}; ${b.toFixed(2)} ${c.toFixed(2)}]. `),
      `Nearest neighbor wrong: ${(100 * error).toFixed(0)} %.`,
    );
  }

  /** The draggable parts: the middle and the end of each group, and the query. */
  private handles(colors: string[]): SVGElement[] {
    const handles = this.groups.flatMap((group, i) => {
      const end: Point = [
        group.middle[0] + group.long * Math.cos(group.tilt),
        group.middle[1] + group.long * Math.sin(group.tilt),
      ];
      const [x, y] = group.middle;
      return [
        svg("line", { x1: x, y1: -y, x2: end[0], y2: -end[1], class: "axis", stroke: colors[i] }),
        this.handle(`middle of group ${i + 1}`, group.middle, colors[i], String(i + 1), (to) => (group.middle = to)),
        this.handle(`end of group ${i + 1}`, end, colors[i], "", (to) => {
          const [dx, dy] = [to[0] - group.middle[0], to[1] - group.middle[1]];
          group.long = Math.max(0.4, Math.min(2.5, Math.hypot(dx, dy)));
          group.tilt = Math.atan2(dy, dx);
        }),
      ];
    });
    return [...handles, this.handle("query", this.query, "currentColor", "q", (to) => (this.query = to))];
  }

  private handle(label: string, at: Point, color: string, text: string, move: (to: Point) => void): SVGElement {
    let [x, y] = at; // keys may be pressed faster than the chart is drawn
    const apply = (to: Point) => {
      [x, y] = to.map((value) => Math.max(-EXTENT + 0.2, Math.min(EXTENT - 0.2, value)));
      move([x, y]);
      this.draw();
    };
    const handle = svg(
      "g",
      { class: "handle", tabindex: 0, role: "button", "aria-label": `${label}; arrow keys move it` },
      svg("circle", { cx: at[0], cy: -at[1], r: text ? 0.2 : 0.12, fill: color }),
      svg("text", { x: at[0], y: -at[1] + 0.09 }, text),
    );
    handle.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      this.drag = { move: apply };
      this.chart.setPointerCapture(event.pointerId);
    });
    handle.addEventListener("keydown", (event) => {
      const by = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
      if (!by) return;
      event.preventDefault();
      apply([x + 0.1 * by[0], y + 0.1 * by[1]]);
    });
    return handle;
  }

  private placeOf(event: PointerEvent): Point {
    const [x, y] = pointerPlace(event, this.chart);
    return [(2 * x - 1) * EXTENT, (1 - 2 * y) * EXTENT];
  }
}

export default component(style, MetricPlayground);

/** All points at distance 1 from `middle`, scaled so that every metric's outline has the same area. */
function ellipse(matrix: Matrix, [x, y]: Point, name: string): SVGElement {
  const { large, small, angle } = eigen(matrix);
  const size = 1.1 * Math.sqrt(Math.sqrt(Math.max(large * small, 1e-9)));
  const shape = svg("ellipse", {
    class: `outline ${name}`,
    rx: Math.min(3 * EXTENT, size / Math.sqrt(Math.max(small, 1e-6))),
    ry: size / Math.sqrt(large),
  });
  const [rx, ry] = [Number(shape.getAttribute("rx")), Number(shape.getAttribute("ry"))];
  // The eigenvectors of A are the axes; the long one lies across the direction in which the metric is strict.
  return svg(
    "g",
    { transform: `translate(${x} ${-y}) rotate(${(-(angle + Math.PI / 2) * 180) / Math.PI})` },
    svg("path", { class: `eigenvectors ${name}`, d: `M${-rx} 0H${rx}M0 ${-ry}V${ry}` }),
    shape,
  );
}

// The points of an arrangement as a drawing: each can be dragged or moved with the arrow keys, and has an arrow.
import { setAttributes, svg } from "../../charts/svg.ts";
import { classColors } from "../../lib/palette.ts";
import { css } from "../../lib/theme.ts";
import { formatNumber } from "../../widgets/paramControls.tsx";
import { arrowTips, EXTENT, move, nameOf, places, type Arrangement, type Place, type Pulls } from "./arrangement.ts";

const DIRECTIONS: Partial<Record<string, Place>> = {
  ArrowRight: [1, 0],
  ArrowLeft: [-1, 0],
  ArrowUp: [0, 1],
  ArrowDown: [0, -1],
};
const CLASSES = 3;

export interface DragHooks {
  onmove: (arrangement: Arrangement) => void;
  onchoose: (index: number) => void;
}

export class DraggablePoints {
  readonly chart = svg("svg", {
    viewBox: `${-EXTENT} ${-EXTENT} ${2 * EXTENT} ${2 * EXTENT}`,
    role: "group",
    "aria-label": "Points to drag",
  });
  private unit = svg("circle", { class: "unit", r: 1 });
  private lines = svg("g", { class: "lines" });
  private arrows: SVGPathElement[] = [];
  private dots: SVGGElement[] = [];
  private index: number | null = null;

  constructor(
    private now: Arrangement,
    private hooks: DragHooks,
  ) {
    this.chart.addEventListener("pointerdown", (event) => this.grab(event));
    this.chart.addEventListener("pointermove", (event) => {
      if (this.index !== null) hooks.onmove(move(this.now, this.index, this.placeOf(event)));
    });
    for (const name of ["pointerup", "pointercancel"] as const)
      this.chart.addEventListener(name, () => (this.index = null));
    this.build(now);
  }

  /** Numbers of points and class weights. */
  get count(): number {
    return this.dots.length;
  }

  /** Make the nodes, once for each arrangement, so that a point keeps the focus while it moves. */
  build(now: Arrangement): void {
    this.now = now;
    this.index = null;
    this.arrows = places(now).map(() => svg("path", { class: "arrow" }));
    this.dots = places(now).map((_, index) => this.dot(index));
    this.chart.replaceChildren(this.unit, this.lines, ...this.arrows, ...this.dots);
  }

  /** Draw the points where they are `now`, with the forces that are known. */
  paint(now: Arrangement, pulls: Pulls | null, index: number, isDark: boolean): void {
    this.now = now;
    const colors = classColors(CLASSES, isDark).map((color) => css(color));
    const tips = pulls && arrowTips(now, pulls);
    places(now).forEach(([x, y], i) => {
      const label = i < now.points.length ? now.labels[i] : i - now.points.length;
      const force = pulls ? Math.hypot(pulls.forces[i][0], pulls.forces[i][1]) : 0;
      setAttributes(this.dots[i], {
        transform: `translate(${x} ${-y})`,
        style: `color: ${colors[label]}`,
        "data-chosen": i === index ? "true" : null,
        "aria-label": `${nameOf(now, i)} at ${formatNumber(x)}, ${formatNumber(y)}, force ${formatNumber(force)}; arrow keys move it`,
      });
      setAttributes(this.arrows[i], { d: tips ? arrow([x, -y], [tips[i][0], -tips[i][1]]) : "" });
    });
    this.lines.replaceChildren(...partnerLines(now, index));
    this.unit.classList.toggle("held", now.circle);
  }

  private dot(index: number): SVGGElement {
    const shape =
      index >= this.now.points.length
        ? svg("rect", { x: -0.045, y: -0.045, width: 0.09, height: 0.09, transform: "rotate(45)" })
        : svg("circle", { r: 0.05 });
    const dot = svg(
      "g",
      { class: "dot", tabindex: 0, role: "button" },
      svg("circle", { class: "reach", r: 0.13 }),
      shape,
      svg("text", { x: 0.075, y: -0.055 }, nameOf(this.now, index)),
    );
    dot.addEventListener("focus", () => this.hooks.onchoose(index));
    dot.addEventListener("keydown", (event) => this.onKey(event, index));
    return dot;
  }

  private grab(event: PointerEvent): void {
    const { target } = event;
    const index = target instanceof Node ? this.dots.findIndex((dot) => dot.contains(target)) : -1;
    if (index < 0 || event.button !== 0) return;
    event.preventDefault();
    this.index = index;
    this.dots[index].focus();
    this.chart.setPointerCapture(event.pointerId);
  }

  private placeOf(event: PointerEvent): Place {
    const box = this.chart.getBoundingClientRect();
    return [
      (((event.clientX - box.left) / box.width) * 2 - 1) * EXTENT,
      (1 - ((event.clientY - box.top) / box.height) * 2) * EXTENT,
    ];
  }

  private onKey(event: KeyboardEvent, index: number): void {
    const along = DIRECTIONS[event.key];
    if (!along) return;
    event.preventDefault();
    const by = event.shiftKey ? 0.1 : 0.02;
    const [x, y] = places(this.now)[index];
    const turn = (along[0] + along[1]) * by;
    const to: Place = this.now.circle
      ? [x * Math.cos(turn) - y * Math.sin(turn), x * Math.sin(turn) + y * Math.cos(turn)]
      : [x + along[0] * by, y + along[1] * by];
    this.hooks.onmove(move(this.now, index, to));
  }
}

/** Lines to what the chosen point is compared with: its own class drawn through, others broken. */
function partnerLines({ preset, points, labels }: Arrangement, index: number): SVGElement[] {
  const a = preset === "triplet" ? 0 : index;
  if (a >= points.length) return [];
  const [ax, ay] = points[a];
  return points.flatMap(([x, y], i): SVGElement[] => {
    if (i === a) return [];
    const kind = labels[i] === labels[a] ? "near" : "far";
    const line = svg("line", { x1: ax, y1: -ay, x2: x, y2: -y, class: kind });
    if (preset !== "triplet") return [line];
    const beside = { x: ax + 0.3 * (x - ax) + 0.03, y: -(ay + 0.3 * (y - ay)) };
    return [line, svg("text", beside, formatNumber(Math.hypot(ax - x, ay - y)))];
  });
}

/** The path of an arrow; none where there is next to no force. */
function arrow([x1, y1]: Place, [x2, y2]: Place): string {
  const length = Math.hypot(x2 - x1, y2 - y1);
  if (length < 0.012) return "";
  const [dx, dy] = [(x2 - x1) / length, (y2 - y1) / length];
  const head = Math.min(0.06, length * 0.5);
  const [bx, by] = [x2 - dx * head, y2 - dy * head];
  const side = head * 0.55;
  return `M${x1} ${y1}L${bx} ${by}M${x2} ${y2}L${bx - dy * side} ${by + dx * side}L${bx + dy * side} ${by - dx * side}Z`;
}

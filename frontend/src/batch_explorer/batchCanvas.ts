// The batch on the run's picture: points, what is compared, forces, class vectors, margins; and the way of one step.
import { context2d, h } from "../lib/dom.ts";
import { css, mix, type Rgb, type Theme } from "../lib/theme.ts";
import type { LoadedBatch, Row } from "./batch.ts";
import { arcs, rings, type Arc } from "./margins.ts";
import { magnification } from "./stepAnimation.ts";
import { nearestLine, pickLines, STROKES, type Line, type Shown } from "./difficultyStyles.ts";

const PADDING = 26;
const MAX_ARROW_PX = 46; // of the strongest push

type Context = CanvasRenderingContext2D;
type Point = [number, number];
type Box = [number, number, number, number];

export interface CanvasLook {
  theme: Theme;
  colors: Rgb[];
  positive: Rgb;
  negative: Rgb;
  /** Which kinds of comparison are shown, and those of which images; all where there are none. */
  shown: Shown;
  of: number[];
  chosen: number | null;
  hover: number | null;
  /** Images of what is chosen. */
  involved: number[];
  lines: boolean;
  /** Whether satisfied comparisons fade. */
  active: boolean;
  arrows: boolean;
  /** How far the images have gone, 0 to 1. */
  gone: number;
  /** Of the device, a CSS pixel. */
  pixels: number;
  isSatisfied: (index: number) => boolean;
}

export interface CanvasHooks {
  onhover: (image: number | null, event?: PointerEvent) => void;
  onpick: (image: number | null) => void;
  online: (line: number) => void;
  /** An arrow key goes on by one, Escape (null) lets go. */
  onstep: (by: number | null) => void;
}

export class BatchCanvas {
  readonly canvas = h("canvas", {
    class: "stage",
    tabindex: 0,
    role: "application",
    "aria-roledescription": "picture of a batch; arrow keys go from comparison to comparison",
  });
  private b: LoadedBatch | null = null;
  private moved: number[] = []; // where the images go, as far as is shown
  private boxes: [Box, Box] = [
    [-1, -1, 1, 1],
    [-1, -1, 1, 1],
  ];
  private arcs: Arc[] = [];
  private strongest = 1;
  private lines: Line[] = [];
  private gone = 0;
  private scale = 1;
  private corner: Point = [0, 0];

  constructor({ onhover, onpick, online, onstep }: CanvasHooks) {
    this.canvas.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (by === undefined && event.key !== "Escape") return;
      event.preventDefault();
      onstep(by ?? null);
    });
    this.canvas.addEventListener("pointermove", (event) => onhover(this.imageAt(event), event));
    this.canvas.addEventListener("pointerleave", () => onhover(null));
    this.canvas.addEventListener("click", (event) => {
      const image = this.imageAt(event);
      const line = image === null ? this.lineAt(event) : null;
      if (line === null) onpick(image);
      else online(line);
    });
  }

  show(b: LoadedBatch): void {
    this.b = b;
    const by = magnification(b) ?? 1;
    this.moved = Array.from(b.places, (at, k) => at + by * (b.moved[k] - at));
    const still: ArrayLike<number>[] = [b.places, ...(b.centers ? [b.centers.places] : [])];
    this.boxes = [around(still), around([...still, this.moved])];
    this.arcs = arcs(b);
    this.strongest = Math.max(1e-30, ...b.labels.map((_, i) => Math.hypot(b.push[2 * i], b.push[2 * i + 1])));
  }

  private fit(pixels: number): void {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (this.canvas.width !== Math.round(width * pixels)) this.canvas.width = Math.round(width * pixels);
    if (this.canvas.height !== Math.round(height * pixels)) this.canvas.height = Math.round(height * pixels);
    const [small, large] = this.boxes;
    const [x0, y0, x1, y1] = small.map((edge, k) => edge + (large[k] - edge) * this.gone);
    this.scale = Math.min(
      (width - 2 * PADDING) / Math.max(1e-12, x1 - x0),
      (height - 2 * PADDING) / Math.max(1e-12, y1 - y0),
    );
    this.corner = [width / 2 - ((x0 + x1) / 2) * this.scale, height / 2 + ((y0 + y1) / 2) * this.scale];
  }

  /** World to canvas pixels (before the device's own scale). */
  private place(x: number, y: number): Point {
    return [this.corner[0] + x * this.scale, this.corner[1] - y * this.scale];
  }

  private placeOf(places: ArrayLike<number>, i: number): Point {
    return this.place(places[2 * i], places[2 * i + 1]);
  }

  render(view: CanvasLook): void {
    const { b } = this;
    if (!b) return;
    this.gone = view.gone;
    this.fit(view.pixels);
    const context = context2d(this.canvas);
    context.setTransform(view.pixels, 0, 0, view.pixels, 0, 0);
    context.clearRect(0, 0, this.canvas.clientWidth, this.canvas.clientHeight);
    this.drawBackground(context, b, view);
    if (view.gone > 0) this.drawMovement(context, b, view);
    this.lines = [];
    if (view.lines) this.drawComparisons(context, b, view);
    if (view.lines && view.chosen !== null) this.drawMargin(context, b, view.chosen, view);
    if (view.arrows) this.drawForces(context, b, view);
    this.drawPoints(context, b, view);
    this.drawCenters(context, b, view);
  }

  /** Where image i is now. */
  private where(b: LoadedBatch, i: number): Point {
    const { places } = b;
    const at = (k: number) => places[2 * i + k] + (this.moved[2 * i + k] - places[2 * i + k]) * this.gone;
    return this.place(at(0), at(1));
  }

  private drawBackground(context: Context, { centers, origin }: LoadedBatch, { theme, colors }: CanvasLook): void {
    if (!this.arcs.length || !centers) return;
    const [x, y] = this.place(origin[0], origin[1]);
    const radius = this.scale * Math.hypot(centers.places[0] - origin[0], centers.places[1] - origin[1]);
    context.strokeStyle = css(theme.text, 0.12);
    context.lineWidth = 1;
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.stroke();
    for (const { row, from, to } of this.arcs) {
      context.strokeStyle = css(colors[centers.labels[row]], 0.35);
      context.lineWidth = 9;
      context.beginPath();
      context.arc(x, y, radius + 10, -to, -from); // the screen's y runs down
      context.stroke();
    }
  }

  private drawMovement(context: Context, b: LoadedBatch, { theme }: CanvasLook): void {
    context.strokeStyle = css(theme.text, 0.35);
    context.lineWidth = 1;
    context.beginPath();
    for (let i = 0; i < b.n; i++) {
      context.moveTo(...this.placeOf(b.places, i));
      context.lineTo(...this.where(b, i));
    }
    context.stroke();
  }

  /** Where the lines of a comparison lead, from its first image: [place, whether it should be near]. */
  private endpoints(b: LoadedBatch, row: Row): [Point, boolean][] {
    if (b.seen.kind === "classes") {
      return [row[1], row[2]].flatMap((label, k): [Point, boolean][] => {
        const place = this.nearestCenter(b, row[0], label);
        return place ? [[place, k === 0]] : [];
      });
    }
    return row.slice(1).map((image) => [this.where(b, image), b.labels[image] === b.labels[row[0]]]);
  }

  private nearestCenter(b: LoadedBatch, image: number, label: number): Point | null {
    if (!b.centers) return null;
    const { labels, places } = b.centers;
    const from = this.where(b, image);
    let best: Point | null = null;
    let least = Infinity;
    labels.forEach((own, row) => {
      if (own !== label) return;
      const at = this.placeOf(places, row);
      const far = Math.hypot(at[0] - from[0], at[1] - from[1]);
      if (far < least) [best, least] = [at, far];
    });
    return best;
  }

  private drawComparisons(context: Context, b: LoadedBatch, view: CanvasLook): void {
    const list = pickLines(b, { shown: view.shown, of: view.of });
    const faint = view.chosen !== null || list.length > 60 ? 0.55 : 1;
    for (const index of [...list.filter((k) => k !== view.chosen), ...(view.chosen === null ? [] : [view.chosen])]) {
      const stroke = STROKES[b.hardness[index]];
      const own = index === view.chosen;
      const left = view.active && !own && view.isSatisfied(index) ? 0.2 : 1;
      const from = this.where(b, b.rows[index][0]);
      for (const [to, together] of this.endpoints(b, b.rows[index])) {
        context.strokeStyle = css(together ? view.positive : view.negative, own ? 1 : stroke.alpha * faint * left);
        context.lineWidth = own ? stroke.width + 1.4 : stroke.width;
        context.setLineDash(stroke.dash);
        context.beginPath();
        context.moveTo(...from);
        context.lineTo(...to);
        context.stroke();
        this.lines.push([index, ...from, ...to]);
      }
    }
    context.setLineDash([]);
  }

  private drawMargin(context: Context, b: LoadedBatch, chosen: number, { theme, negative }: CanvasLook): void {
    const [x, y] = this.where(b, b.rows[chosen][0]);
    for (const { radius, what } of rings(b, b.rows[chosen])) {
      context.strokeStyle = what === "margin" ? css(negative, 0.8) : css(theme.text, 0.35);
      context.setLineDash(what === "margin" ? [4, 3] : []);
      context.lineWidth = 1;
      context.beginPath();
      context.arc(x, y, radius * this.scale, 0, 2 * Math.PI);
      context.stroke();
    }
    context.setLineDash([]);
  }

  private drawForces(context: Context, b: LoadedBatch, { theme, of }: CanvasLook): void {
    context.lineWidth = 1.3;
    for (let i = 0; i < b.n; i++) {
      const length = Math.hypot(b.push[2 * i], b.push[2 * i + 1]) / this.strongest;
      if (length < 0.02) continue;
      const [x, y] = this.where(b, i);
      const [dx, dy] = [b.push[2 * i], -b.push[2 * i + 1]].map((v) => (v / this.strongest) * MAX_ARROW_PX);
      context.strokeStyle = context.fillStyle = css(theme.text, of.length && !of.includes(i) ? 0.2 : 0.85);
      arrow(context, x, y, dx, dy);
    }
  }

  private drawPoints(context: Context, b: LoadedBatch, { theme, colors, of, hover, involved }: CanvasLook): void {
    for (let i = 0; i < b.n; i++) {
      const [x, y] = this.where(b, i);
      const quiet = of.length && !of.includes(i) && !involved.includes(i);
      context.globalAlpha = quiet ? 0.4 : 1;
      context.fillStyle = css(colors[b.labels[i]]);
      context.beginPath();
      context.arc(x, y, involved.includes(i) ? 5.5 : 3.6, 0, 2 * Math.PI);
      context.fill();
      context.lineWidth = involved.includes(i) || i === hover ? 1.8 : 0.8;
      context.strokeStyle = involved.includes(i) || i === hover ? css(theme.text) : css(theme.background, 0.8);
      context.stroke();
    }
    context.globalAlpha = 1;
  }

  private drawCenters(context: Context, { centers, classes }: LoadedBatch, { theme, colors }: CanvasLook): void {
    if (!centers) return;
    const few = centers.labels.length <= 20;
    context.font = `600 11px ${theme.font}`;
    centers.labels.forEach((label, row) => {
      const [x, y] = this.placeOf(centers.places, row);
      const size = few ? 7 : 4;
      context.fillStyle = css(mix(colors[label], theme.background, 0.1));
      context.strokeStyle = css(theme.text, 0.9);
      context.lineWidth = 1.2;
      context.beginPath();
      for (const [dx, dy] of [
        [0, -size],
        [size, 0],
        [0, size],
        [-size, 0],
      ])
        context.lineTo(x + dx, y + dy);
      context.closePath();
      context.fill();
      context.stroke();
      if (!few) return;
      context.lineWidth = 3;
      context.strokeStyle = css(theme.background, 0.85);
      context.strokeText(classes[label], x + size + 2, y - 4);
      context.fillStyle = css(theme.text);
      context.fillText(classes[label], x + size + 2, y - 4);
    });
  }

  private onPointer(event: MouseEvent): Point {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  /** The image within reach of the pointer, or null. */
  private imageAt(event: MouseEvent, reach = 9): number | null {
    const { b } = this;
    if (!b) return null;
    const [x, y] = this.onPointer(event);
    let best: number | null = null;
    let least = reach;
    for (let i = 0; i < b.n; i++) {
      const at = this.where(b, i);
      const far = Math.hypot(at[0] - x, at[1] - y);
      if (far < least) [best, least] = [i, far];
    }
    return best;
  }

  lineAt(event: MouseEvent): number | null {
    return nearestLine(this.lines, ...this.onPointer(event));
  }
}

/** The box around all of several lists of x, y. */
function around(lists: ArrayLike<number>[]): Box {
  const box: Box = [Infinity, Infinity, -Infinity, -Infinity];
  for (const places of lists) {
    for (let i = 0; i < places.length; i += 2) {
      box[0] = Math.min(box[0], places[i]);
      box[1] = Math.min(box[1], places[i + 1]);
      box[2] = Math.max(box[2], places[i]);
      box[3] = Math.max(box[3], places[i + 1]);
    }
  }
  return box[0] > box[2] ? [-1, -1, 1, 1] : box;
}

function arrow(context: Context, x: number, y: number, dx: number, dy: number): void {
  const length = Math.hypot(dx, dy);
  const [ux, uy] = [dx / length, dy / length];
  const head = Math.min(5, length * 0.5);
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x + dx - ux * head, y + dy - uy * head);
  context.stroke();
  context.beginPath();
  context.moveTo(x + dx, y + dy);
  context.lineTo(x + dx - ux * head - uy * head * 0.6, y + dy - uy * head + ux * head * 0.6);
  context.lineTo(x + dx - ux * head + uy * head * 0.6, y + dy - uy * head - ux * head * 0.6);
  context.closePath();
  context.fill();
}

// Draws a batch: its margins, comparisons, forces, images and class vectors, each onto the same canvas.
import { maxOf } from "../lib/extent.ts";
import { circle, line } from "../lib/canvas.ts";
import { context2d } from "../lib/dom.ts";
import { css, mix, type Rgb, type Theme } from "../lib/theme.ts";
import type { BatchStage } from "./batchStage.ts";
import { type Line, pickLines, type Shown, STROKES } from "./difficultyLegend.tsx";
import type { LoadedBatch, Row } from "./batch.ts";

interface Ring {
  radius: number;
  what: "positive" | "near" | "margin";
}

/**
 * Rings around the first image of a comparison, in the distances of the loss. Only in a plane that is
 * the space itself, where a circle is what lies so far away.
 */
export function rings(b: LoadedBatch, row: Row | null): Ring[] {
  const { measure, margin: gap, positive_threshold: near, negative_threshold: far } = b.thresholds;
  if (b.view !== "plane" || b.curvature || measure === "cosine" || !row || b.tuples.kind === "classes") return [];
  const radius = (value: number) => (measure === "sqeuclidean" ? Math.sqrt(Math.max(0, value)) : value);
  if (b.tuples.kind === "triplets") {
    const positive = b.space.distance(row[0], row[1], measure);
    const list: Ring[] = [{ radius: radius(positive), what: "positive" }];
    return gap > 0 ? [...list, { radius: radius(positive + gap), what: "margin" }] : list;
  }
  return (
    [
      [near, "near"],
      [far, "margin"],
    ] as const
  ).flatMap(([value, what]) => (value !== null && value > 0 ? [{ radius: radius(value), what }] : []));
}

type Themed = Record<"light" | "dark", Rgb>;

export const POSITIVE_COLOR: Themed = { light: [31, 138, 124], dark: [62, 190, 172] };
export const NEGATIVE_COLOR: Themed = { light: [201, 62, 85], dark: [240, 110, 128] };

const MAX_ARROW_PX = 46; // of the strongest push

type Context = CanvasRenderingContext2D;

export interface CanvasLook {
  theme: Theme;
  colors: Rgb[];
  positive: Rgb;
  negative: Rgb;
  /** The kinds of comparison that are shown, and their images; all if there are none. */
  shown: Shown;
  of: number[];
  chosen: number | null;
  hover: number | null;
  /** Images of what is chosen. */
  involved: number[];
  lines: boolean;
  /** True if satisfied comparisons fade. */
  active: boolean;
  arrows: boolean;
  /** Share of the step that the images have moved, 0 to 1. */
  gone: number;
  /** Of the device, a CSS pixel. */
  pixels: number;
  isSatisfied: (index: number) => boolean;
}

/** Draw the batch on the run's picture; returns the lines of its comparisons. */
export function drawBatch(canvas: HTMLCanvasElement, stage: BatchStage, view: CanvasLook): Line[] {
  const { clientWidth: width, clientHeight: height } = canvas;
  const [across, down] = [width, height].map((side) => Math.round(side * view.pixels));
  if (canvas.width !== across) canvas.width = across;
  if (canvas.height !== down) canvas.height = down;
  stage.fit(width, height, view.gone);
  const context = context2d(canvas);
  context.setTransform(view.pixels, 0, 0, view.pixels, 0, 0);
  context.clearRect(0, 0, width, height);
  drawBackground(context, stage, view);
  if (view.gone > 0) drawMovement(context, stage, view);
  const lines = view.lines ? drawComparisons(context, stage, view) : [];
  if (view.lines && view.chosen !== null) drawMargin(context, stage, view.chosen, view);
  if (view.arrows) drawForces(context, stage, view);
  drawPoints(context, stage, view);
  drawCenters(context, stage, view);
  return lines;
}

/** The circle, and the arcs on it that a margin leaves to each class. */
function drawBackground(context: Context, stage: BatchStage, { theme, colors }: CanvasLook): void {
  const { centers, origin, terms } = stage.b;
  if (!terms?.arcs.length || !centers) return;
  const [x, y] = stage.place(origin[0], origin[1]);
  const radius = stage.scale * Math.hypot(centers.places[0] - origin[0], centers.places[1] - origin[1]);
  context.strokeStyle = css(theme.text, 0.12);
  context.lineWidth = 1;
  circle(context, x, y, radius);
  context.stroke();
  for (const { row, start, end } of terms.arcs) {
    context.strokeStyle = css(colors[centers.labels[row]], 0.35);
    context.lineWidth = 9;
    context.beginPath();
    context.arc(x, y, radius + 10, -end, -start); // the screen's y runs down
    context.stroke();
  }
}

/** The way of each image. */
function drawMovement(context: Context, stage: BatchStage, { theme }: CanvasLook): void {
  context.strokeStyle = css(theme.text, 0.35);
  context.lineWidth = 1;
  context.beginPath();
  for (let i = 0; i < stage.b.n; i++) {
    context.moveTo(...stage.placeOf(stage.b.places, i));
    context.lineTo(...stage.where(i));
  }
  context.stroke();
}

/** Draws and returns the lines of the comparisons. */
function drawComparisons(context: Context, stage: BatchStage, view: CanvasLook): Line[] {
  const { b } = stage;
  const lines: Line[] = [];
  const list = pickLines(b, { shown: view.shown, of: view.of });
  const faint = view.chosen !== null || list.length > 60 ? 0.55 : 1;
  for (const index of [...list.filter((k) => k !== view.chosen), ...(view.chosen === null ? [] : [view.chosen])]) {
    const stroke = STROKES[b.hardness[index]];
    const own = index === view.chosen;
    const left = view.active && !own && view.isSatisfied(index) ? 0.2 : 1;
    const from = stage.where(b.rows[index][0]);
    for (const [to, together] of stage.endpoints(b.rows[index])) {
      context.strokeStyle = css(together ? view.positive : view.negative, own ? 1 : stroke.alpha * faint * left);
      context.lineWidth = own ? stroke.width + 1.4 : stroke.width;
      context.setLineDash(stroke.dash);
      line(context, from, to);
      lines.push([index, ...from, ...to]);
    }
  }
  context.setLineDash([]);
  return lines;
}

/** Draws the thresholds of the chosen comparison, as circles around its first image. */
function drawMargin(context: Context, stage: BatchStage, index: number, { theme, negative }: CanvasLook): void {
  const { b } = stage;
  const [x, y] = stage.where(b.rows[index][0]);
  for (const { radius, what } of rings(b, b.rows[index])) {
    context.strokeStyle = what === "margin" ? css(negative, 0.8) : css(theme.text, 0.35);
    context.setLineDash(what === "margin" ? [4, 3] : []);
    context.lineWidth = 1;
    circle(context, x, y, radius * stage.scale);
    context.stroke();
  }
  context.setLineDash([]);
}

/** The negative gradient at each image. */
function drawForces(context: Context, stage: BatchStage, { theme, of }: CanvasLook): void {
  const { b } = stage;
  const lengths = b.labels.map((_, i) => Math.hypot(b.push[2 * i], b.push[2 * i + 1]));
  const strongest = maxOf(lengths, 1e-30);
  context.lineWidth = 1.3;
  for (let i = 0; i < b.n; i++) {
    const length = lengths[i] / strongest;
    if (length < 0.02) continue;
    const [x, y] = stage.where(i);
    const [dx, dy] = [b.push[2 * i], -b.push[2 * i + 1]].map((v) => (v / strongest) * MAX_ARROW_PX);
    context.strokeStyle = context.fillStyle = css(theme.text, of.length && !of.includes(i) ? 0.2 : 0.85);
    arrow(context, x, y, dx, dy);
  }
}

/** The images. */
function drawPoints(context: Context, stage: BatchStage, { theme, colors, of, hover, involved }: CanvasLook): void {
  for (let i = 0; i < stage.b.n; i++) {
    const [x, y] = stage.where(i);
    const quiet = of.length && !of.includes(i) && !involved.includes(i);
    context.globalAlpha = quiet ? 0.4 : 1;
    context.fillStyle = css(colors[stage.b.labels[i]]);
    circle(context, x, y, involved.includes(i) ? 5.5 : 3.6);
    context.fill();
    context.lineWidth = involved.includes(i) || i === hover ? 1.8 : 0.8;
    context.strokeStyle = involved.includes(i) || i === hover ? css(theme.text) : css(theme.background, 0.8);
    context.stroke();
  }
  context.globalAlpha = 1;
}

/** Draws the class centers, with their names where there are few. */
function drawCenters(context: Context, stage: BatchStage, { theme, colors }: CanvasLook): void {
  const { centers, classes } = stage.b;
  if (!centers) return;
  const few = centers.labels.length <= 20;
  context.font = `600 ${11 * theme.px}px ${theme.font}`;
  centers.labels.forEach((label, row) => {
    const [x, y] = stage.placeOf(centers.places, row);
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

function arrow(context: Context, x: number, y: number, dx: number, dy: number): void {
  const length = Math.hypot(dx, dy);
  const [ux, uy] = [dx / length, dy / length];
  const head = Math.min(5, length * 0.5);
  line(context, [x, y], [x + dx - ux * head, y + dy - uy * head]);
  context.beginPath();
  context.moveTo(x + dx, y + dy);
  context.lineTo(x + dx - ux * head - uy * head * 0.6, y + dy - uy * head + ux * head * 0.6);
  context.lineTo(x + dx - ux * head + uy * head * 0.6, y + dy - uy * head - ux * head * 0.6);
  context.closePath();
  context.fill();
}

// The batch on the run's picture, as a canvas that a person points at.
import { context2d, h } from "../lib/dom.ts";
import type { LoadedBatch } from "./batch.ts";
import {
  drawBackground,
  drawCenters,
  drawComparisons,
  drawForces,
  drawMargin,
  drawMovement,
  drawPoints,
  type CanvasLook,
} from "./batchDrawing.ts";
import { BatchStage, type Point } from "./batchStage.ts";
import { nearestLine, type Line } from "./difficultyStyles.ts";

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
  private stage: BatchStage | null = null;
  private lines: Line[] = [];

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
    this.stage = new BatchStage(b);
  }

  render(view: CanvasLook): void {
    const { stage, canvas } = this;
    if (!stage) return;
    const { clientWidth: width, clientHeight: height } = canvas;
    if (canvas.width !== Math.round(width * view.pixels)) canvas.width = Math.round(width * view.pixels);
    if (canvas.height !== Math.round(height * view.pixels)) canvas.height = Math.round(height * view.pixels);
    stage.fit(width, height, view.gone);
    const context = context2d(canvas);
    context.setTransform(view.pixels, 0, 0, view.pixels, 0, 0);
    context.clearRect(0, 0, width, height);
    drawBackground(context, stage, view);
    if (view.gone > 0) drawMovement(context, stage, view);
    this.lines = view.lines ? drawComparisons(context, stage, view) : [];
    if (view.lines && view.chosen !== null) drawMargin(context, stage, view.chosen, view);
    if (view.arrows) drawForces(context, stage, view);
    drawPoints(context, stage, view);
    drawCenters(context, stage, view);
  }

  /** The comparison whose line is under the pointer, or null. */
  lineAt(event: MouseEvent): number | null {
    return nearestLine(this.lines, ...this.onPointer(event));
  }

  private imageAt(event: MouseEvent): number | null {
    return this.stage?.imageAt(this.onPointer(event)) ?? null;
  }

  private onPointer(event: MouseEvent): Point {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }
}

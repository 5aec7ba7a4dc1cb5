// Contours of where points are dense, drawn over the points, which fade meanwhile (map.css).
import { css, mix, type Rgb, type Theme } from "../../lib/theme.ts";
import type { Model } from "../data/model.ts";
import type { ContourState } from "../data/state.ts";
import { outlinesOf, type Outline } from "../math/contours.ts";
import type { Point } from "../math/camera.ts";
import type { Scene } from "./scene.ts";

const MAX_GROUPS = 24; // above it one density for all together
const REST_MS = 120; // that points stand still between two frames before there are contours
const INK = 0.3; // share of the text's color in that of a line, which must show on points of the class's own
const CASING = 2.6; // pixels of ground on both sides of a line together

interface Drawn extends Outline {
  path: Path2D;
}

/** Keeps the contours of the shown points, and draws them in any view. */
export class Density {
  private outlines: Drawn[] = [];
  private origin: Point = [0, 0];
  private none: ContourState = "";
  private of: unknown[] = [];
  private lastParts: unknown[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** Draw the contours of points that stand still, and say what became of them. */
  draw(
    context: CanvasRenderingContext2D,
    scene: Scene,
    { groups, groupIds }: Model,
    colors: Rgb[],
    theme: Theme,
    playing: boolean,
  ): ContourState {
    const now = [scene.frame, scene.tween, scene.t, scene.usable, groupIds];
    if (playing || !this.isStill(scene, now)) return "moving";
    if (now.some((part, i) => part !== this.of[i])) {
      this.of = now;
      this.estimate(scene, groups.length > MAX_GROUPS ? null : groupIds);
    }
    if (!this.outlines.length) return this.none;
    const [x, y] = scene.toScreen(this.origin);
    const zoom = scene.view.k;
    context.save();
    context.translate(x, y);
    context.scale(zoom, -zoom);
    context.lineJoin = "round";
    for (const isCasing of [true, false]) {
      for (const { path, group, density } of this.outlines) {
        const strength = density ** 0.3; // few points, far apart, have faint lines
        const width = 0.9 + 0.9 * strength;
        context.lineWidth = (isCasing ? width + CASING : width) / zoom;
        context.strokeStyle = isCasing
          ? css(theme.background, 0.2 + 0.6 * strength)
          : css(inkOf(group, colors, theme), 0.25 + 0.75 * strength);
        context.stroke(path);
        if (isCasing) continue;
        context.fillStyle = css(colors[group] ?? theme.text, 0.02 + 0.08 * strength);
        context.fill(path);
      }
    }
    context.restore();
    return "drawn";
  }

  // At the end of the motion it is drawn at once, otherwise only after a moment.
  private isStill(scene: Scene, now: unknown[]): boolean {
    if (scene.clock) return false;
    if (scene.settled && !scene.frame?.xyz) return true;
    if (now.slice(0, 3).every((part, i) => part === this.lastParts[i])) return this.timer === undefined;
    this.lastParts = now;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.timer = undefined;
      scene.invalidate();
    }, REST_MS);
    return false;
  }

  private estimate(scene: Scene, groupIds: ArrayLike<number> | null): void {
    const places = scene.places();
    const outlines = outlinesOf(places, scene.usable, groupIds);
    this.none = typeof outlines === "string" ? outlines : "few points";
    if (typeof outlines === "string") {
      this.outlines = [];
      return;
    }
    // Paths lie about a place near them, since a canvas has not the digits for small shapes far from its origin.
    this.origin = outlines[0]?.rings[0][0] ?? [0, 0];
    this.outlines = outlines.map((outline) => ({ ...outline, path: pathOf(outline.rings, this.origin) }));
  }

  /** No drawing is to come of it. */
  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.lastParts = [];
  }
}

const inkOf = (group: number, colors: Rgb[], theme: Theme): Rgb =>
  colors[group] ? mix(colors[group], theme.text, INK) : theme.text;

function pathOf(rings: Point[][], [left, bottom]: Point): Path2D {
  const path = new Path2D();
  for (const ring of rings) {
    ring.forEach(([x, y], i) => (i ? path.lineTo(x - left, y - bottom) : path.moveTo(x - left, y - bottom)));
    path.closePath();
  }
  return path;
}

// Effect of L2 normalization on the pinned image in a free plane: an arrow from f to f/‖f‖ on the unit circle.
import { css, type Theme } from "../../lib/theme.ts";
import type { Point } from "../math/camera.ts";

const HEAD_PX = 8;
const SHORTEST_PX = 4; // an arrow shorter than that is left out
const TAU = 2 * Math.PI;

/** The point on the unit circle in the direction of a point; null at the origin, which has no direction. */
export function unitVector([x, y]: Point): Point | null {
  const norm = Math.hypot(x, y);
  return norm > 0 ? [x / norm, y / norm] : null;
}

/** Draw the unit circle and the arrow; `seen` says where a point of the plane is on the stage. */
export function drawUnitArrow(
  context: CanvasRenderingContext2D,
  point: Point,
  toScreen: (point: Point) => Point,
  theme: Theme,
): void {
  const end = unitVector(point);
  if (!end) return;
  const [origin, right, from, to] = [toScreen([0, 0]), toScreen([1, 0]), toScreen(point), toScreen(end)];
  context.save();
  context.setLineDash([3, 4]);
  context.lineWidth = 1;
  context.strokeStyle = css(theme.muted, 0.8);
  context.beginPath();
  context.arc(...origin, Math.hypot(right[0] - origin[0], right[1] - origin[1]), 0, TAU);
  context.stroke();
  context.setLineDash([]);
  const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
  const length = Math.hypot(dx, dy);
  if (length >= SHORTEST_PX) {
    const [ux, uy] = [dx / length, dy / length];
    context.strokeStyle = context.fillStyle = css(theme.primary);
    context.lineWidth = 2;
    context.beginPath();
    context.moveTo(...from);
    context.lineTo(to[0] - ux * HEAD_PX, to[1] - uy * HEAD_PX);
    context.stroke();
    context.beginPath();
    context.moveTo(...to);
    context.lineTo(to[0] - ux * HEAD_PX - uy * HEAD_PX * 0.5, to[1] - uy * HEAD_PX + ux * HEAD_PX * 0.5);
    context.lineTo(to[0] - ux * HEAD_PX + uy * HEAD_PX * 0.5, to[1] - uy * HEAD_PX - ux * HEAD_PX * 0.5);
    context.fill();
  }
  context.font = `${12 * theme.px}px ${theme.font}`;
  const side = (length >= SHORTEST_PX ? dx : end[0]) < 0 ? -1 : 1; // beyond the head, not on the arrow
  context.textAlign = side < 0 ? "right" : "left";
  context.textBaseline = "middle";
  context.lineWidth = 3;
  context.strokeStyle = css(theme.background, 0.9);
  context.fillStyle = css(theme.text);
  context.strokeText("f / ‖f‖", to[0] + 9 * side, to[1]);
  context.fillText("f / ‖f‖", to[0] + 9 * side, to[1]);
  context.restore();
}

// Renderers of the points: WebGL2 if available, else Canvas 2D.
import type { Rgb } from "../../lib/theme.ts";
import type { Port, View } from "../math/camera.ts";
import type { Tween } from "../math/tween.ts";
import type { PointStyle } from "./pointColors.ts";

/** One moment of a tween: at `t` of it, with `ground` behind the points, of which every how-manieth is drawn. */
export interface Moment {
  view: View;
  port: Port;
  t: number;
  moves: boolean;
  style: PointStyle;
  ground: Rgb;
  every: number;
}

export interface Renderer {
  readonly kind: "webgl2" | "canvas";
  /** True where the processor draws, which a training may need, too. */
  readonly isSoftware: boolean;
  /** Take the motion of the points. */
  setTween(tween: Tween): void;
  /** Take colors (r, g, b, opacity a point) and marks (shape, layer a point), bytes. */
  setPaint(paint: Uint8Array<ArrayBuffer>, marks: Uint8Array<ArrayBuffer>): void;
  resize(width: number, height: number, ratio: number): void;
  draw(moment: Moment): void;
  /** True if the last drawing is still being done, by the graphics card or its software replacement. */
  readonly busy: boolean;
  destroy(): void;
}

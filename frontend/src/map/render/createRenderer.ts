// Choice of the renderer of a canvas.
import { CanvasRenderer } from "./canvas.ts";
import { GlRenderer } from "./gl.ts";
import type { Renderer } from "./renderer.ts";

/**
 * WebGL2, or Canvas 2D where there is none or `wanted` is "canvas"; `reload()` is called when a lost graphics context has
 * come back and needs everything anew.
 */
export function createRenderer(
  points: HTMLCanvasElement,
  name: string | null | undefined,
  reload: () => void,
): Renderer {
  if (name !== "canvas") {
    try {
      return new GlRenderer(points, reload);
    } catch {
      // A canvas that has refused WebGL2 still gives a 2-D context.
    }
  }
  return new CanvasRenderer(points);
}

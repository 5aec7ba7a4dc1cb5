// Whether the eye has left the points behind.
import type { Scene } from "./scene.ts";

const NEAR_PX = 12; // beyond the stage's edge, where half of a point is still seen

/** Whether a person looks where none of the points is, which stand still. It looks through them until one is seen. */
export function isAstray({ camera, tween, t, settled, usable, port }: Scene): boolean {
  const { view } = camera;
  if (camera.automatic || !view || !tween || !settled || !port.width) return false;
  const [x, y] = [(port.width / 2 + NEAR_PX) / view.k, (port.height / 2 + NEAR_PX) / view.k];
  const places = tween.moves && t < 1 ? tween.p0 : tween.p1;
  for (let i = 0; i < usable.length; i++) {
    if (usable[i] && Math.abs(places[2 * i] - view.x) < x && Math.abs(places[2 * i + 1] - view.y) < y) return false;
  }
  return usable.some(Boolean);
}

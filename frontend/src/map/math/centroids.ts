// Where a class's name is written, and whether the class is compact enough to carry one.

import type { Point } from "./camera.ts";
import type { Tween } from "./tween.ts";

/** The weights of a cubic, in the order of `hermite`. */
const PARTS = ["p0", "p1", "m0", "m1"] as const;

export interface ClassCenter {
  count: number;
  /** Its motion: p0, p1, m0, m1. */
  at: Point[];
  clear: number;
}

/**
 * Per group the mean of its points' motion ({p0, p1, m0, m1}: the mean of cubics is a cubic) and how clearly it stands
 * apart at the end: 0 (spread like everything) to 1 (compact).
 */
export function classCenters(
  model: { groups: string[]; groupIds: ArrayLike<number>; n: number },
  tween: Tween,
): ClassCenter[] {
  const { groupIds } = model;
  const k = model.groups.length;
  const sums = PARTS.map(() => new Float64Array(2 * k));
  const counts = new Float64Array(k);
  const squares = new Float64Array(k);
  for (let i = 0; i < model.n; i++) {
    if (!tween.fade[2 * i + 1]) continue;
    const c = groupIds[i];
    counts[c]++;
    PARTS.forEach((name, s) => {
      sums[s][2 * c] += tween[name][2 * i];
      sums[s][2 * c + 1] += tween[name][2 * i + 1];
    });
    squares[c] += tween.p1[2 * i] ** 2 + tween.p1[2 * i + 1] ** 2;
  }
  const all = counts.reduce((a, b) => a + b, 0);
  const mean = [0, 1].map((axis) => sums[1].reduce((sum, v, j) => sum + (j % 2 === axis ? v : 0), 0) / (all || 1));
  const spread = squares.reduce((a, b) => a + b, 0) / (all || 1) - mean[0] ** 2 - mean[1] ** 2;
  return model.groups.map((_, c) => {
    const at = sums.map((sum): Point => [sum[2 * c] / (counts[c] || 1), sum[2 * c + 1] / (counts[c] || 1)]);
    const own = squares[c] / (counts[c] || 1) - at[1][0] ** 2 - at[1][1] ** 2;
    const ratio = spread > 0 ? Math.sqrt(Math.max(0, own) / spread) : 1;
    const clear = Math.min(1, Math.max(0, (0.72 - ratio) / 0.3));
    return { count: counts[c], at, clear: counts[c] ? clear : 0 };
  });
}

// Positions of the class names, without overlaps.
import type { Point } from "./camera.ts";
import type { Tween } from "./tween.ts";

const HEIGHT = 16;
const GAP = 4; // between two names in a line
const MANY_NAMES = 30; // fewer are all written, since a class without a name is missed

/** A name: its middle, in the best case; its width in pixels; and how clearly its class stands apart (0 to 1). */
export interface NamedPlace {
  at: Point;
  width: number;
  clear: number;
}

/**
 * The middle of each name, null for one that is left out. Of few names, one that would lie on one before it moves to the
 * nearest free place; their order does not change, so that no two swap places while points move. Of many, the clearest
 * come first, and one that would lie on another is left out.
 */
export function placeNames(names: NamedPlace[]): (Point | null)[] {
  const places: (Point | null)[] = names.map(() => null);
  const many = names.length > MANY_NAMES;
  const order = names.map((_, i) => i);
  if (many) order.sort((a, b) => names[b].clear - names[a].clear || a - b);
  const indices: number[] = [];
  for (const i of order) {
    const { at, width } = names[i];
    const others = indices.map((j) => ({ at: places[j]!, reach: (names[j].width + width) / 2 + GAP }));
    const isFree = ([x, y]: Point) =>
      others.every((other) => Math.abs(x - other.at[0]) >= other.reach || Math.abs(y - other.at[1]) >= HEIGHT);
    const place = isFree(at) ? at : many ? null : nearestFree(at, others, isFree);
    if (!place) continue;
    places[i] = place;
    indices.push(i);
  }
  return places;
}

/** The free place nearest to `at`: some lines of text above or below, and there at `at` or just beside another name. */
function nearestFree(
  [x, y]: Point,
  others: { at: Point; reach: number }[],
  isFree: (place: Point) => boolean,
): Point | null {
  const columns = [x, ...others.flatMap(({ at, reach }) => [at[0] - reach, at[0] + reach])];
  const rows = [y, ...others.flatMap(({ at }) => [at[1] - HEIGHT, at[1] + HEIGHT])];
  let best: Point | null = null;
  let nearest = Infinity;
  for (const column of columns) {
    for (const row of rows) {
      const distance = Math.hypot(column - x, row - y);
      if (distance < nearest && isFree([column, row])) [best, nearest] = [[column, row], distance];
    }
  }
  return best;
}

/** The weights of a cubic, in the order of `hermite`. */
const PARTS = ["p0", "p1", "m0", "m1"] as const;

export interface ClassCenter {
  count: number;
  /** Its motion: p0, p1, m0, m1. */
  at: Point[];
  clear: number;
  /** How far its points are from it at the end. */
  spread: number;
}

/**
 * Per group the mean of the motion of its usable points ({p0, p1, m0, m1}: the mean of cubics is a cubic) and how clearly
 * it stands apart at the end from the other usable points: 0 (spread like everything) to 1 (compact). A group that is
 * alone is compared with all points that there are.
 */
export function classCenters(
  model: { groups: string[]; groupIds: ArrayLike<number>; n: number },
  tween: Tween,
  usable: Uint8Array,
): ClassCenter[] {
  const { groupIds } = model;
  const k = model.groups.length;
  const sums = PARTS.map(() => new Float64Array(2 * k));
  const counts = new Float64Array(k);
  const squares = new Float64Array(k);
  const { p1, fade } = tween;
  const parts = PARTS.map((name) => tween[name]);
  for (let i = 0; i < model.n; i++) {
    if (!usable[i] || !fade[2 * i + 1]) continue;
    const c = groupIds[i];
    counts[c]++;
    for (let s = 0; s < PARTS.length; s++) {
      const places = parts[s];
      sums[s][2 * c] += places[2 * i];
      sums[s][2 * c + 1] += places[2 * i + 1];
    }
    squares[c] += p1[2 * i] ** 2 + p1[2 * i + 1] ** 2;
  }
  const spread = counts.filter(Boolean).length === 1 ? spreadOfAll(tween) : spreadOf(counts, sums[1], squares);
  return model.groups.map((_, c) => {
    const at = sums.map((sum): Point => [sum[2 * c] / (counts[c] || 1), sum[2 * c + 1] / (counts[c] || 1)]);
    const own = Math.sqrt(Math.max(0, squares[c] / (counts[c] || 1) - at[1][0] ** 2 - at[1][1] ** 2));
    const ratio = spread > 0 ? own / Math.sqrt(spread) : 1;
    const clear = Math.min(1, Math.max(0, (0.72 - ratio) / 0.3));
    return { count: counts[c], at, clear: counts[c] ? clear : 0, spread: own };
  });
}

/** The mean squared distance of the points of all groups from their mean, by group their number, sums and squares. */
function spreadOf(counts: Float64Array, sums: Float64Array, squares: Float64Array): number {
  const total = (values: Float64Array) => values.reduce((a, b) => a + b, 0);
  const all = total(counts) || 1;
  const mean = [0, 1].map((axis) => total(sums.filter((_, j) => j % 2 === axis)) / all);
  return total(squares) / all - mean[0] ** 2 - mean[1] ** 2;
}

/** The mean squared distance of all points that have a place from their mean. */
function spreadOfAll({ p1, fade, n }: Tween): number {
  let [count, x, y, squares] = [0, 0, 0, 0];
  for (let i = 0; i < n; i++) {
    if (!fade[2 * i + 1]) continue;
    count++;
    x += p1[2 * i];
    y += p1[2 * i + 1];
    squares += p1[2 * i] ** 2 + p1[2 * i + 1] ** 2;
  }
  return count ? squares / count - (x / count) ** 2 - (y / count) ** 2 : 0;
}

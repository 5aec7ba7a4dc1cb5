// Positions of the class names, without overlaps.
import type { Point } from "./camera.ts";

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

// The points on the plane, and the result of the forces that the library returns. Pure: no DOM.

import { maxOf } from "../../lib/extent.ts";
import type { LossForces } from "../../protocol.ts";

export const EXTENT = 1.35; // the plane goes from −EXTENT to EXTENT
const LONGEST = 0.55; // of an arrow
const FARTHEST = 0.1; // that one step moves a point

export type Place = [number, number];
export type PresetName = "triplet" | "batch";

/** Points with their classes, and places of the class weights where the loss has some (proxies). */
export interface Arrangement {
  preset: PresetName;
  /** True if everything is held on the unit circle. */
  circle: boolean;
  points: Place[];
  labels: number[];
  weights: Place[];
}

/** A request about an arrangement. */
export interface ForceQuestion {
  params: Record<string, unknown>;
  points: Place[];
  labels: number[];
  weights: Place[];
  triplet: boolean;
}

/** The forces as the arrangement lets them act, points first; the longest of them. */
export interface Pulls {
  loss: number;
  active: number;
  forces: Place[];
  longest: number;
}

/** Ways to begin, as [x, y, class]. */
export const PRESETS: Record<PresetName, { title: string; points: [number, number, number][] }> = {
  triplet: {
    title: "One triplet",
    points: [
      [-0.35, -0.25, 0],
      [0.55, 0.35, 0],
      [0.2, -0.55, 1],
    ],
  },
  batch: {
    title: "Three classes",
    points: [
      [-0.7, 0.15, 0],
      [-0.2, 0.6, 0],
      [0.35, 0.25, 0],
      [-0.5, -0.5, 1],
      [0.1, -0.25, 1],
      [0.45, 0.75, 1],
      [0.75, -0.2, 2],
      [0.55, -0.7, 2],
      [-0.1, 0.15, 2],
    ],
  },
};

/** Places of the proxies, one for each class. */
const PROXIES: Place[] = [
  [-0.8, 0.7],
  [-0.1, -1],
  [1, 0.2],
];
const ROLES = ["Anchor", "Positive", "Negative"];
const LETTERS = "ABC";

/** An arrangement: points with labels, proxies where the loss has some, held on the circle or free. */
export function arrange(preset: PresetName, { proxies = false, circle = false } = {}): Arrangement {
  const points = PRESETS[preset].points;
  const result: Arrangement = {
    preset,
    circle,
    points: points.map(([x, y]): Place => [x, y]),
    labels: points.map(([, , label]) => label),
    weights: proxies ? PROXIES.map((place): Place => [...place]) : [],
  };
  return circle ? hold(result) : result;
}

/** Every point (and proxy) on the unit circle. */
export function hold(arrangement: Arrangement): Arrangement {
  return {
    ...arrangement,
    circle: true,
    points: arrangement.points.map(toCircle),
    weights: arrangement.weights.map(toCircle),
  };
}

export function toCircle([x, y]: Place): Place {
  const length = Math.hypot(x, y);
  return length < 1e-9 ? [1, 0] : [x / length, y / length];
}

/** Points first, proxies after them, counted through. */
export const places = ({ points, weights }: Pick<Arrangement, "points" | "weights">): Place[] => [
  ...points,
  ...weights,
];

/** The arrangement with place `index` moved. */
export function move(arrangement: Arrangement, index: number, place: Place): Arrangement {
  const [x, y] = place.map((value) => Math.max(-EXTENT, Math.min(EXTENT, value)));
  const point: Place = [x, y];
  const to = arrangement.circle ? toCircle(point) : point;
  const put = (list: Place[], from: number) => list.map((old, i) => (i + from === index ? to : old));
  return {
    ...arrangement,
    points: put(arrangement.points, 0),
    weights: put(arrangement.weights, arrangement.points.length),
  };
}

/** Description of point `index`, for screen readers and the page. */
export function nameOf({ preset, points, labels }: Arrangement, index: number): string {
  if (index >= points.length) return `Proxy ${LETTERS[index - points.length]}`;
  return preset === "triplet" ? ROLES[index] : `${LETTERS[labels[index]]}${1 + (index % 3)}`;
}

/** The request to the server about an arrangement. */
export const questionOf = (
  { preset, points, labels, weights }: Arrangement,
  params: Record<string, unknown>,
): ForceQuestion => ({
  params,
  points,
  labels,
  weights,
  triplet: preset === "triplet",
});

/** The effect of an answer on the arrangement. */
export function pulls(arrangement: Arrangement, { loss, active, forces, on_weights: onWeights }: LossForces): Pulls {
  const all = [...forces, ...onWeights].map(([x, y]): Place => [x, y]);
  const along = arrangement.circle ? all.map((force, i) => tangential(force, places(arrangement)[i])) : all;
  return { loss, active, forces: along, longest: maxOf(along.map(([x, y]) => Math.hypot(x, y))) };
}

/** On the circle a point can only move along it. */
function tangential([fx, fy]: Place, [x, y]: Place): Place {
  const along = fx * -y + fy * x;
  return [along * -y, along * x];
}

/** Ends of the arrows: in proportion to their forces, the longest no longer than LONGEST. */
export function arrowTips(
  arrangement: Arrangement,
  { forces: all, longest }: Pick<Pulls, "forces" | "longest">,
): Place[] {
  const factor = LONGEST / Math.max(longest, 1);
  return places(arrangement).map(([x, y], i) => [x + all[i][0] * factor, y + all[i][1] * factor]);
}

/** One step of gradient descent; no point moves farther than FARTHEST. */
export function takeStep(
  arrangement: Arrangement,
  { forces: all, longest }: Pick<Pulls, "forces" | "longest">,
  rate: number,
): Arrangement {
  const factor = Math.min(rate, FARTHEST / Math.max(longest, 1e-9));
  return places(arrangement).reduce(
    (now, [x, y], i) => move(now, i, [x + all[i][0] * factor, y + all[i][1] * factor]),
    arrangement,
  );
}

/** Places for the ground: `count` × `count` from the top left, each in the middle of its cell. */
export function grid(count: number): Place[] {
  const cell = (2 * EXTENT) / count;
  return Array.from({ length: count * count }, (_, i) => [
    ((i % count) + 0.5) * cell - EXTENT,
    EXTENT - (Math.floor(i / count) + 0.5) * cell,
  ]);
}

/** The same around the circle, counter-clockwise from the right. */
export const ring = (count: number): Place[] =>
  Array.from({ length: count }, (_, i): Place => {
    const angle = (2 * Math.PI * i) / count;
    return [Math.cos(angle), Math.sin(angle)];
  });

/** A square of values (row after row) `by` times as fine, linear between the cells; null where one is no number. */
export function refine(values: (number | null)[], by: number): (number | null)[] {
  const count = Math.sqrt(values.length);
  const fine = count * by;
  const between = Array.from({ length: fine }, (_, i) => {
    const at = Math.max(0, Math.min(count - 1, (i + 0.5) / by - 0.5));
    const from = Math.min(count - 2, Math.floor(at));
    return [from, at - from];
  });
  return between.flatMap(([row, down]) =>
    between.map(([column, right]) => {
      const at = row * count + column;
      const [a, b, c, d] = [values[at], values[at + 1], values[at + count], values[at + count + 1]];
      if (a === null || b === null || c === null || d === null) return null;
      const [top, base] = [a + (b - a) * right, c + (d - c) * right];
      return top + (base - top) * down;
    }),
  );
}

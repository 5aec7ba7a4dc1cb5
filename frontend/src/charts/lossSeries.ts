// The loss over the steps, thinned to what a line of a few hundred pixels can show. Pure: no DOM.

import { maxOf, minOf } from "../lib/extent.ts";
import { counted } from "../lib/format.ts";
import type { StreamEvent } from "../lib/eventStream.ts";

export interface LossPoint {
  step: number;
  loss: number;
}

export interface LossSeries {
  /** Total number of steps. */
  total: number | null;
  points: LossPoint[];
  /** The loss on the fixed tuples of validation images, at the snapshots; empty where there are none. */
  validation: LossPoint[];
  /** The compared tuples, as in "600 fixed triplets"; empty without any. */
  compared: string;
  /** The steps that have a frame. */
  frames: number[];
  over: boolean;
  /** Over all steps so far: their number, loss terms for each image, seconds for each image; 0 where not known. */
  steps: number;
  terms: number;
  seconds: number;
}

export const emptySeries = (): LossSeries => ({
  total: null,
  points: [],
  validation: [],
  compared: "",
  frames: [],
  over: false,
  steps: 0,
  terms: 0,
  seconds: 0,
});

/** Take one event in, in place; says whether anything shown may have changed. */
export function addLoss(losses: LossSeries, event: StreamEvent): boolean {
  switch (event.event) {
    case "started":
      Object.assign(losses, emptySeries());
      if (!("steps" in event)) return true;
      losses.total = event.steps;
      losses.compared = event.validation_tuples
        ? counted(event.validation_tuples, `fixed ${(event.tuple_kind ?? "triplets").slice(0, -1)}`)
        : "";
      return true;
    case "step":
      if (event.loss === null) return false;
      losses.points.push({ step: event.step, loss: event.loss });
      losses.steps += 1;
      losses.terms += event.terms_per_image ?? 0;
      losses.seconds += event.images_per_second ? 1 / event.images_per_second : 0;
      return true;
    case "snapshot":
      losses.frames.push(event.step);
      addValidation(losses, event);
      return true;
    case "replay":
      losses.frames = event.frames.map(({ step }) => step);
      return true;
    case "finished":
    case "stopped":
      if ("metrics" in event) addValidation(losses, event);
      losses.over = true;
      return true;
    case "failed":
      losses.over = true;
      return true;
    default:
      return false;
  }
}

function addValidation({ validation }: LossSeries, event: { step?: number | null; validation_loss?: number | null }) {
  const { step, validation_loss: loss } = event;
  if (typeof step === "number" && typeof loss === "number") validation.push({ step, loss });
}

/** Mean cost of an image over the run: the number of its loss terms, and the images trained a second. */
export function costOf({ steps, terms, seconds }: LossSeries): {
  terms: number | null;
  imagesPerSecond: number | null;
} {
  return { terms: terms ? terms / steps : null, imagesPerSecond: seconds ? steps / seconds : null };
}

/** The last step of the axis: all that will come while the run is on, all that came when it is over. */
export function lastStep({ total, points, frames, over }: LossSeries): number {
  const end = Math.max(points.at(-1)?.step ?? 0, frames.at(-1) ?? 0, 1);
  return over ? end : Math.max(end, total ?? 0);
}

/** A running mean that forgets over `span` points, without the pull towards 0 at the start. */
export function movingAverage(points: LossPoint[], span = Math.max(1, points.length / 40)): LossPoint[] {
  const keep = 1 - 1 / Math.max(1, span);
  let mean = 0;
  let weight = 0;
  return points.map(({ step, loss }) => {
    mean = keep * mean + (1 - keep) * loss;
    weight = keep * weight + (1 - keep);
    return { step, loss: weight ? mean / weight : loss };
  });
}

/** Lowest and highest loss to draw: a few wild batches may leave the picture, the mean and `validation` may not. */
export function rangeOf(points: LossPoint[], validation: LossPoint[] = []): [number, number] {
  if (!points.length) return [0, 1];
  const sorted = points.map(({ loss }) => loss).sort((a, b) => a - b);
  const mean = [...movingAverage(points), ...validation].map(({ loss }) => loss);
  const low = minOf(mean, sorted[Math.floor(0.01 * (sorted.length - 1))]);
  const high = maxOf(mean, sorted[Math.ceil(0.98 * (sorted.length - 1))]);
  return high > low ? [low, high] : [low - Math.abs(low || 1) * 0.1, high + Math.abs(high || 1) * 0.1];
}

/** At most `count` points: of each stretch its lowest and its highest, so that no spike is lost. */
export function downsample(points: LossPoint[], count = 400): LossPoint[] {
  if (points.length <= count) return points;
  const every = (2 * points.length) / count;
  const result: LossPoint[] = [];
  for (let from = 0; from < points.length; from += every) {
    const part = points.slice(Math.floor(from), Math.floor(from + every));
    let [low, high] = [part[0], part[0]];
    for (const point of part) {
      if (point.loss < low.loss) low = point;
      if (point.loss > high.loss) high = point;
    }
    if (low.step > high.step) [low, high] = [high, low];
    result.push(low);
    if (low !== high) result.push(high);
  }
  return result;
}

/** Two or three round numbers inside [low, high]. */
export function ticks(low: number, high: number): number[] {
  const rough = (high - low) / 2.5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough) ?? 10 * power;
  const first = Math.ceil(low / step) * step;
  const digits = Math.max(0, -Math.floor(Math.log10(step)));
  const found: number[] = [];
  for (let tick = first; tick <= high + step * 1e-9; tick += step)
    found.push(Number(tick.toFixed(Math.min(digits, 12))));
  return found;
}

/** The step of the frame `by` frames after `step` (before it where negative), or of the nearest one with by = 0. */
export function frameStep({ frames }: Pick<LossSeries, "frames">, step: number, by = 0): number | null {
  const last = frames.at(-1);
  if (last === undefined) return null;
  const later = frames.findIndex((candidate) => candidate > step);
  if (by > 0) return later < 0 ? last : frames[Math.min(frames.length - 1, later + by - 1)];
  if (by < 0) return frames[Math.max(0, frames.findLastIndex((candidate) => candidate < step) + by + 1)];
  return frames.reduce((best, candidate) => (Math.abs(candidate - step) < Math.abs(best - step) ? candidate : best));
}

/** The point nearest to a step. */
export function pointAt(points: LossPoint[], step: number): LossPoint | null {
  let best: LossPoint | null = null;
  for (const point of points) if (!best || Math.abs(point.step - step) < Math.abs(best.step - step)) best = point;
  return best;
}

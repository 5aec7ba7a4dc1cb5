// A sampled curve of a loss, read between its samples. Pure: no DOM.
import type { CurveSide, LossCurve } from "../../protocol.ts";

export interface Reading {
  value: number;
  slope: number;
}

/** Loss and slope of one side at `x`, between the two samples around it; NaN where there is no number. */
export function readAt({ x: xs }: Pick<LossCurve, "x">, side: CurveSide, x: number): Reading {
  const last = xs.length - 1;
  const right = Math.max(
    1,
    xs.findIndex((sample) => sample >= x),
  );
  const to = x >= xs[last] ? last : right;
  const from = to - 1;
  const share = Math.max(0, Math.min(1, (x - xs[from]) / (xs[to] - xs[from])));
  const between = (values: (number | null)[]) => (values[from] ?? NaN) * (1 - share) + (values[to] ?? NaN) * share;
  return { value: between(side.loss), slope: between(side.slope) };
}

/** The samples of one side as points, without those that are no number. */
export const pointsOf = ({ x }: Pick<LossCurve, "x">, values: (number | null)[]): [number, number][] =>
  x.flatMap((at, i): [number, number][] => {
    const value = values[i];
    return value === null ? [] : [[at, value]];
  });

const OUTLIERS = 0.02; // share of the slopes at either end that may leave the picture
const FAR_OUT = 2; // how many times the range of the other slopes they must span for that

/** Lowest and highest slope to draw, 0 included. A short steep piece is cut off: it would press all others to a line. */
export function slopeRange(slopes: number[]): { low: number; high: number; cut: boolean } {
  const sorted = [...slopes].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.round(share * (sorted.length - 1))] ?? 0;
  const all = { low: Math.min(0, at(0)), high: Math.max(0, at(1)) };
  const most = { low: Math.min(0, at(OUTLIERS)), high: Math.max(0, at(1 - OUTLIERS)) };
  const width = most.high - most.low;
  const cut = width > 0 && all.high - all.low > FAR_OUT * width;
  return { ...(cut ? most : all), cut };
}

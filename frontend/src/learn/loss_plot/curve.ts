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

// A sampled curve of a loss as a drawing: the loss above, its slope below, over one axis.
import { maxOf, minOf } from "../../lib/extent.ts";
import { ticks } from "../../charts/lossSeries.ts";
import { pathOf, scale, setAttributes, svg } from "../../charts/svg.ts";
import type { CurveAxis, CurveSide, LossCurve } from "../../protocol.ts";
import { formatNumber } from "../../widgets/paramControls.tsx";

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

const EDGE = { left: 44, right: 12, top: 8, bottom: 22 };
const NAME_WIDTH = 240; // pixels, of the longest
const SLOPES = 0.3; // share of the height that the slopes have
const DEGREES = [0, 45, 90, 135, 180];

type Scale = (value: number) => number;

/** Position of a pointer along the axis, 0 to 1. */
export function shareAt(chart: Element, clientX: number): number {
  const box = chart.getBoundingClientRect();
  return Math.max(0, Math.min(1, (clientX - box.left - EDGE.left) / (box.width - EDGE.left - EDGE.right)));
}

/** Draw the curve, with a line at `here`. */
export function drawCurve(chart: SVGSVGElement, curve: LossCurve, here: number): void {
  const width = Math.max(240, chart.clientWidth);
  const height = Math.max(180, chart.clientHeight);
  const x = scale(curve.low, curve.high, EDGE.left, width - EDGE.right);
  const split = height - EDGE.bottom - (height - EDGE.bottom) * SLOPES;
  const across = { y1: EDGE.top, y2: height - EDGE.bottom };
  setAttributes(chart, { viewBox: `0 0 ${width} ${height}` });
  chart.replaceChildren(
    ...bottom(curve, x, width, height),
    ...panel(curve, "loss", x, [EDGE.top, split - 14], width),
    ...panel(curve, "slope", x, [split + 6, height - EDGE.bottom], width),
    ...curve.marks.flatMap((mark) => [
      svg("line", { class: "limit", x1: x(mark.x), x2: x(mark.x), ...across }),
      svg("text", { x: x(mark.x) + 4, y: EDGE.top + 10 }, mark.label),
    ]),
    svg("line", { class: "probe", x1: x(here), x2: x(here), ...across }),
  );
}

/** A value of the axis as a person reads it. */
export const axisValue = (axis: CurveAxis, value: number): string => `${formatNumber(value / axis.unit)}${axis.suffix}`;

function bottom({ axis, low, high }: LossCurve, x: Scale, width: number, height: number): SVGElement[] {
  const y = height - EDGE.bottom + 12;
  const marks = axis.suffix ? DEGREES : [...ticks(low, high), ...(low === 0 ? [0] : [])];
  return [
    ...marks
      .map((mark) => mark * axis.unit)
      .map((at) => svg("text", { x: x(at), y, "text-anchor": "middle" }, axisValue(axis, at))),
    svg("text", { x: width - EDGE.right, y: height - 1, "text-anchor": "end" }, axis.title),
  ];
}

function panel(
  curve: LossCurve,
  key: "loss" | "slope",
  x: Scale,
  [top, base]: [number, number],
  width: number,
): SVGElement[] {
  const [near, far] = [pointsOf(curve, curve.near[key]), pointsOf(curve, curve.far[key])];
  const values = [...near, ...far].map(([, value]) => value);
  const whole = { low: minOf(values, 0), high: maxOf(values, 1e-6), cut: false };
  const { low, high, cut } = key === "slope" ? slopeRange(values) : whole;
  const y = scale(low, Math.max(1e-6, high), base, top);
  const clip = `${key}-clip`;
  const line = (points: [number, number][], kind: string) =>
    svg("path", {
      class: kind,
      d: pathOf(points.map(([at, value]) => [x(at), y(value)])),
      "clip-path": cut ? `url(#${clip})` : null,
    });
  const across = (at: number, kind: string) =>
    svg("line", { class: kind, x1: EDGE.left, x2: width - EDGE.right, y1: y(at), y2: y(at) });
  const cutNote = cut ? " (steepest 2% cut off)" : "";
  const title = key === "loss" ? "Loss" : `Slope: above 0 pulls, below 0 pushes${cutNote}`;
  const beside = [...near, ...far].filter(([at]) => x(at) < EDGE.left + NAME_WIDTH).map(([, value]) => y(value));
  const gaps = (at: number) => beside.map((height) => -Math.abs(height - at + 4));
  const room = (at: number) => -maxOf(gaps(at), -Infinity);
  const nameY = [top + 10, y(0) - 6, base - 3].reduce((best, at) => (room(at) > room(best) ? at : best));
  return [
    svg("clipPath", { id: clip }, svg("rect", { x: 0, y: top, width, height: base - top })),
    ...ticks(low, high).flatMap((tick) => [
      svg("text", { x: EDGE.left - 6, y: y(tick) + 3.5, "text-anchor": "end" }, formatNumber(tick)),
      across(tick, "grid"),
    ]),
    across(0, "zero"),
    svg("text", { class: "name", x: EDGE.left + 6, y: nameY }, title),
    line(far, "far"),
    line(near, "near"),
  ];
}

// The share of active terms over the steps, with a mark for each batch that was kept: a small chart to choose from.
import { downsample, movingAverage, type LossPoint } from "../charts/lossSeries.ts";
import { pathOf, scale } from "../charts/svg.ts";
import { pointerPlace, SLIDER_KEYS } from "../lib/dom.ts";
import { grouped } from "../lib/format.ts";
import { useSide } from "../lib/hooks.ts";

const HEIGHT = 34;
const PADDING = 6;

interface Props {
  step: number | null;
  steps: number[];
  /** The share of active terms of each batch, and of each step. */
  shares: Map<number, number>;
  points: LossPoint[];
  total: number;
  choose(this: void, step: number): void;
}

export function StepSlider({ step, steps, shares, points, total, choose }: Props) {
  const [chart, side] = useSide<SVGSVGElement>();
  const sorted = [...steps].sort((a, b) => a - b);
  const width = Math.max(120, side / devicePixelRatio);
  const x = scale(0, 1, PADDING, width - PADDING);
  const y = scale(0, 1, HEIGHT - 14, 3);
  // Dense at the start, kept batches would lie upon each other on a straight axis: the root spreads them evenly.
  const place = (of: number) => Math.sqrt(Math.max(0, of - 1) / Math.max(1, total - 1));
  const nearest = (event: MouseEvent) => {
    const share = (pointerPlace(event, chart.current!)[0] * width - PADDING) / (width - 2 * PADDING);
    const far = (of: number) => Math.abs(place(of) - share);
    return sorted.reduce((best, each) => (far(each) < far(best) ? each : best));
  };
  const course = downsample(movingAverage(points)).map((point) => [x(place(point.step)), y(point.loss)] as const);
  const now = step === null ? NaN : (shares.get(step) ?? NaN);
  return (
    <div class="active">
      <p>
        Batch of step <strong>{step === null ? "–" : grouped(step)}</strong> · active terms{" "}
        <strong>{Number.isFinite(now) ? `${Math.round(100 * now)}%` : "–"}</strong>
      </p>
      <svg
        ref={chart}
        height={HEIGHT}
        viewBox={`0 0 ${width} ${HEIGHT}`}
        tabindex={0}
        role="slider"
        aria-label="Recorded batch; arrow keys choose another"
        aria-valuenow={step ?? 0}
        aria-valuemin={sorted[0] ?? 0}
        aria-valuemax={sorted.at(-1) ?? 0}
        onClick={(event) => sorted.length && choose(nearest(event))}
        onKeyDown={(event) => {
          const by = SLIDER_KEYS[event.key];
          if (!by || !sorted.length) return;
          event.preventDefault();
          choose(sorted[Math.max(0, Math.min(sorted.length - 1, sorted.indexOf(step ?? -1) + by))]);
        }}
      >
        <path class="course" d={pathOf(course)} />
        {sorted.map((other) => {
          const at = x(place(other));
          const name = other === step ? "own" : "kept";
          const anchor = at < 24 ? "start" : at > width - 24 ? "end" : "middle";
          return [
            <line x1={at} x2={at} y1={2} y2={HEIGHT - 13} class={name} />,
            <text x={at} y={HEIGHT - 2} text-anchor={anchor} class={name} children={grouped(other)} />,
          ];
        })}
      </svg>
    </div>
  );
}

// Distances of test images of one class and of two classes, with the loss's margin and a threshold to drag.
import type { VNode } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { pathOf, scale } from "../charts/svg.ts";
import { SLIDER_KEYS } from "../lib/dom.ts";
import type { StreamEvent } from "../lib/eventStream.ts";
import { maxOf } from "../lib/extent.ts";
import { counted, digits as short, grouped, messageOf, percent } from "../lib/format.ts";
import { useSide } from "../lib/hooks.ts";
import { dataOf } from "../lib/panel.tsx";
import { fetchJson, ROUTES } from "../lib/server.ts";
import type { DistancesAnswer, ThresholdAnswer } from "../protocol.ts";
import { useFrame, useRun } from "../workbench/hooks.ts";
import { named, unpack } from "./batch.ts";
import { useJson } from "./useBatch.ts";
import type { DrawerProps } from "./useBatch.ts";

/** Pairs of one class and of two by distance, from 0 to `high`. */
export interface Histograms {
  same: number[];
  different: number[];
  high: number;
}

/** Share of `counts` (bins from 0 to `high`) that lie below `threshold`; within a bin in proportion. */
export function cumulative(counts: number[], high: number, threshold: number): number {
  const at = (threshold / high) * counts.length;
  let sum = 0;
  let total = 0;
  counts.forEach((count, bin) => {
    total += count;
    sum += count * Math.max(0, Math.min(1, at - bin));
  });
  return total ? sum / total : 0;
}

/** "Same class" is said below the threshold: pairs of two classes accepted, pairs of one class rejected, as shares. */
export function rates(
  { same, different, high }: Histograms,
  threshold: number,
): { accepted: number; rejected: number } {
  return { accepted: cumulative(different, high, threshold), rejected: 1 - cumulative(same, high, threshold) };
}

/** The threshold at which both errors are equally frequent. */
export function eerThreshold(histograms: Histograms): number {
  let [low, up] = [0, histograms.high];
  for (let i = 0; i < 40; i++) {
    const middle = (low + up) / 2;
    const { accepted, rejected } = rates(histograms, middle);
    if (accepted < rejected) low = middle;
    else up = middle;
  }
  return (low + up) / 2;
}

/** Bins put together, `by` at a time, as shares of the whole per unit of bin. */
export function rebin(counts: number[], by: number): number[] {
  const total = counts.reduce((sum, count) => sum + count, 0) || 1;
  return Array.from(
    { length: Math.ceil(counts.length / by) },
    (_, i) => counts.slice(i * by, (i + 1) * by).reduce((sum, count) => sum + count, 0) / total,
  );
}

/** Mean distance of the pairs counted. */
export function mean(counts: number[], high: number): number {
  let [sum, total] = [0, 0];
  counts.forEach((count, bin) => {
    sum += count * (bin + 0.5);
    total += count;
  });
  return total ? (sum / total / counts.length) * high : 0;
}

const HEIGHT = 200;
const PADDING = { left: 10, right: 10, top: 34, bottom: 30 };
const RULER_HEIGHT = 20; // where the margin is written, above the curves
const BINS = 4; // of the server's make one of the picture's
const DISTANCE_LABELS = {
  euclidean: "Euclidean distance",
  sqeuclidean: "squared Euclidean distance",
  cosine: "1 − cosine",
};

/** An answer with its histograms as numbers. */
type Shown = Omit<DistancesAnswer, "same" | "different"> & Histograms;
type Scale = (value: number) => number;

/** The steps with a snapshot. */
const nothing = () => ({ steps: [] as number[] });

function record(known: { steps: number[] }, event: StreamEvent): boolean {
  if (event.event === "started") known.steps = [];
  if (event.event === "snapshot") known.steps.push(event.step);
  if ((event.event === "finished" || event.event === "stopped") && event.step !== undefined)
    known.steps.push(event.step);
  return true;
}

const RATES = [0.1, 0.01, 0.001];

/** The threshold that is kept with a run: null for none; why there is none; a way to keep another. */
function useKeptThreshold(run: string, isAsked: boolean) {
  const [kept, setKept] = useState<ThresholdAnswer | null>(null);
  const [note, setNote] = useState("");
  const address = `${ROUTES}/runs/${run}/threshold`;
  const ask = async (question?: { rate: number | null }) => {
    setNote(question?.rate ? "Comparing the validation set …" : "");
    try {
      setKept(await fetchJson<ThresholdAnswer | null>(address, "The threshold", question));
      setNote("");
    } catch (error) {
      setNote(messageOf(error));
    }
  };
  useLayoutEffect(() => {
    setKept(null);
    if (isAsked) void ask();
  }, [run, isAsked]);
  return { kept, note, keep: (rate: number | null) => void ask({ rate }) };
}

/** `noun` is what one of the points is, where it is no test image. */
export function DistanceHistogram({ open, noun, theme: _, has_net, ...source }: DrawerProps) {
  const { run, begun } = source;
  const { kept, note, keep } = useKeptThreshold(run, open && Boolean(has_net));
  const [chart, side] = useSide<SVGSVGElement>();
  const known = useRun(source, nothing, record);
  const { step: moment } = useFrame(run);
  const answers = useJson<DistancesAnswer>(`${run} ${begun}`);
  const [own, setOwn] = useState<number | null>(null); // the threshold that a person chose
  const dragging = useRef(false);
  const last = useRef<DistancesAnswer | null>(null); // what is there stays until there is something else
  useLayoutEffect(() => setOwn(null), [known]);
  const shownOf = useRef(known);
  if (shownOf.current !== known) [last.current, shownOf.current] = [null, known];

  const { steps } = known;
  const target = moment ?? steps.at(-1);
  const isAsked = open && side > 0 && target !== undefined && steps.length > 0;
  const nearer = (best: number, each: number) => (Math.abs(each - target!) < Math.abs(best - target!) ? each : best);
  const answer = isAsked && answers.get(`${ROUTES}/runs/${run}/distances/${steps.reduce(nearer)}.json?${begun}`);
  if (answer && !("error" in answer)) last.current = answer;
  const shown = useMemo((): Shown | null => {
    const { current: now } = last;
    return now && { ...now, same: [...unpack(now.same, "<u4")], different: [...unpack(now.different, "<u4")] };
  }, [last.current]);
  const waiting = steps.length ? "Measuring distances …" : "Waiting for the first snapshot …";
  const isKept = kept !== null && kept.value !== null && shown?.step === steps.at(-1); // it is the final net's
  const threshold = shown && Math.min(shown.high, own ?? (isKept ? kept.value! : eerThreshold(shown)));
  const error = shown && threshold !== null && rates(shown, threshold);
  // Three, that of the line where a person has put it, and that which is kept.
  const offered = new Set([
    ...RATES,
    Number((own !== null && error ? error.accepted : 0).toPrecision(2)),
    kept?.rate ?? 0,
  ]);

  const at = (event: PointerEvent) => {
    const box = chart.current!.getBoundingClientRect();
    const share = (event.clientX - box.left - PADDING.left) / (box.width - PADDING.left - PADDING.right);
    return Math.max(0, Math.min(1, share)) * (shown?.high ?? 0);
  };
  const end = () => {
    dragging.current = false;
  };
  return (
    <div
      class="distances"
      {...dataOf({
        step: shown?.step,
        accepted: error && error.accepted.toFixed(4),
        rejected: error && error.rejected.toFixed(4),
      })}
    >
      <p class="sides">
        <i class="same" />
        same-class pairs
        <i class="different" />
        different-class pairs
      </p>
      <svg
        ref={chart}
        height={HEIGHT}
        style={{ visibility: shown ? "" : "hidden" }}
        viewBox={`0 0 ${widthOf(side)} ${HEIGHT}`}
        onPointerDown={(event) => {
          if (!shown || event.button !== 0) return;
          event.currentTarget.setPointerCapture(event.pointerId);
          dragging.current = true;
          setOwn(at(event));
        }}
        onPointerMove={(event) => dragging.current && setOwn(at(event))}
        onPointerUp={end}
        onPointerCancel={end}
        onDblClick={() => setOwn(null)}
      >
        {shown && threshold !== null && (
          <Curves
            {...{ shown, threshold }}
            interval={isKept ? kept.interval : null}
            width={widthOf(side)}
            onKeyDown={(event) => {
              const by = SLIDER_KEYS[event.key];
              if (!by) return;
              event.preventDefault();
              setOwn(Math.max(0, Math.min(shown.high, threshold + (by * shown.high) / 100)));
            }}
          />
        )}
      </svg>
      <p class="sentence">
        {error &&
          `At threshold ${short(threshold)}: ${percent(error.accepted)} of different-class pairs are accepted (FAR), ` +
            `${percent(error.rejected)} of same-class pairs are rejected (FRR)${own !== null ? ". Double-click to take it back." : isKept ? "." : ": the equal error rate. Drag the line to change it."}`}
      </p>
      {has_net && error && (
        <p class="keep">
          Keep a threshold for false accepts of
          {[...offered].filter(Boolean).map((rate) => (
            <button
              aria-pressed={kept?.rate === rate}
              onClick={() => {
                setOwn(null);
                keep(kept?.rate === rate ? null : rate);
              }}
              children={`${Number((100 * rate).toPrecision(2))}%`}
            />
          ))}
        </p>
      )}
      {has_net && <p class="note" role="status" children={note || kept?.sentence} />}
      <p class="note">{shown ? captionOf(shown, noun) : answer && "error" in answer ? answer.error : waiting}</p>
    </div>
  );
}

const widthOf = (side: number) => Math.max(200, side / devicePixelRatio);

function captionOf({ images, tracked, step }: Shown, noun?: string): string {
  const pairs = grouped((images * (images - 1)) / 2);
  const of = images === tracked ? "all" : `${grouped(images)} of the`;
  const what = noun ? `${noun}s` : `tracked test images after ${counted(step, "step")}`;
  return `${pairs} pairs of ${of} ${grouped(tracked)} ${what}. Each curve has the same area.`;
}

interface CurvesProps {
  shown: Shown;
  threshold: number;
  interval: readonly [number, number] | null;
  width: number;
  onKeyDown(this: void, event: KeyboardEvent): void;
}

function Curves({ shown, threshold, interval, width, onKeyDown }: CurvesProps) {
  const { high, measure, curved } = shown;
  const x = scale(0, high, PADDING.left, width - PADDING.right);
  const [same, different] = [shown.same, shown.different].map((counts) => rebin(counts, BINS));
  const y = scale(0, maxOf([...same, ...different]) || 1, HEIGHT - PADDING.bottom, PADDING.top);
  const area = (shares: number[]) => {
    const points = shares.map((share, i) => [x(((i + 0.5) / shares.length) * high), y(share)] as const);
    return `${pathOf([[x(0), y(0)], ...points, [x(high), y(0)]])}Z`;
  };
  return (
    <>
      {interval && (
        <rect
          class="interval"
          x={x(interval[0])}
          width={x(Math.min(high, interval[1])) - x(interval[0])}
          y={8}
          height={y(0) - 8}
        />
      )}
      <path class="different" d={area(different)} />
      <path class="same" d={area(same)} />
      <g class="marks">{margins(shown, x, y)}</g>
      <g class="axis">
        <line x1={x(0)} x2={x(high)} y1={y(0)} y2={y(0)} />
        {[0, 0.25, 0.5, 0.75, 1].map((share) => (
          <text
            x={x(share * high)}
            y={HEIGHT - 16}
            text-anchor={share === 0 ? "start" : share === 1 ? "end" : "middle"}
            children={String(Number((share * high).toPrecision(3)))}
          />
        ))}
        <text x={width / 2} y={HEIGHT - 3} text-anchor="middle" children={named(DISTANCE_LABELS[measure], curved)} />
      </g>
      <g
        tabindex={0}
        role="slider"
        aria-label="Threshold on the distance"
        aria-valuemin={0}
        aria-valuemax={high}
        aria-valuenow={Number(short(threshold))}
        aria-valuetext={short(threshold)}
        onKeyDown={onKeyDown}
      >
        <line class="threshold" x1={x(threshold)} x2={x(threshold)} y1={8} y2={y(0)} />
        <circle class="grip" r={6} cx={x(threshold)} cy={8} />
      </g>
    </>
  );
}

/** The distances beyond which the loss ignores pairs; for a loss without them its margin as a ruler. */
function margins({ thresholds, high, same }: Shown, x: Scale, y: Scale): (VNode | false)[] {
  const { positive_threshold: near, negative_threshold: far, margin: gap, is_hinge: sharp } = thresholds;
  const mark = (at: number, text: string, anchor: "start" | "end") => (
    <>
      <line x1={x(at)} x2={x(at)} y1={RULER_HEIGHT - 6} y2={y(0)} />
      <text x={x(at) + (anchor === "end" ? -4 : 4)} y={RULER_HEIGHT + 2} text-anchor={anchor} children={text} />
    </>
  );
  const isInside = (at: number | null): at is number => at !== null && at >= 0 && at <= high;
  if (near !== null && sharp) {
    return [
      isInside(near) && near > 0 && mark(near, `positives below ${short(near)}: no loss`, "end"),
      isInside(far) && mark(far, `negatives beyond ${short(far)}: no loss`, x(far) > x(high) * 0.6 ? "end" : "start"),
    ];
  }
  if (!sharp || !gap || gap > high) return [];
  const from = Math.min(mean(same, high), high - gap);
  const words = `margin ${short(gap)}: how much farther a negative must be than a positive`;
  return [
    <line x1={x(from)} x2={x(from + gap)} y1={RULER_HEIGHT} y2={RULER_HEIGHT} />,
    ...[from, from + gap].map((at) => <line x1={x(at)} x2={x(at)} y1={RULER_HEIGHT - 4} y2={RULER_HEIGHT + 4} />),
    <text x={x(from + gap) + 5} y={RULER_HEIGHT + 4} text-anchor="start" children={words} />,
  ];
}

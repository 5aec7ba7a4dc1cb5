// The loss over the steps; a mark stands at the step the map shows, and dragging it moves the map.
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import {
  addLoss,
  costOf,
  downsample,
  emptySeries,
  frameStep,
  lastStep,
  movingAverage,
  pointAt,
  rangeOf,
  ticks,
  type LossPoint,
  type LossSeries,
} from "../../charts/lossSeries.ts";
import { pathOf, scale } from "../../charts/svg.ts";
import { bus } from "../../lib/bus.ts";
import { SLIDER_KEYS } from "../../lib/dom.ts";
import { counted, grouped } from "../../lib/format.ts";
import { dataOf, panel, Term } from "../../lib/panel.tsx";
import type { Nouns, Source } from "../../protocol.ts";
import { useFrame, useRun } from "../hooks.ts";
import style from "./lossCurve.css";

const PADDING = { left: 38, right: 8, top: 6, bottom: 16 };

export default panel<Source & Nouns>(style, ({ run, begun, events_url, noun }) => {
  const losses = useRun({ run, begun, events_url }, emptySeries, addLoss);
  const { points, validation, frames, over } = losses;
  const { step } = useFrame(run);
  const [held, hold] = useState<number | null>(null); // where a drag holds the mark
  const [hover, setHover] = useState<number | null>(null);
  const [pointed, setPointed] = useState(false); // focus by pointer needs no ring
  const chart = useRef<SVGSVGElement>(null);
  const [{ width, height }, setSize] = useState({ width: 120, height: 60 });
  useLayoutEffect(() => {
    const watcher = new ResizeObserver(
      ([
        {
          contentRect: { width, height },
        },
      ]) => setSize({ width: Math.max(120, width), height: Math.max(60, height) }),
    );
    watcher.observe(chart.current!);
    return () => watcher.disconnect();
  }, []);
  const smooth = useMemo(() => movingAverage(points), [losses, points.length]);
  useLayoutEffect(() => {
    bus.emit("losses", { run, course: downsample(smooth).map(({ step, loss }) => ({ step, value: loss })) });
  }, [run, smooth]);

  const last = lastStep(losses);
  const [low, high] = rangeOf(points, validation);
  const x = scale(0, last, PADDING.left, width - PADDING.right);
  const y = scale(low, high, height - PADDING.bottom, PADDING.top);
  const ground = height - PADDING.bottom;
  const path = (of: LossPoint[]) => pathOf(of.map(({ step, loss }) => [x(step), y(loss)] as const));
  const current = held ?? step ?? (over ? last : (points.at(-1)?.step ?? 0));
  const read = held ?? hover ?? current;
  const at = pointAt(smooth, current);
  const ghost = hover !== null && held === null ? x(hover) : null;

  const seek = (step: number | null) => step !== null && bus.emit("seek", { run, step });
  const stepAt = ({ clientX, currentTarget }: PointerEvent) => {
    const box = (currentTarget as Element).getBoundingClientRect();
    const share = (clientX - box.left - PADDING.left) / (box.width - PADDING.left - PADDING.right);
    return Math.max(0, Math.min(1, share)) * last;
  };
  // While it is dragged the mark is where the pointer is, and the map between two frames where need be.
  const drag = (step: number) => {
    const to = Math.min(frames.at(-1) ?? step, Math.max(frames[0] ?? step, step));
    hold(to);
    bus.emit("seek", { run, step: to, scrub: true });
  };
  const drop = () => {
    if (held !== null) seek(frameStep(losses, held));
    hold(null);
  };
  return (
    <section
      class="loss-curve"
      hidden={over && !points.length} // no loss was recorded
      {...dataOf({ ready: true, run, step: Math.round(current), points: points.length, held: held !== null })}
      data-pointed={pointed ? "" : undefined}
    >
      <Readout point={pointAt(smooth, read)} {...{ losses, noun }} />
      <svg
        ref={chart}
        viewBox={`0 0 ${width} ${height}`}
        tabindex={0}
        role="slider"
        aria-label="Loss over the steps; arrow keys move the map through its frames, space plays"
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={Math.round(current)}
        onPointerDown={(event) => {
          if (event.button !== 0 || !frames.length) return;
          event.currentTarget.setPointerCapture(event.pointerId);
          setPointed(true);
          drag(stepAt(event));
        }}
        onPointerMove={(event) => {
          setHover(stepAt(event));
          if (held !== null) drag(stepAt(event));
        }}
        onPointerUp={drop}
        onPointerCancel={drop}
        onPointerLeave={() => setHover(null)}
        onKeyDown={(event) => {
          setPointed(false);
          const by = SLIDER_KEYS[event.key];
          if (by === undefined && event.key !== " ") return;
          event.preventDefault();
          event.stopPropagation();
          if (event.key === " ") bus.emit("play", { run });
          else seek(frameStep(losses, step ?? last, by));
        }}
      >
        <clipPath id="inside">
          <rect x={PADDING.left} y={0} width={width - PADDING.left - PADDING.right} height={ground} />
        </clipPath>
        <g class="grid">
          {(points.length ? ticks(low, high) : []).map((tick) => [
            <line x1={PADDING.left} x2={width - PADDING.right} y1={y(tick)} y2={y(tick)} />,
            <text x={PADDING.left - 5} y={y(tick) + 3.5} text-anchor="end" children={String(tick)} />,
          ])}
          <text x={PADDING.left} y={height - 3} children="0" />
          <text x={width - PADDING.right} y={height - 3} text-anchor="end" children={counted(last, "step")} />
        </g>
        <path class="frames" d={frames.map((step) => `M${x(step).toFixed(1)} ${ground - 3}v3`).join("")} />
        <g clip-path="url(#inside)">
          <path class="raw" d={path(downsample(points))} />
          <path class="mean" d={path(downsample(smooth))} />
          <path class="validation" d={path(validation)} />
        </g>
        {ghost !== null && <line class="ghost" x1={ghost} x2={ghost} y1={PADDING.top} y2={ground} />}
        <line class="mark" x1={x(current)} x2={x(current)} y1={PADDING.top - 4} y2={ground} />
        {frames.length > 0 && (
          <circle
            class="knob"
            r={4.5}
            cx={x(current)}
            cy={at ? Math.min(ground, Math.max(PADDING.top, y(at.loss))) : ground}
          />
        )}
      </svg>
      <Caption point={pointAt(validation, read)} compared={losses.compared} />
    </section>
  );
});

function Readout({ point, losses, noun = "image" }: { point: LossPoint | null; losses: LossSeries; noun?: string }) {
  if (!point) return <p>Loss </p>;
  const value = Math.abs(point.loss) >= 1000 ? point.loss.toExponential(2) : point.loss.toPrecision(3);
  return (
    <p>
      Loss <strong>{value}</strong>
      {` at step ${grouped(point.step)}, smoothed`}
      <Cost {...costOf(losses)} noun={noun} />
    </p>
  );
}

/** What online selection gains: many terms from the embeddings of one batch, at nearly the same speed. */
function Cost({ terms, imagesPerSecond, noun }: ReturnType<typeof costOf> & { noun: string }) {
  const number = terms && (terms < 100 ? Number(terms.toPrecision(3)) : grouped(Math.round(terms)));
  const speed = imagesPerSecond !== null && `${grouped(Math.round(imagesPerSecond))} ${noun}s/s`;
  return (
    <span
      class="cost"
      title={`Mean over the training: loss terms of a batch divided by its ${noun}s; ${noun}s trained on in a second`}
    >
      {terms !== null && (
        <Term term="terms-per-image">{`${number} ${terms === 1 ? "term" : "terms"} per ${noun}`}</Term>
      )}
      {terms !== null && speed && " · "}
      {speed}
    </span>
  );
}

/** The two lines are of other items and of other comparisons, so that their levels may differ. */
const Caption = ({ point, compared }: { point: LossPoint | null; compared: string }) => (
  <p
    class="caption"
    hidden={!point}
    title={`The loss of ${compared} of the validation set, which is in no batch: drawn at random once, the same at every snapshot and for every seed. No miner chooses among them, so compare the direction of the two lines rather than their height.`}
  >
    Dashed: validation loss <strong>{point?.loss.toPrecision(3)}</strong>
    {` of ${compared}`}
  </p>
);

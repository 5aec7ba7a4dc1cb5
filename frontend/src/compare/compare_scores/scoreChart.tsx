// A score of several runs over their steps; it is the player of their maps: drag the mark, or press play.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { frameStep, ticks } from "../../charts/lossSeries.ts";
import { pathOf, scale } from "../../charts/svg.ts";
import { bus } from "../../lib/bus.ts";
import { SLIDER_KEYS } from "../../lib/dom.ts";
import { maxOf, minOf } from "../../lib/extent.ts";
import { grouped } from "../../lib/format.ts";
import { classColors } from "../../lib/palette.ts";
import { dataOf, Icon } from "../../lib/panel.tsx";
import { css, readTheme } from "../../lib/theme.ts";
import type { CompareProps, Nouns } from "../../protocol.ts";
import { useFrame, useRun, type RunSource } from "../../workbench/hooks.ts";
import {
  captionAt,
  emptyScores,
  reduceScores,
  SCORES,
  scoresAt,
  type ScoreState,
} from "../../workbench/scores/scoreState.ts";

export const MOST = 6;
const NONE = { run: "" };
const LEFT = 30;
const BELOW = 16;
const PLAY = "M4.5 2.6v10.8L13.2 8Z";
const PAUSE = "M4 2.8h2.8v10.4H4ZM9.2 2.8H12v10.4H9.2Z";

/** The scores of a run so far. */
export const useReadings = (side: RunSource, noun?: string): ScoreState =>
  Object.assign(useRun(side, emptyScores, reduceScores), { noun });

/** The readings of several runs, how far each has come, and the frame of the one that leads their player. */
export function useRace(sides: CompareProps["sides"], noun?: string) {
  const readings = Array.from({ length: MOST }, (_, i) => useReadings(sides[i] ?? NONE, noun)).slice(0, sides.length);
  // One that has failed has fewer frames: the others lead.
  const reached = readings.map(({ final, series }) => final?.step ?? series.at(-1)?.step ?? -1);
  const lead = reached.indexOf(maxOf(reached));
  const { run } = sides[lead];
  return { readings, reached, lead, run, ...useFrame(run) };
}

export function ScoreChart({ sides, noun }: CompareProps & Nouns) {
  const place = useRef<SVGSVGElement>(null);
  const [{ width, height }, setSize] = useState({ width: 240, height: 120 });
  const [key, choose] = useState(SCORES[0].key);
  const { readings, reached, lead, run, step, playing } = useRace(sides, noun);
  const last = maxOf(
    readings.map(({ steps, series }) => steps ?? series.at(-1)?.step ?? 0),
    1,
  );
  const current = step ?? Math.max(0, reached[lead]);
  const frames = [...readings[lead].series, ...(readings[lead].final ? [readings[lead].final] : [])].map(
    ({ step }) => step,
  );
  const scores = readings.map((one) => scoresAt(one, step).find((score) => score.key === key)!);
  const values = scores.flatMap(({ course }) => course.map(({ value }) => value));
  const [low, high] = values.length ? [minOf(values), maxOf(values)] : [0, 1];
  const x = scale(0, last, LEFT, width - 6);
  const y = scale(low, high > low ? high : low + 1e-3, height - BELOW, 6);
  const colors = classColors(MOST, readTheme(place.current ?? document.body).dark).map((color) => css(color));
  const untrained = scores.find((score) => score.untrained !== null)?.untrained ?? null;

  useLayoutEffect(() => {
    const watcher = new ResizeObserver(([{ contentRect }]) =>
      setSize({ width: Math.max(120, contentRect.width), height: Math.max(60, contentRect.height) }),
    );
    watcher.observe(place.current!);
    return () => watcher.disconnect();
  }, []);
  const label = scores[0].label;
  const said = scores.map(({ value }) => (value === null ? "" : `${label} ${value.toFixed(3)}`));
  useLayoutEffect(
    () =>
      sides.forEach(({ run }, i) =>
        bus.emit("scored", {
          run,
          scores: said[i],
          note: captionAt(readings[i], step),
          sentence: said[i],
          course: scores[i].course,
        }),
      ),
    [said.join(), key],
  );

  const seek = (to: number | null, scrub = false) => to !== null && bus.emit("seek", { run, step: to, scrub });
  const nearest = (to: number, by = 0) => frameStep({ frames }, to, by);
  const stepAt = ({ clientX, currentTarget }: PointerEvent) => {
    const box = (currentTarget as Element).getBoundingClientRect();
    return Math.max(0, Math.min(1, (clientX - box.left - LEFT) / (box.width - LEFT - 6))) * last;
  };
  const order = sides.map((_, i) => i).sort((i, j) => (scores[j].value ?? -1) - (scores[i].value ?? -1));
  return (
    <section
      class="score-chart"
      aria-label="Scores of all runs"
      {...dataOf({ ready: true, run, step: current, runs: sides.length })}
    >
      <p>
        <button
          class="play"
          disabled={frames.length < 2}
          aria-label={playing ? "Pause all maps" : "Play all maps"}
          onClick={() => bus.emit("play", { run })}
          children={<Icon path={playing ? PAUSE : PLAY} filled />}
        />
        <select aria-label="Score" value={key} onChange={({ currentTarget }) => choose(currentTarget.value)}>
          {SCORES.filter(({ key }) => readings.some(({ series }) => series.some(({ metrics }) => key in metrics))).map(
            ({ key, label }) => (
              <option value={key}>{label}</option>
            ),
          )}
        </select>
        <span class="at">{`step ${grouped(Math.round(current))} of ${grouped(last)}`}</span>
      </p>
      <svg
        ref={place}
        viewBox={`0 0 ${width} ${height}`}
        tabindex={0}
        role="slider"
        aria-label="Step of all maps; arrow keys move through the frames, space plays"
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={Math.round(current)}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          seek(stepAt(event), true);
        }}
        onPointerMove={(event) => {
          if (event.currentTarget.hasPointerCapture(event.pointerId)) seek(stepAt(event), true);
        }}
        onPointerUp={(event) => seek(nearest(stepAt(event)))}
        onKeyDown={(event) => {
          const by = SLIDER_KEYS[event.key];
          if (by === undefined && event.key !== " ") return;
          event.preventDefault();
          event.stopPropagation();
          if (event.key === " ") bus.emit("play", { run });
          else seek(nearest(current, by));
        }}
      >
        <g class="grid">
          {(values.length ? ticks(low, high) : []).map((tick) => [
            <line x1={LEFT} x2={width - 6} y1={y(tick)} y2={y(tick)} />,
            <text x={LEFT - 4} y={y(tick) + 3.5} text-anchor="end" children={String(tick)} />,
          ])}
          <text x={LEFT} y={height - 3} children="0" />
          <text x={width - 6} y={height - 3} text-anchor="end" children={`${grouped(last)} steps`} />
        </g>
        {untrained !== null && <line class="untrained" x1={LEFT} x2={width - 6} y1={y(untrained)} y2={y(untrained)} />}
        {scores.map(({ course }, i) => (
          <path d={pathOf(course.map(({ step, value }) => [x(step), y(value)] as const))} stroke={colors[i]} />
        ))}
        <line class="mark" x1={x(current)} x2={x(current)} y1={4} y2={height - BELOW} />
      </svg>
      <ol>
        {order.map((i) => (
          <li style={{ "--chip": colors[i] }} title={captionAt(readings[i], step)}>
            {sides[i].title}
            <b>{scores[i].value?.toFixed(3) ?? "–"}</b>
          </li>
        ))}
        {untrained !== null && (
          <li class="quiet">
            Untrained, dashed<b>{untrained.toFixed(3)}</b>
          </li>
        )}
      </ol>
    </section>
  );
}

// One batch as the loss sees it: its picture, distances, comparisons, and one step in slow motion.
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { LossPoint } from "../charts/lossSeries.ts";
import type { StreamEvent } from "../lib/eventStream.ts";
import { digits } from "../lib/format.ts";
import { useSide } from "../lib/hooks.ts";
import { momentOf } from "../lib/neighbors.ts";
import { classColors } from "../lib/palette.ts";
import { dataOf } from "../lib/panel.tsx";
import { tileStyle } from "../lib/sprites.ts";
import { css } from "../lib/theme.ts";
import { useBus, useRun } from "../workbench/hooks.ts";
import { nameOf, named, type LoadedBatch } from "./batch.ts";
import { drawBatch, NEGATIVE_COLOR, POSITIVE_COLOR } from "./batchDrawing.ts";
import { BatchStage, type Point } from "./batchStage.ts";
import { ClassTree } from "./classTree.tsx";
import { ComparisonChoice } from "./comparisonChoice.ts";
import { DifficultyLegend } from "./difficultyLegend.tsx";
import { DIFFICULTIES, nearestLine, type Line } from "./difficultyLegend.tsx";
import { DistanceMatrix, shades, type Pair } from "./distanceMatrix.ts";
import {
  GRADIENT_MOMENT,
  meanDistances,
  MOMENT_MS,
  MOMENTS,
  momentText,
  UPDATE_MOMENT,
  visible,
} from "./stepAnimation.ts";
import { StepSlider } from "./stepSlider.tsx";
import { TermDetail } from "./termDetail.tsx";
import { batchAt, isOver, useBatch, type DrawerProps } from "./useBatch.ts";

const MEASURES = { euclidean: "Euclidean distance", sqeuclidean: "squared distance", cosine: "(1 − cosine)" };
const TILE_PX = 56;
const ARROWS: Record<string, number | undefined> = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

/** What a run's events say of its batches. */
const nothing = () => ({
  steps: [] as number[],
  /** The share of active terms of each batch, and of each step. */
  shares: new Map<number, number>(),
  points: [] as LossPoint[],
  total: 1,
  over: false,
  /** True once the server has sent all that the run has. */
  all: false,
});

function record(known: ReturnType<typeof nothing>, event: StreamEvent): boolean {
  if (event.event === "started" && "steps" in event) Object.assign(known, nothing(), { total: event.steps ?? 1 });
  if (event.event === "batch") {
    known.steps.push(event.step);
    known.shares.set(event.step, event.active ?? NaN);
  }
  if (event.event === "step" && event.active !== null) known.points.push({ step: event.step, loss: event.active });
  if (event.event === "stopped") known.total = event.step || known.total;
  known.all ||= event.event === "replay";
  known.over ||= isOver(event);
  return event.event !== "snapshot";
}

/** The moments of a step: chosen one by one, or played in slow motion. */
function usePlayer(isOpen: boolean, run: unknown) {
  const [{ moment, playing, since }, set] = useState(still(GRADIENT_MOMENT));
  const start = (moment: number, playing: boolean) => set({ moment, playing, since: performance.now() });
  const choose = (moment: number) => (moment === UPDATE_MOMENT ? start(moment, false) : set(still(moment)));
  const toggle = () => {
    if (playing) choose(moment);
    else start(moment >= GRADIENT_MOMENT ? 0 : moment, true);
  };
  useLayoutEffect(() => {
    if (!playing) return;
    const next = () => (moment === UPDATE_MOMENT ? set(still(moment)) : start(moment + 1, true));
    const timer = setTimeout(next, MOMENT_MS);
    return () => clearTimeout(timer);
  }, [playing, since]);
  useLayoutEffect(() => set(still(GRADIENT_MOMENT)), [run]);
  useLayoutEffect(() => void (isOpen || set(still(moment))), [isOpen]);
  return { moment, playing, choose, toggle, elapsed: () => (since === null ? Infinity : performance.now() - since) };
}

const still = (moment: number) => ({ moment, playing: false, since: null as number | null });

export function BatchView({ open, theme, ...source }: DrawerProps) {
  const { run } = source;
  const [root, side] = useSide<HTMLDivElement>();
  const body = useRef<HTMLDivElement>(null);
  const [picture, grid] = [useRef<HTMLCanvasElement>(null), useRef<HTMLCanvasElement>(null)];
  const lines = useRef<Line[]>([]);
  const [, setCount] = useState(0);
  const redraw = () => setCount((count) => count + 1);
  const known = useRun(source, nothing, record);
  const player = usePlayer(open, known);
  const [own, choose] = useState<number | null>(null); // a step that a person chose
  const [pointed, point] = useState<Pointed | null>(null);
  useLayoutEffect(() => choose(null), [known]);
  useBus("frame", ({ run: of, index, count }) => {
    if (of !== run) return;
    if (index < count - 1) choose(null);
    redraw();
  });
  const isShown = open && side > 0;
  const step = useRef<number | null>(null);
  if (!player.playing) step.current = own ?? batchAt(known.steps, momentOf(run));
  const { batch, error } = useBatch(source, isShown ? step.current : null, known.all, isShown);
  const waiting = known.over ? "No recorded batches for this run." : "Waiting for the first batch …";
  const message = error || (known.steps.length ? "" : waiting);

  const choice = useMemo(() => new ComparisonChoice(), []);
  const parts = useMemo(() => {
    choice.show(batch);
    point(null);
    if (!batch) return null;
    const distances = batch.space.matrix(batch.thresholds.measure);
    const matrix = new DistanceMatrix(batch, distances);
    return { stage: new BatchStage(batch), matrix, means: meanDistances(batch, distances) };
  }, [batch]);
  useMemo(() => choice.renew(), [batch?.terms]);
  const change = (act: () => void) => {
    act();
    redraw();
  };

  const { chosen } = choice;
  const shade = theme.dark ? "dark" : "light";
  const [positive, negative] = [POSITIVE_COLOR[shade], NEGATIVE_COLOR[shade]];
  const colors = useMemo(() => classColors(batch?.classes.length ?? 0, theme.dark), [batch, theme.dark]);
  useLayoutEffect(() => {
    if (!isShown || !batch || !parts || !picture.current || !grid.current) return;
    const look = visible(player.moment, theme.still ? Infinity : player.elapsed());
    const row = chosen === null ? null : batch.rows[chosen];
    const isClasses = batch.tuples.kind === "classes";
    const pair = pointed?.images.length === 2 ? (pointed.images as Pair) : null;
    const involved = [...(row ?? []).slice(0, isClasses ? 1 : 3), ...(pair ?? [])];
    const pixels = globalThis.devicePixelRatio || 1;
    const paint = { theme, colors, positive, negative, pixels, shown: choice.shown, of: choice.images, chosen };
    lines.current = drawBatch(picture.current, parts.stage, {
      ...paint,
      ...look,
      hover: pair ? null : (pointed?.images[0] ?? null),
      isSatisfied: (index) => choice.isSatisfied(index),
      involved: look.lines ? involved : (pair ?? []),
    });
    const marked: Pair | null = pair ?? (row && !isClasses ? [row[0], row[1]] : null);
    parts.matrix.render(grid.current, { ...paint, values: look.distances, marks: look.lines, pair: marked });
    if (look.gone === 1 || player.moment !== UPDATE_MOMENT) return;
    const frame = requestAnimationFrame(redraw);
    return () => cancelAnimationFrame(frame);
  });

  const detail = useMemo(() => {
    if (!batch || (chosen === null && batch.rows.length)) return null;
    return <TermDetail {...{ batch, positive, negative }} index={chosen ?? 0} />;
  }, [batch, batch?.terms, batch?.termsError, chosen, theme.dark]);
  const tree = useMemo(() => {
    const row = batch?.tuples.kind === "triplets" && chosen !== null ? batch.rows[chosen] : null;
    const labels = batch && row ? [batch.labels[row[0]], batch.labels[row[2]]] : [];
    return batch?.terms && <ClassTree tree={batch.terms.tree} names={batch.classes} {...{ colors, labels }} />;
  }, [batch, batch?.terms, chosen, colors]);
  const ramp = shades(theme)
    .map((color) => css(color))
    .join();
  const sentence = batch && parts ? momentText(batch, player.moment, parts.means) : "";
  const imageAt = (event: MouseEvent) => parts?.stage.imageAt(onPointer(event)) ?? null;
  const showPair = (event: PointerEvent) => {
    const images = parts?.matrix.pairAt(grid.current!, event);
    point(images ? { images, x: event.clientX, y: event.clientY } : null);
  };
  return (
    <div
      ref={root}
      class="batch"
      {...dataOf({ step: step.current ?? "", batch: batch?.step, chosen: batch && (chosen ?? "") })}
      {...dataOf({ moment: batch && player.moment, terms: batch && Boolean(batch.terms) })}
    >
      <StepSlider {...known} step={step.current} choose={choose} />
      <p class="message" hidden={!message}>
        {message}
      </p>
      <div ref={body} class="body" hidden={!batch}>
        <div class="top">
          <div class="pictures">
            <div class="box">
              <canvas
                ref={picture}
                class="stage"
                tabindex={0}
                role="application"
                aria-roledescription="drawing of a batch; arrow keys go from comparison to comparison"
                aria-label={sentence}
                onKeyDown={(event) => {
                  const by = ARROWS[event.key];
                  if (by === undefined && event.key !== "Escape") return;
                  event.preventDefault();
                  change(() => (by === undefined ? choice.pickImage(null) : choice.walk(by)));
                }}
                onPointerMove={(event) => {
                  const image = imageAt(event);
                  const isTarget = image !== null || nearestLine(lines.current, ...onPointer(event)) !== null;
                  event.currentTarget.style.cursor = isTarget ? "pointer" : "default";
                  if (image !== null) point({ images: [image], x: event.clientX, y: event.clientY });
                  else if (pointed) point(null);
                }}
                onPointerLeave={() => point(null)}
                onClick={(event) => {
                  const image = imageAt(event);
                  const line = image === null ? nearestLine(lines.current, ...onPointer(event)) : null;
                  change(() => (line === null ? choice.pickImage(image) : choice.pick(line)));
                }}
              />
            </div>
            <div class="box">
              <canvas
                ref={grid}
                class="matrix"
                tabindex={-1}
                role="img"
                onPointerMove={showPair}
                onPointerLeave={() => point(null)}
                onClick={(event) => {
                  const pair = parts?.matrix.pairAt(grid.current!, event);
                  if (pair) change(() => choice.pickPair(pair));
                }}
              />
              <p class="scale">
                0
                <i style={{ background: `linear-gradient(to right, ${ramp})` }} />
                <span>
                  {batch &&
                    parts &&
                    `${digits(parts.matrix.top)} ${named(MEASURES[batch.thresholds.measure], batch.curvature > 0)}`}
                </span>
              </p>
            </div>
          </div>
          <div class="words">
            <div class="player">
              <button class="play" onClick={player.toggle} children={player.playing ? "Pause" : "Slow motion"} />
            </div>
            <div class="moments" role="group" aria-label="Moments of one step">
              {MOMENTS.map((name, moment) => (
                <button aria-pressed={moment === player.moment} onClick={() => player.choose(moment)}>
                  {name}
                </button>
              ))}
            </div>
            <p class="sentence" aria-live="polite">
              {sentence}
            </p>
            {batch && (
              <DifficultyLegend
                {...{ batch, positive, negative, shown: choice.shown }}
                change={(shown) => change(() => (choice.shown = shown))}
              />
            )}
          </div>
        </div>
        <div class="term">{detail}</div>
        <div class="tree">{tree}</div>
        {batch && parts && pointed && (
          <Card {...{ batch, pointed, marks: parts.matrix.marks }} within={body.current!} />
        )}
      </div>
    </div>
  );
}

const onPointer = ({ clientX, clientY, currentTarget }: MouseEvent): Point => {
  const box = (currentTarget as Element).getBoundingClientRect();
  return [clientX - box.left, clientY - box.top];
};

/** One image or two, and where the pointer is. */
interface Pointed {
  images: number[];
  x: number;
  y: number;
}

/** A card at the pointer; `marks` are those of the distance matrix. */
function Card({ batch, pointed, marks, within }: CardProps) {
  const { images, x, y } = pointed;
  const node = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const { style, offsetWidth, offsetHeight } = node.current!;
    const box = within.getBoundingClientRect();
    const left = Math.max(0, Math.min(box.width - offsetWidth - 4, x - box.left + 14));
    style.transform = `translate(${left}px, ${Math.max(0, y - box.top - offsetHeight - 10)}px)`;
  });
  return (
    <div ref={node} class="card" aria-hidden="true">
      <div class="tiles">
        {images.map((image) => (
          <span class="tile" style={tileStyle(batch.sheet, image, TILE_PX)} />
        ))}
      </div>
      <span>{images.length === 1 ? aboutImage(batch, images[0]) : aboutPair(batch, images[0], images[1], marks)}</span>
    </div>
  );
}

interface CardProps {
  batch: LoadedBatch;
  pointed: Pointed;
  marks: Uint8Array;
  within: HTMLElement;
}

const aboutImage = (b: LoadedBatch, image: number): string =>
  `${b.classes[b.labels[image]]} · training ${b.noun} ${b.images[image]} · gradient ${digits(b.force[image], 2)}`;

function aboutPair(b: LoadedBatch, i: number, j: number, marks: Uint8Array): string {
  const kind = marks[i * b.n + j];
  const distance = digits(b.space.distance(i, j, b.thresholds.measure));
  const difficulty = kind ? ` · ${DIFFICULTIES[kind - 1]}` : "";
  return `${nameOf(b, i)} and ${nameOf(b, j)} · ${distance}${difficulty}`;
}

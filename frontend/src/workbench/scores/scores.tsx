// The scores of the shown step: value, change since the untrained net, course. Driven by the run's events alone.
import { pathOf, scale } from "../../charts/svg.ts";
import { heeding } from "../../lib/boundary.ts";
import { bus } from "../../lib/bus.ts";
import { maxOf, minOf } from "../../lib/extent.ts";
import { messageOf, signed } from "../../lib/format.ts";
import { useAnswer } from "../../lib/hooks.ts";
import { dataOf, panel, Term } from "../../lib/panel.tsx";
import { failingItems, fetchPerImage, isNear, isTestable } from "../../lib/perImage.ts";
import { fetchJson, ROUTES } from "../../lib/server.ts";
import type { Nouns, PictureInfo, Source } from "../../protocol.ts";
import { Details } from "../details.tsx";
import { useBus, useFrame, useRun } from "../hooks.ts";
import { pageStore, type ViewStore } from "../store.ts";
import {
  captionAt,
  emptyScores,
  isFinal,
  reasonAt,
  reduceScores,
  type Score,
  scoreInWords,
  SCORES,
  scoresAt,
  shortCaptionAt,
  stepAt,
} from "./scoreState.ts";
import style from "./scores.css";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

const WIDTH = 100;
const HEIGHT = 22;

const isKnown = (value: number | null): value is number => value !== null && Number.isFinite(value);

interface Props {
  score: Score;
  step: number | null;
  /** True while the images that fail it are selected. */
  active: boolean;
  /** Called by a click; scores that no single image can fail have none. */
  select: (() => unknown) | null;
}

/** A score at `step`. */
function ScoreTile({ score, step, active, select }: Props) {
  const { key, label, value, change, later, apart, absent, images } = score;
  const tile = { class: "score", "data-score": key, hidden: absent, title: describe(score, select !== null) };
  const parts = (
    <>
      <Term class="name" term={key} children={label} />
      <span class="value">{value !== null ? value.toFixed(3) : later ? "" : "–"}</span>
      <span
        class={`change ${change === null ? "" : change < 0 ? "down" : "up"}`}
        title={change === null ? "" : `compared with the untrained net, on the ${images}`}
        // At the end the score is of test images, and the change of others: it would not belong to the number beside it.
        hidden={apart.some(({ group }) => group === "validation")}
      >
        {later ? "after the training" : change === null ? "" : signed(change)}
      </span>
      <span class="apart" hidden={!apart.length}>
        {apart.map(({ group, value: own }) => (
          <span data-group={group}>{`${group} ${own.toFixed(3)} `}</span>
        ))}
      </span>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        {score.course.length > 1 && <Course {...score} step={step} />}
      </svg>
    </>
  );
  if (!select) return <div {...tile}>{parts}</div>;
  return <button {...tile} disabled={step === null} aria-pressed={active} onClick={select} children={parts} />;
}

function Course({ course, untrained, pixels, step }: Score & { step: number | null }) {
  const [first, last] = [course[0].step, course.at(-1)!.step];
  const values = [...course.map(({ value }) => value), ...[untrained, pixels].filter(isKnown)];
  const x = scale(first, last, 1, WIDTH - 1);
  const y = scale(minOf(values), maxOf(values), HEIGHT - 2, 2);
  const now = x(Math.min(Math.max(step ?? last, first), last));
  const mark = (name: string, value: number | null) =>
    isKnown(value) && <line class={name} x1={0} x2={WIDTH} y1={y(value)} y2={y(value)} />;
  return (
    <>
      {mark("base", untrained)}
      {mark("pixels", pixels)}
      <path class="course" d={pathOf(course.map(({ step: at, value }) => [x(at), y(value)]))} />
      <line class="mark" x1={now} x2={now} y1={0} y2={HEIGHT} />
    </>
  );
}

function describe({ title, untrained, pixels, images }: Score, isTestable: boolean): string {
  const marks = [
    ...(isKnown(untrained) ? [`untrained net ${untrained.toFixed(3)}`] : []),
    ...(isKnown(pixels) ? [`raw pixels ${pixels.toFixed(3)}`] : []),
  ];
  const references = marks.length ? ` On the ${images}: ${marks.join(", ")}.` : "";
  return `${title}.${references}${isTestable ? " Click to select the errors." : ""}`;
}

const HEADLINE = ["precision_at_1", "map_at_r"]; // shown in the full screen of the map
const ONE_ROW = 7; // tiles; where there are more and little room, two rows of equal length are drawn
const SETTLED_MS = 160; // on one frame until the images that fail there are looked up

type Scored = Source & Nouns & Pick<PictureInfo, "whole">;

export default panel<Scored, { store?: ViewStore }>(style, ({ host: { store = pageStore }, ...source }) => {
  const { run, begun, noun, whole } = source;
  const readings = useRun(source, emptyScores, reduceScores);
  // Before anything is learned there are the pixels themselves: measured once a data set, and on the same images.
  const baseline = readings.series.length ? `${ROUTES}/runs/${run}/baseline.json?v=${begun}` : null;
  const { found: pixels = null } = useAnswer(baseline, (url) => fetchJson<Record<string, number>>(url, "The pixels"));
  Object.assign(readings, { noun, pixels, whole });
  const { step, playing } = useFrame(run);
  const [note, setNote] = useState(""); // what came of a click, until the next
  const [active, setActive] = useState<string | null>(null); // the score whose failures are selected
  const reason = useRef<string | null>(null); // of that selection
  const asked = useRef<object | null>(null); // the newest question for it
  const [heed] = useState(heeding);
  useBus("selection", (selection) => {
    if (selection?.reason !== reason.current) setActive(null); // something else is selected now
  });
  useLayoutEffect(() => setActive(null), [run, begun]);
  useLayoutEffect(() => {
    setNote("");
    asked.current = null;
    const settling = setTimeout(() => active && !playing && heed(select(active, true)), SETTLED_MS);
    return () => clearTimeout(settling);
  }, [run, step, playing]);

  // Ask which items fail: seconds where there are many, so it begins with the pointer on its way to a score.
  const judge = (near = true) =>
    fetchPerImage(run, begun, isFinal(readings, step) ? null : stepAt(readings, step), near);

  /** Select the images that fail a score at the shown step, and say what that means; `follows`: the step is another one. */
  async function select(key: string, follows = false): Promise<void> {
    const own = (asked.current = {});
    setActive(key);
    if (!follows) setNote(`Finding the ${noun ?? "image"}s that fail …`);
    try {
      const { items, words } = failingItems(await judge(isNear(key)), key);
      if (asked.current !== own) return;
      reason.current = reasonAt(readings, step, words);
      bus.emit("select", { run, items, reason: reason.current, follows });
      setNote(items.length ? "" : `No ${SCORES.find((score) => score.key === key)?.label} errors at this step`);
    } catch (error) {
      setActive(null);
      setNote(messageOf(error));
    }
  }

  function choose(key: string): unknown {
    if (active !== key) return select(key);
    asked.current = null;
    setActive(null);
    setNote("");
    return bus.emit("select", { run, items: [], reason: null });
  }

  const scores = scoresAt(readings, step);
  const at = stepAt(readings, step);
  const words = scoreInWords(readings, step);
  const caption = note || captionAt(readings, step);
  useLayoutEffect(() => {
    const spoken = HEADLINE.flatMap((key) => scores.filter((score) => score.key === key && score.value !== null));
    const said = spoken.map(({ label, value }) => `${label} ${value?.toFixed(3)}`).join("  ");
    const [{ course }] = scores;
    const sentence = scoreInWords(readings, step, true);
    bus.emit("scored", { run, scores: said, note: shortCaptionAt(readings, step), sentence, course });
  });
  const many = scores.filter(({ absent }) => !absent).length > ONE_ROW;
  const data = { ready: true, run, step: at ?? "", readings: readings.series.length, active: active ?? "" };
  return (
    <section class="scores" aria-label="Scores" {...dataOf(data)}>
      <div class={many ? "row many" : "row"} onPointerEnter={() => void judge().catch(() => {})}>
        {scores.map((score) => (
          <ScoreTile
            score={score}
            step={at}
            active={score.key === active}
            select={isTestable(score.key) ? () => choose(score.key) : null}
          />
        ))}
      </div>
      <div class="said">
        <p class="words" role="status" hidden={!words} children={words} />
        <Details class="about unfolds" name="caption" store={store}>
          <summary title={caption}>{note || shortCaptionAt(readings, step)}</summary>
          <p>
            <span>{caption}</span>
          </p>
        </Details>
        <div class="foot">
          <Details class="all unfolds" name="scores" store={store}>
            <summary class="link">All scores</summary>
          </Details>
          <button
            class="link"
            title="Scores by class and confusion matrix"
            hidden={at === null}
            onClick={() => bus.emit("open-detail", { run, what: "classes" })}
          >
            By class
          </button>
          <span class="key" hidden={!pixels}>
            <i class="base" /> untrained <i class="pixels" /> pixels
          </span>
        </div>
      </div>
    </section>
  );
});

// One score: its value, how it changed, its course, and two marks to measure it by.
import { pathOf, scale } from "../../charts/svg.ts";
import { maxOf, minOf } from "../../lib/extent.ts";
import { signed } from "../../lib/format.ts";
import { Term } from "../../lib/panel.tsx";
import type { Score } from "./scoreState.ts";

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
export function ScoreTile({ score, step, active, select }: Props) {
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

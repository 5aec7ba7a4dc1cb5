// The three strokes with their counts; each can be left out.
import { grouped } from "../lib/format.ts";
import { Term } from "../lib/panel.tsx";
import { css, type Rgb } from "../lib/theme.ts";
import type { LoadedBatch } from "./batch.ts";
import { DIFFICULTIES, STROKES, type Shown } from "./difficultyStyles.ts";
import { difficultyLabels } from "./stepAnimation.ts";

const TERMS = ["easy", "semi-hard-negative", "hard-negative"];
const MEANINGS = {
  views: ["view of the same image", "of another image"],
  classes: ["own class", "other class"],
  pairs: ["same class", "different classes"],
};

/** The two ends of the lines, by color: a near and a far side. */
export function meaningsOf({ copy_of, tuples }: Pick<LoadedBatch, "copy_of" | "tuples">): string[] {
  if (copy_of) return MEANINGS.views;
  return tuples.kind === "classes" ? MEANINGS.classes : MEANINGS.pairs;
}

interface Props {
  batch: LoadedBatch;
  shown: Shown;
  positive: Rgb;
  negative: Rgb;
  change(this: void, shown: Shown): void;
}

export function DifficultyLegend({ batch, shown, positive, negative, change }: Props) {
  const meanings = difficultyLabels(batch);
  const [near, far] = meaningsOf(batch);
  const row = (k: number) => (
    <button aria-pressed={shown[k]} onClick={() => change(shown.map((on, i) => (i === k ? !on : on)))}>
      <svg viewBox="0 0 30 12" width={30} height={12} aria-hidden="true">
        <line
          {...{ x1: 1, x2: 29, y1: 6, y2: 6, stroke: "currentColor" }}
          stroke-width={STROKES[k].width + 0.4}
          stroke-dasharray={STROKES[k].dash.join(" ") || undefined}
        />
      </svg>
      {batch.tuples.kind === "triplets" ? ( // of pairs it is a distance
        <Term term={TERMS[k]} children={DIFFICULTIES[k]} />
      ) : (
        <span>{DIFFICULTIES[k]}</span>
      )}
      <b>{grouped(batch.tuples.counts[k])}</b>
      <small>{meanings[k]}</small>
    </button>
  );
  return (
    <div class="strokes">
      {[2, 1, 0].map(row)}
      <p class="sides">
        <i style={{ background: css(positive) }} />
        {near}
        <i style={{ background: css(negative) }} />
        {far}
      </p>
    </div>
  );
}

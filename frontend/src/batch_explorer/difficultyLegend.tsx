// The three strokes with their counts; each can be left out.
import { grouped } from "../lib/format.ts";
import { Term } from "../lib/panel.tsx";
import { css, type Rgb } from "../lib/theme.ts";
import type { LoadedBatch } from "./batch.ts";
import { difficultyLabels } from "./stepAnimation.ts";

export const DIFFICULTIES = ["easy", "semi-hard", "hard"] as const;
export const MAX_LINES = 140;

/** The kinds that are shown. */
export type Shown = boolean[];

/** The number of a comparison, and where its line begins and ends. */
export type Line = [number, number, number, number, number];

/** Width, dash and strength of each kind's line: they differ without color too. */
export const STROKES: { width: number; dash: number[]; alpha: number }[] = [
  { width: 0.8, dash: [1, 3], alpha: 0.45 },
  { width: 1.1, dash: [5, 3], alpha: 0.6 },
  { width: 1.9, dash: [], alpha: 0.8 },
];

/**
 * Indices of the comparisons to draw: those of the images in `of`, if any, and of the kinds in `shown`. At most `most`
 * are taken, evenly, so that each kind keeps its share.
 */
export function pickLines(
  {
    rows,
    hardness,
    tuples,
  }: Pick<LoadedBatch, "rows" | "hardness"> & { tuples: { kind: LoadedBatch["tuples"]["kind"] } },
  { shown = [true, true, true], of = [], most = MAX_LINES }: { shown?: Shown; of?: number[]; most?: number } = {},
): number[] {
  const images = tuples.kind === "classes" ? 1 : tuples.kind === "pairs" ? 2 : 3;
  const kinds: number[][] = [[], [], []];
  rows.forEach((row, i) => {
    if (!shown[hardness[i]]) return;
    // A triplet belongs to its anchor: its partners would drag in all the others.
    const own = images === 3 ? row.slice(0, 1) : row.slice(0, images);
    if (!of.length || own.some((image) => of.includes(image))) kinds[hardness[i]].push(i);
  });
  const total = kinds.reduce((sum, kind) => sum + kind.length, 0);
  return kinds.flatMap((kind) =>
    evenlySpaced(kind, Math.max(Math.min(kind.length, 8), Math.round((most * kind.length) / Math.max(1, total)))),
  );
}

function evenlySpaced(list: number[], count: number): number[] {
  if (list.length <= count) return list;
  return Array.from({ length: count }, (_, i) => list[Math.floor((i * list.length) / count)]);
}

/** The comparison nearest to a point: `lines` are [index, x0, y0, x1, y1]; null where none is within `reach`. */
export function nearestLine(lines: Line[], x: number, y: number, reach = 6): number | null {
  let best: number | null = null;
  let least = reach;
  for (const [index, x0, y0, x1, y1] of lines) {
    const [dx, dy] = [x1 - x0, y1 - y0];
    const along = Math.max(0, Math.min(1, ((x - x0) * dx + (y - y0) * dy) / (dx * dx + dy * dy || 1)));
    const far = Math.hypot(x - x0 - along * dx, y - y0 - along * dy);
    if (far < least) [least, best] = [far, index];
  }
  return best;
}

const TERMS = ["easy", "semi-hard-negative", "hard-negative"];
const MEANINGS = {
  views: ["view of the same one", "of another one"],
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

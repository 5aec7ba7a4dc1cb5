// All scores of several runs at the step that their maps show, a row each: the best of each score, and what ties with it.
import { useState } from "preact/hooks";
import { grouped } from "../../lib/format.ts";
import { classColors } from "../../lib/palette.ts";
import { dataOf, Term } from "../../lib/panel.tsx";
import { interval, leadersText, places, type Range, rangeText } from "../../lib/ranking.ts";
import { css } from "../../lib/theme.ts";
import type { CompareProps, Nouns } from "../../protocol.ts";
import { scoredOn, SCORES, scoresAt, stepAt } from "../../workbench/scores/scoreState.ts";
import { MOST, useRace } from "./scoreChart.tsx";

// Their intervals do not follow from the number of images: equal to three digits is a tie.
const WITHOUT_INTERVAL = ["nmi", "macro_precision_at_1", "macro_map_at_r"];
const NAMES = { title: "Run", step: "Step" };

type Cell = string | number | null;

function rangeOf(key: string, value: Cell, n: number | null): Range | null {
  if (typeof value !== "number") return null;
  const rounded = Number(value.toFixed(3));
  return n === null || WITHOUT_INTERVAL.includes(key) ? [rounded, rounded] : interval(value, n);
}

const compare = (a: Cell, b: Cell): number =>
  typeof a === "string" ? a.localeCompare(String(b)) : (a ?? -Infinity) - Number(b ?? -Infinity) || 0;

export function RaceTable({ sides, noun, dark }: CompareProps & Nouns & { dark: boolean }) {
  const { readings, step } = useRace(sides, noun);
  const [sorted, sort] = useState({ key: SCORES[0].key, down: true });
  const colors = classColors(MOST, dark).map((color) => css(color));
  const rows = sides.map(({ title }, i) => {
    const { n, words } = scoredOn(readings[i], step);
    const values: Record<string, Cell> = { title, step: stepAt(readings[i], step) };
    for (const { key, value } of scoresAt(readings[i], step)) values[key] = value;
    return { title, n, on: values.step === null ? "–" : words, values };
  });
  const measured = rows.filter(({ values }) => values.step !== null);
  if (!measured.length) return null;
  const isLike = measured.every(({ on }) => on === measured[0].on);
  const columns = SCORES.filter(({ key }) => rows.some(({ values }) => values[key] !== null)).map((score) => {
    const ranges = rows.map(({ values, n }) => rangeOf(score.key, values[score.key], n));
    return { ...score, ranges, places: isLike ? places(ranges) : [] };
  });
  const column = columns.find(({ key }) => key === sorted.key);
  const by = (i: number, j: number) => compare(rows[i].values[sorted.key], rows[j].values[sorted.key]);
  const order = rows.map((_, i) => i).sort((i, j) => (sorted.down ? by(j, i) : by(i, j)));
  const leaders = column ? order.filter((i) => column.places[i] === 1).map((i) => rows[i].title) : [];
  const head = (key: string, label: string) => (
    <th scope="col" aria-sort={sorted.key === key ? (sorted.down ? "descending" : "ascending") : undefined}>
      <button class="link" onClick={() => sort({ key, down: sorted.key === key ? !sorted.down : key !== "title" })}>
        {key in NAMES ? label : <Term term={key} children={label} />}
      </button>
    </th>
  );
  return (
    <section
      class="race compare-scores"
      aria-label="All scores of all runs"
      {...dataOf({ ready: true, sort: sorted.key })}
    >
      <div class="wide">
        <table class="scores">
          <thead>
            <tr>
              {head("title", NAMES.title)}
              {head("step", NAMES.step)}
              <th scope="col">Measured on</th>
              {columns.map(({ key, label }) => head(key, label))}
            </tr>
          </thead>
          <tbody>
            {order.map((i) => (
              <tr key={i}>
                <th scope="row" style={{ "--chip": colors[i] }} children={rows[i].title} />
                <td>{grouped(Number(rows[i].values.step))}</td>
                <td>{rows[i].on}</td>
                {columns.map(({ key, ranges, places }) => (
                  <td class={places[i] === 1 ? "best" : ""} title={ranges[i] ? rangeText(ranges[i]) : undefined}>
                    {ranges[i] ? Number(rows[i].values[key]).toFixed(3) : "–"}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="quiet" role="status">
        {column &&
          `By ${column.label} ${isLike ? leadersText(leaders, rows.length) : "none is called the best: the runs were measured on others."} `}
        Bold: the best of a column and what ties with it: values whose 95% intervals overlap, or of NMI and means over
        classes, which have none, alike to three digits. Each run is one training: another seed may give another order.
      </p>
    </section>
  );
}

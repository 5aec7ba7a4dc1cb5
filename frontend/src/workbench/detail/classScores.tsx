// Class by class: which class is taken for which, and the scores of each. A click selects the items meant.
import { bus } from "../../lib/bus.ts";
import { minOf } from "../../lib/extent.ts";
import { counted, grouped, ITEM, sentence } from "../../lib/format.ts";
import { classScores, failingItems, type ClassScore, type PerImage } from "../../lib/perImage.ts";
import type { DetailProps } from "../../protocol.ts";
import { Confusions } from "./confusionView.tsx";

const COLUMNS = [
  ["precision_at_1", "P@1"],
  ["recall_at_5", "R@5"],
  ["map_at_r", "MAP@R"],
  ["r_precision", "R-prec."],
  ["knn_accuracy", "kNN"],
] as const;
const MOST_ROWS = 50;

type Judged = DetailProps & { scores: PerImage; step: number | null };

/** Which items were judged, and when. */
export function whereOf({ scores, step, noun = ITEM }: Judged): string {
  const when = step === null ? "at the end" : step === 0 ? "before training" : `after ${counted(step, "step")}`;
  return `${counted(scores.n, noun)} (each against the others), ${when}`;
}

/** The view of a run at a step. */
export function ClassScores(judged: Judged) {
  const { run, scores, classes, noun = ITEM } = judged;
  const what = noun === ITEM ? "images" : `${noun}s`;
  const select = (items: number[], words: string) =>
    bus.emit("select", { run, items, reason: `${words}. Of ${whereOf(judged)}.` });
  const all = classScores(scores, classes.length);
  const lowest = Object.fromEntries(COLUMNS.map(([key]) => [key, minOf(all.map((row) => row[key]))]));
  const worstFirst = () => [...all].sort((a, b) => a.map_at_r - b.map_at_r || a.label - b.label);
  const rows = all.length > MOST_ROWS ? worstFirst().slice(0, MOST_ROWS) : all;
  const selectFailing = (row: ClassScore, key: string) => {
    const { items, words } = failingItems(scores, key);
    const own = new Set([...scores.items].filter((_, i) => scores.labels[i] === row.label));
    select(
      items.filter((item) => own.has(item)),
      `Class ${classes[row.label]}. ${words}`,
    );
  };
  return (
    <div class="classes">
      <Confusions {...{ scores, classes, select }} items={what} />
      <table class="scores">
        {rows.length < all.length && (
          <caption class="quiet">{`The ${MOST_ROWS} classes with the lowest MAP@R, of ${grouped(all.length)}.`}</caption>
        )}
        <tr>
          {["Class", sentence(what), ...COLUMNS.map(([, title]) => title)].map((title) => (
            <th>{title}</th>
          ))}
        </tr>
        {rows.map((row) => (
          <tr>
            <th>{classes[row.label]}</th>
            <td>{grouped(row.n)}</td>
            {COLUMNS.map(([key, title]) => (
              <td>
                <button
                  class={row[key] === lowest[key] && all.length > 1 ? "lowest" : ""}
                  title={`Select the ${what} of class ${classes[row.label]} that fail ${title}`}
                  onClick={() => selectFailing(row, key)}
                >
                  {row[key].toFixed(3)}
                </button>
              </td>
            ))}
          </tr>
        ))}
      </table>
    </div>
  );
}

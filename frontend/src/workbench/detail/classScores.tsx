// Class by class: which class is taken for which, and the scores of each. A click selects the items meant.
import { bus } from "../../lib/bus.ts";
import { maxOf, minOf } from "../../lib/extent.ts";
import { counted, grouped, ITEM, sentence } from "../../lib/format.ts";
import {
  type ClassScore,
  classScores,
  type Confusion,
  confusionsOf,
  failingItems,
  type PerImage,
  predictedAs,
} from "../../lib/perImage.ts";
import type { DetailProps } from "../../protocol.ts";

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

const MOST_IN_GRID = 40; // classes
const MOST_IN_LIST = 30; // pairs of classes

interface Props {
  scores: PerImage;
  classes: string[];
  /** The name of the points, as in "images". */
  items: string;
  /** Hears of those that a person asks for. */
  select: (items: number[], words: string) => void;
}

/** A figure of the confusions. */
function Confusions({ scores, classes, items, select }: Props) {
  const confusions = confusionsOf(scores);
  const used = [...new Set(confusions.flatMap(({ own, taken }) => [own, taken]))].sort((a, b) => a - b);
  const wrong = confusions.filter(({ own, taken }) => own !== taken);
  const show = ({ own, taken }: Confusion) => select(predictedAs(scores, own, taken), wordsOf(classes, own, taken));
  if (used.length > MOST_IN_GRID) return <List {...{ wrong, classes, items, show }} />;
  const counts = new Map(confusions.map(({ own, taken, count }) => [`${own}-${taken}`, count]));
  const worst = maxOf(
    wrong.map(({ count }) => count),
    1,
  );
  const cell = (own: number, taken: number) => {
    const count = counts.get(`${own}-${taken}`) ?? 0;
    const title = `${wordsOf(classes, own, taken)}: ${grouped(count)}`;
    const heat = own === taken ? 0 : (count / worst) ** 0.7;
    const names = [own === taken && "own", heat > 0.55 && "hot"];
    return (
      <button
        class={names.filter(Boolean).join(" ")}
        disabled={!count}
        title={title}
        aria-label={title}
        data-cell={`${own}-${taken}`}
        style={{ "--heat": `${Math.round(85 * heat)}%` }}
        onClick={() => show({ own, taken, count })}
      >
        {count ? grouped(count) : ""}
      </button>
    );
  };
  return (
    <figure class="confusion">
      <figcaption class="quiet">
        {`Rows: true class; columns: class of the nearest neighbor. Click a cell to select its ${items}.`}
      </figcaption>
      <div class="grid" style={{ "--classes": String(used.length) }}>
        <span />
        {used.map((own) => (
          <span class="name column" title={classes[own]} children={classes[own]} />
        ))}
        {used.map((own) => [
          <span class="name" title={classes[own]} children={classes[own]} />,
          ...used.map((taken) => cell(own, taken)),
        ])}
      </div>
    </figure>
  );
}

const wordsOf = (classes: string[], own: number, taken: number): string =>
  `Class ${classes[own]}, nearest neighbor ${own === taken ? "of the same class" : classes[taken]}`;

type ListProps = Pick<Props, "classes" | "items"> & { wrong: Confusion[]; show: (confusion: Confusion) => void };

function List({ wrong, classes, items, show }: ListProps) {
  const sorted = [...wrong].sort((a, b) => b.count - a.count || a.own - b.own || a.taken - b.taken);
  return (
    <figure class="confusion">
      <figcaption class="quiet">
        {`The most frequent of ${grouped(wrong.length)} confusions. Click a row to select its ${items}.`}
      </figcaption>
      <table>
        <tr>
          <th>Class</th>
          <th>Nearest neighbor</th>
          <th>{sentence(items)}</th>
        </tr>
        {sorted.slice(0, MOST_IN_LIST).map(({ own, taken, count }) => (
          <tr>
            <th>{classes[own]}</th>
            <th>{classes[taken]}</th>
            <td>
              <button
                title={wordsOf(classes, own, taken)}
                data-cell={`${own}-${taken}`}
                onClick={() => show({ own, taken, count })}
              >
                {grouped(count)}
              </button>
            </td>
          </tr>
        ))}
      </table>
    </figure>
  );
}

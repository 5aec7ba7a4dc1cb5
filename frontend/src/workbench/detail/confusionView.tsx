// Which class is taken for which: a grid of all classes, or for many classes a list of what happens most often.
import { maxOf } from "../../lib/extent.ts";
import { grouped, sentence } from "../../lib/format.ts";
import { confusionsOf, predictedAs, type Confusion, type PerImage } from "../../lib/perImage.ts";

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
export function Confusions({ scores, classes, items, select }: Props) {
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

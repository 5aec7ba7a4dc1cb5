// Which class is taken for which: a grid of all classes, or for many classes a list of what happens most often.
import { maxOf } from "../../lib/extent.ts";
import { h } from "../../lib/dom.ts";
import { grouped, sentence } from "../../lib/format.ts";
import { confusionsOf, predictedAs, type Confusion, type PerImage } from "../../lib/perImage.ts";

const MOST_IN_GRID = 40; // classes
const MOST_IN_LIST = 30; // pairs of classes

type Select = (items: number[], words: string) => void;

/** A figure of the confusions; `items` names the points, as in "images", and `select` hears of those that a person asks for. */
export function confusionView(scores: PerImage, classes: string[], items: string, select: Select): HTMLElement {
  const confusions = confusionsOf(scores);
  const used = [...new Set(confusions.flatMap(({ own, taken }) => [own, taken]))].sort((a, b) => a - b);
  const show = ({ own, taken }: Confusion) => select(predictedAs(scores, own, taken), wordsOf(classes, own, taken));
  return used.length > MOST_IN_GRID
    ? list(confusions, classes, items, show)
    : grid(confusions, used, classes, items, show);
}

const wordsOf = (classes: string[], own: number, taken: number): string =>
  own === taken
    ? `Class ${classes[own]}, nearest neighbor of the same class`
    : `Class ${classes[own]}, nearest neighbor ${classes[taken]}`;

function grid(
  confusions: Confusion[],
  used: number[],
  classes: string[],
  items: string,
  show: (confusion: Confusion) => void,
): HTMLElement {
  const counts = new Map(confusions.map(({ own, taken, count }) => [`${own}-${taken}`, count]));
  const worst = maxOf(
    confusions.map(({ own, taken, count }) => (own === taken ? 0 : count)),
    1,
  );
  const cells = h("div", "grid", h("span"), ...used.map((c) => headerOf(classes[c], "name column")));
  cells.style.setProperty("--classes", String(used.length));
  for (const own of used) cells.append(headerOf(classes[own]), ...used.map((taken) => cell(own, taken)));
  const caption = `Rows: true class; columns: class of the nearest neighbor. Click a cell to select its ${items}.`;
  return h("figure", "confusion", h("figcaption", "quiet", caption), cells);

  function cell(own: number, taken: number): HTMLElement {
    const count = counts.get(`${own}-${taken}`) ?? 0;
    const title = `${wordsOf(classes, own, taken)}: ${grouped(count)}`;
    const heat = own === taken ? 0 : (count / worst) ** 0.7;
    const button = h(
      "button",
      {
        type: "button",
        class: own === taken ? "own" : "",
        disabled: !count,
        title,
        "aria-label": title,
        "data-cell": `${own}-${taken}`,
        click: () => show({ own, taken, count }),
      },
      count ? grouped(count) : "",
    );
    button.style.setProperty("--heat", `${Math.round(85 * heat)}%`);
    button.classList.toggle("hot", heat > 0.55);
    return button;
  }
}

function list(
  confusions: Confusion[],
  classes: string[],
  items: string,
  show: (confusion: Confusion) => void,
): HTMLElement {
  const wrong = confusions.filter(({ own, taken }) => own !== taken);
  wrong.sort((a, b) => b.count - a.count || a.own - b.own || a.taken - b.taken);
  const caption = `The most frequent of ${grouped(wrong.length)} confusions. Click a row to select its ${items}.`;
  const rows = wrong.slice(0, MOST_IN_LIST).map((confusion) =>
    h(
      "tr",
      null,
      h("th", null, classes[confusion.own]),
      h("th", null, classes[confusion.taken]),
      h(
        "td",
        null,
        h(
          "button",
          {
            type: "button",
            title: wordsOf(classes, confusion.own, confusion.taken),
            "data-cell": `${confusion.own}-${confusion.taken}`,
            click: () => show(confusion),
          },
          grouped(confusion.count),
        ),
      ),
    ),
  );
  const head = h("tr", null, h("th", null, "Class"), h("th", null, "Nearest neighbor"), h("th", null, sentence(items)));
  return h("figure", "confusion", h("figcaption", "quiet", caption), h("table", null, head, ...rows));
}

const headerOf = (name: string, className = "name") => h("span", { class: className, title: name }, name);

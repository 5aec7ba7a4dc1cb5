// Class by class: which class is taken for which, and the scores of each. A click selects the items meant.
import { minOf } from "../../lib/extent.ts";
import { bus } from "../../lib/bus.ts";
import { h } from "../../lib/dom.ts";
import { counted, grouped, ITEM, sentence } from "../../lib/format.ts";
import { classScores, failingItems, fetchPerImage, type ClassScore, type PerImage } from "../../lib/perImage.ts";
import { confusionView } from "./confusionView.ts";
import type { DetailSource, DetailView } from "./detailView.ts";

const COLUMNS = [
  ["precision_at_1", "P@1"],
  ["recall_at_5", "R@5"],
  ["map_at_r", "MAP@R"],
  ["r_precision", "R-prec."],
  ["knn_accuracy", "kNN"],
] as const;
const MOST_ROWS = 50;

type Select = (items: number[], words: string) => void;

/** The view of a run at a step. */
export async function classScoresView({ run, begun, step, classes, noun = ITEM }: DetailSource): Promise<DetailView> {
  const scores = await fetchPerImage(run, begun, step);
  const when = step === null ? "at the end" : step === 0 ? "before training" : `after ${counted(step, "step")}`;
  const where = `${counted(scores.n, noun)} (each against the others), ${when}`;
  const items = noun === ITEM ? "images" : `${noun}s`;
  const select: Select = (items, words) => bus.emit("select", { run, items, reason: `${words}. Of ${where}.` });
  return {
    node: h("div", "classes", confusionView(scores, classes, items, select), table(scores, classes, items, select)),
    caption: `On ${where}`,
  };
}

function table(scores: PerImage, classes: string[], items: string, select: Select): HTMLElement {
  const all = classScores(scores, classes.length);
  const lowest = Object.fromEntries(COLUMNS.map(([key]) => [key, minOf(all.map((row) => row[key]))]));
  const worstFirst = () => [...all].sort((a, b) => a.map_at_r - b.map_at_r || a.label - b.label);
  const rows = all.length > MOST_ROWS ? worstFirst().slice(0, MOST_ROWS) : all;
  const head = h(
    "tr",
    null,
    h("th", null, "Class"),
    h("th", null, sentence(items)),
    ...COLUMNS.map(([, title]) => h("th", null, title)),
  );
  const caption = `The ${MOST_ROWS} classes with the lowest MAP@R, of ${grouped(all.length)}.`;
  return h(
    "table",
    "scores",
    rows.length < all.length ? h("caption", "quiet", caption) : null,
    head,
    ...rows.map((row) =>
      h(
        "tr",
        null,
        h("th", null, classes[row.label]),
        h("td", null, grouped(row.n)),
        ...COLUMNS.map(([key, title]) => scoreCell(row, key, title)),
      ),
    ),
  );

  function scoreCell(row: ClassScore, key: (typeof COLUMNS)[number][0], title: string): HTMLElement {
    const click = () => {
      const { items: failing, words } = failingItems(scores, key);
      const own = new Set([...scores.items].filter((_, i) => scores.labels[i] === row.label));
      select(
        failing.filter((item) => own.has(item)),
        `Class ${classes[row.label]}. ${words}`,
      );
    };
    return h(
      "td",
      null,
      h(
        "button",
        {
          type: "button",
          class: row[key] === lowest[key] && all.length > 1 ? "lowest" : "",
          click,
          title: `Select the ${items} of class ${classes[row.label]} that fail ${title}`,
        },
        row[key].toFixed(3),
      ),
    );
  }
}

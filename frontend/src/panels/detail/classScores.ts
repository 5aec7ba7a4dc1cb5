// Class by class: which class is taken for which, and the scores of each. A click selects the images meant.
import { bus } from "../../lib/bus.ts";
import { h } from "../../lib/dom.ts";
import { grouped } from "../../lib/format.ts";
import {
  classScores,
  confusionOf,
  failingItems,
  fetchPerImage,
  predictedAs,
  type ClassScore,
  type PerImage,
} from "../../lib/perImage.ts";
import type { DetailSource, DetailView } from "./detailView.ts";

const COLUMNS = [
  ["precision_at_1", "P@1"],
  ["recall_at_5", "R@5"],
  ["map_at_r", "MAP@R"],
  ["r_precision", "R-prec."],
  ["knn_accuracy", "kNN"],
] as const;

type Select = (items: number[], words: string) => void;

/** The view of a run at a step. */
export async function classScoresView({ run, events_url, begun, step, classes }: DetailSource): Promise<DetailView> {
  const judged = await fetchPerImage(events_url ?? "", begun, step);
  const when = step === null ? "at the end" : step === 0 ? "before training" : `after ${grouped(step)} steps`;
  const where = `${grouped(judged.n)} test images (each vs. the others), ${when}`;
  const select: Select = (items, words) => bus.emit("select", { run, items, reason: `${words}. Of ${where}.` });
  return {
    node: h("div", "classes", heatmap(judged, classes, select), table(judged, classes, select)),
    caption: `On ${where}`,
  };
}

function heatmap(judged: PerImage, classes: string[], select: Select): HTMLElement {
  const counts = confusionOf(judged, classes.length);
  const used = classes.map((_, c) => c).filter((c) => counts[c].some(Boolean) || counts.some((row) => row[c]));
  const worst = Math.max(1, ...used.flatMap((own) => used.map((taken) => (own === taken ? 0 : counts[own][taken]))));
  const grid = h("div", "grid", h("span"), ...used.map((c) => headerOf(classes[c], "name column")));
  grid.style.setProperty("--classes", String(used.length));
  for (const own of used) grid.append(headerOf(classes[own]), ...used.map((taken) => cell(own, taken)));
  const caption = "Rows: true class; columns: class of the nearest neighbor. Click a cell to select its images.";
  return h("figure", "confusion", h("figcaption", "quiet", caption), grid);

  function cell(own: number, taken: number): HTMLElement {
    const count = counts[own][taken];
    const words =
      own === taken
        ? `Class ${classes[own]}, nearest neighbor of the same class`
        : `Class ${classes[own]}, nearest neighbor ${classes[taken]}`;
    const title = `${words}: ${grouped(count)}`;
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
        click: () => select(predictedAs(judged, own, taken), words),
      },
      count ? grouped(count) : "",
    );
    button.style.setProperty("--heat", `${Math.round(85 * heat)}%`);
    button.classList.toggle("hot", heat > 0.55);
    return button;
  }
}

const headerOf = (name: string, className = "name") => h("span", { class: className, title: name }, name);

function table(judged: PerImage, classes: string[], select: Select): HTMLElement {
  const rows = classScores(judged, classes.length);
  const head = h(
    "tr",
    null,
    h("th", null, "Class"),
    h("th", null, "Images"),
    ...COLUMNS.map(([, title]) => h("th", null, title)),
  );
  return h(
    "table",
    "scores",
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
    const lowest = Math.min(...rows.map((other) => other[key]));
    const click = () => {
      const { items, words } = failingItems(judged, key);
      const own = new Set([...judged.items].filter((_, i) => judged.labels[i] === row.label));
      select(
        items.filter((item) => own.has(item)),
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
          class: row[key] === lowest && rows.length > 1 ? "lowest" : "",
          click,
          title: `Select the images of class ${classes[row.label]} that fail ${title}`,
        },
        row[key].toFixed(3),
      ),
    );
  }
}

// @ts-nocheck
// Class by class: which class is taken for which, and the scores of each. A click selects the images meant.
import { bus } from "../../lib/bus.ts";
import { classScores, confusionOf, failing, loadJudged, takenFor } from "../../lib/perImage.ts";

const COLUMNS = [
  ["precision_at_1", "P@1"], ["recall_at_5", "R@5"], ["map_at_r", "MAP@R"], ["r_precision", "R-prec."], ["knn_accuracy", "kNN"],
];
const make = (tag, className = "", text = "") => Object.assign(document.createElement(tag), { className, textContent: text });
const grouped = (n) => n.toLocaleString("en");

/** The view of a run at a step: {node, caption}. */
export async function classesView({ run, events_url, begun, step, classes }) {
  const judged = await loadJudged(events_url, begun, step);
  const where = `${grouped(judged.n)} test images among themselves, ${step === null ? "at the end" : step === 0 ? "before training" : `after ${grouped(step)} steps`}`;
  const select = (items, words) => bus.emit("select", { run, items, reason: `${words}. Of ${where}.` });
  const node = make("div", "classes");
  node.append(heatmap(judged, classes, select), table(judged, classes, select));
  return { node, caption: `On ${where}` };
}

function heatmap(judged, classes, select) {
  const counts = confusionOf(judged, classes.length);
  const used = classes.map((_, c) => c).filter((c) => counts[c].some(Boolean) || counts.some((row) => row[c]));
  const worst = Math.max(1, ...used.flatMap((own) => used.map((taken) => (own === taken ? 0 : counts[own][taken]))));
  const figure = make("figure", "confusion");
  const grid = make("div", "grid");
  grid.style.setProperty("--classes", used.length);
  grid.append(make("span"), ...used.map((c) => headerOf(classes[c], "name column")));
  for (const own of used) {
    grid.append(headerOf(classes[own]));
    for (const taken of used) grid.append(cell(own, taken));
  }
  figure.append(make("figcaption", "quiet", "Row: an image's class. Column: the class of its nearest neighbour. Click a cell to select its images."), grid);
  return figure;

  function cell(own, taken) {
    const count = counts[own][taken];
    const button = make("button", own === taken ? "own" : "", count ? grouped(count) : "");
    Object.assign(button, { type: "button", disabled: !count });
    const words = own === taken
      ? `Class ${classes[own]}, and so is their nearest neighbour`
      : `Class ${classes[own]}, but their nearest neighbour is ${classes[taken]}`;
    button.title = `${words}: ${grouped(count)}`;
    button.setAttribute("aria-label", button.title);
    const heat = own === taken ? 0 : (count / worst) ** 0.7;
    button.style.setProperty("--heat", `${Math.round(85 * heat)}%`);
    button.classList.toggle("hot", heat > 0.55);
    button.dataset.cell = `${own}-${taken}`;
    button.addEventListener("click", () => select(takenFor(judged, own, taken), words));
    return button;
  }
}

const headerOf = (name, className = "name") => {
  const head = make("span", className, name);
  head.title = name;
  return head;
};

function table(judged, classes, select) {
  const rows = classScores(judged, classes.length);
  const node = make("table", "scores");
  const head = make("tr");
  head.append(make("th", "", "Class"), make("th", "", "Images"), ...COLUMNS.map(([, title]) => make("th", "", title)));
  node.append(head);
  for (const row of rows) {
    const line = make("tr");
    line.append(make("th", "", classes[row.label]), make("td", "", grouped(row.n)));
    for (const [key, title] of COLUMNS) line.append(scoreCell(row, key, title));
    node.append(line);
  }
  return node;

  function scoreCell(row, key, title) {
    const lowest = Math.min(...rows.map((other) => other[key]));
    const cell = make("td");
    const button = make("button", row[key] === lowest && rows.length > 1 ? "lowest" : "", row[key].toFixed(3));
    button.type = "button";
    button.title = `Select the images of class ${classes[row.label]} that fail ${title}`;
    button.addEventListener("click", () => {
      const { items, words } = failing(judged, key);
      const own = new Set([...judged.items].filter((_, i) => judged.labels[i] === row.label));
      select(items.filter((item) => own.has(item)), `Class ${classes[row.label]}. ${words}`);
    });
    cell.append(button);
    return cell;
  }
}

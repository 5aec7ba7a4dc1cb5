// @ts-nocheck
// Small spaces side by side with their scores; the point under the pointer shows whom its scores come from.
import { set, svg } from "../../charts/svg.ts";
import { element } from "../../lib/element.ts";
import { classColours } from "../../lib/palette.ts";
import { css, readTheme } from "../../lib/theme.ts";
import { judged } from "./ranking.ts";
import style from "./mapAtRDemo.css";

const EXTENT = 1.1;
const RADIUS = 0.028;
const TITLES = { nmi: "NMI", pairwise_f1: "F1", precision_at_1: "R@1", map_at_r: "MAP@R" };
const HINT = "Point at an image: the nearest R of it are ringed, R being how many others are of its class; a wrong one is crossed out.";

export default function ({ parentElement, data }) {
  if (parentElement.querySelector(".spaces")) return;
  const root = element("section", "spaces");
  const said = element("p", "said", HINT);
  said.setAttribute("aria-live", "polite");
  const row = element("div", "row");
  row.append(...(data?.spaces ?? []).map((space) => new Space(space, said).root));
  root.append(row, said);
  root.dataset.ready = "true";
  const sheet = element("style", null, style);
  parentElement.append(sheet, root);
  return () => {
    sheet.remove();
    root.remove();
  };
}

class Space {
  constructor(space, said) {
    Object.assign(this, { space, said, query: null });
    this.root = element("figure");
    this.marks = svg("g", { class: "marks" });
    this.dots = space.points.map(([x, y]) => svg("circle", { cx: x, cy: -y, r: RADIUS }));
    this.chart = svg(
      "svg",
      { viewBox: `${-EXTENT} ${-EXTENT} ${2 * EXTENT} ${2 * EXTENT}`, tabindex: 0, role: "img",
        "aria-label": `${space.title}: ${space.points.length} images of 4 classes; arrow keys go from image to image` },
      ...this.dots,
      this.marks,
    );
    this.root.append(element("figcaption", "", space.title), this.chart, scores(space.scores));
    const watcher = new ResizeObserver(() => this.colour());
    watcher.observe(this.chart);
    this.chart.addEventListener("pointermove", (event) => this.ask(this.under(event)));
    this.chart.addEventListener("pointerleave", () => this.ask(null));
    this.chart.addEventListener("blur", () => this.ask(null));
    this.chart.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
      if (!by) return;
      event.preventDefault();
      const count = space.points.length;
      this.ask(((this.query ?? -1) + by + count) % count);
    });
  }

  colour() {
    const colours = classColours(4, readTheme(this.chart).dark);
    this.dots.forEach((dot, i) => set(dot, { fill: css(colours[this.space.classes[i]]) }));
  }

  under(event) {
    const box = this.chart.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width * 2 - 1) * EXTENT;
    const y = (1 - (event.clientY - box.top) / box.height * 2) * EXTENT;
    let [best, near] = [null, 0.12];
    this.space.points.forEach(([px, py], i) => {
      const d = Math.hypot(px - x, py - y);
      if (d < near) [best, near] = [i, d];
    });
    return best;
  }

  ask(query) {
    if (query === this.query) return;
    this.query = query;
    if (query === null) {
      this.marks.replaceChildren();
      this.said.textContent = HINT;
      return;
    }
    const { points } = this.space;
    const { found, hits, relevant, first, precision, average } = judged(this.space, query);
    const around = (i, kind) => svg("circle", { class: kind, cx: points[i][0], cy: -points[i][1], r: RADIUS * 1.7 });
    const crossed = (i) => {
      const [x, y] = points[i];
      const r = RADIUS * 1.3;
      return svg("path", { class: "cross", d: `M${x - r} ${-y - r}L${x + r} ${-y + r}M${x - r} ${-y + r}L${x + r} ${-y - r}` });
    };
    this.marks.replaceChildren(
      around(query, "query"),
      ...found.flatMap((i, rank) => [around(i, "found"), ...(hits[rank] ? [] : [crossed(i)])]),
    );
    const right = hits.filter(Boolean).length;
    this.said.textContent =
      `This image: its nearest is ${first ? "right" : "wrong"}, so R@1 counts ${first ? 1 : 0}. ` +
      `Of its R = ${relevant} nearest ${right} are right: R-precision ${precision.toFixed(2)}. ` +
      `With the order they come in: ${average.toFixed(2)} towards MAP@R.`;
  }
}

function scores(values) {
  const list = element("dl");
  for (const [name, title] of Object.entries(TITLES)) {
    const pair = element("div", name);
    pair.append(element("dt", "", title), element("dd", "", values[name].toFixed(2)));
    list.append(pair);
  }
  return list;
}

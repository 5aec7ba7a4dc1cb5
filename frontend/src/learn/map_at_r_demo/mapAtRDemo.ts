// Small spaces side by side with their scores; the point under the pointer shows whom its scores come from. Points can
// be dragged, or moved with Shift and the arrow keys: the library scores them anew.
import { setAttributes, svg } from "../../charts/svg.ts";
import type { MapAtRDemoProps, SmallSpace, SpaceScores } from "../../protocol.ts";
import { ROUTES } from "../../lib/server.ts";
import { type ComponentArguments, mount } from "../../lib/mount.ts";
import { h } from "../../lib/dom.ts";
import { classColors } from "../../lib/palette.ts";
import { css, readTheme } from "../../lib/theme.ts";
import { NewestQuestion } from "../newestQuestion.ts";
import style from "./mapAtRDemo.css";
import { countRight, scoreRanking } from "../ranking_toy/scores.ts";

/** The others by distance, nearest first; at equal distance those of another class first, as the library ranks. */
function rankNeighbors({ points, classes }: Pick<SmallSpace, "points" | "classes">, query: number): number[] {
  const far = (i: number) => Math.hypot(points[i][0] - points[query][0], points[i][1] - points[query][1]);
  const right = (i: number) => Number(classes[i] === classes[query]);
  return points
    .map((_, i) => i)
    .filter((i) => i !== query)
    .sort((i, j) => far(i) - far(j) || right(i) - right(j));
}

/** The R nearest of a query (R: how many others are of its class), which of them are right, and the scores. */
export function scoreQuery(space: Pick<SmallSpace, "points" | "classes">, query: number) {
  const relevant = space.classes.filter((label) => label === space.classes[query]).length - 1;
  const found = rankNeighbors(space, query).slice(0, relevant);
  const hits = found.map((i) => space.classes[i] === space.classes[query]);
  const scores = scoreRanking({ hits, relevant });
  return { found, hits, relevant, first: hits[0], precision: countRight(hits) / relevant, average: scores.map_at_r };
}

const EXTENT = 1.1;
const RADIUS = 0.028;
const STEP = 0.02;
const TITLES: Record<string, string> = {
  nmi: "NMI",
  pairwise_f1: "F1",
  precision_at_1: "R@1",
  r_precision: "R-prec.",
  map_at_r: "MAP@R",
};
const HINT =
  "Point at an image: the nearest R of it are ringed, R being how many others are of its class; a wrong one is crossed " +
  "out. Drag it, or use Shift and the arrow keys, and all scores follow.";

export default function ({ parentElement, data }: ComponentArguments<MapAtRDemoProps>) {
  return mount(
    parentElement,
    style,
    (parent) => build(parent, data),
    () => {},
  );
}

function build(parent: ParentNode, data: MapAtRDemoProps) {
  const status = h("p", { class: "status", "aria-live": "polite" }, HINT);
  const spaces = data.spaces.map((space) => new SpaceView(space, status));
  const root = h(
    "section",
    { class: "map-at-r-demo", "data-ready": "true" },
    h("div", "row", ...spaces.map((space) => space.root)),
    status,
  );
  parent.append(root);
  return {
    destroy: () => {
      spaces.forEach((space) => space.destroy());
      root.remove();
    },
  };
}

class SpaceView {
  readonly root: HTMLElement;
  private query: number | null = null;
  private marks = svg("g", { class: "marks" });
  private dots: SVGElement[];
  private chart: SVGSVGElement;
  private watcher = new ResizeObserver(() => this.paint());
  private dragIndex: number | null = null;
  private values = h("dl", { "aria-live": "polite" });
  private questions = new NewestQuestion<Pick<SmallSpace, "points" | "classes">, SpaceScores>(
    ({ scores }) => this.showScores(scores),
    (why) => (this.status.textContent = why),
  );

  constructor(
    private space: SmallSpace,
    private status: HTMLElement,
  ) {
    this.dots = space.points.map(([x, y]) => svg("circle", { cx: x, cy: -y, r: RADIUS }));
    this.chart = svg(
      "svg",
      {
        viewBox: `${-EXTENT} ${-EXTENT} ${2 * EXTENT} ${2 * EXTENT}`,
        tabindex: 0,
        role: "img",
        "aria-label":
          `${space.title}: ${space.points.length} images of 4 classes; arrow keys go from image to image, ` +
          "with Shift they move it",
      },
      ...this.dots,
      this.marks,
    );
    this.root = h("figure", null, h("figcaption", null, space.title), this.chart, this.values);
    this.showScores(space.scores);
    this.watcher.observe(this.chart);
    this.chart.addEventListener("pointermove", (event) => {
      if (this.dragIndex === null) this.setQuery(this.pointAt(event));
      else this.move(this.dragIndex, this.placeOf(event));
    });
    this.chart.addEventListener("pointerdown", (event) => {
      this.dragIndex = event.button === 0 ? this.pointAt(event) : null;
      if (this.dragIndex !== null) this.chart.setPointerCapture(event.pointerId);
    });
    for (const name of ["pointerup", "pointercancel"] as const)
      this.chart.addEventListener(name, () => (this.dragIndex = null));
    this.chart.addEventListener("pointerleave", () => {
      if (this.dragIndex === null) this.setQuery(null);
    });
    this.chart.addEventListener("blur", () => this.setQuery(null));
    this.chart.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
      if (!by) return;
      event.preventDefault();
      if (event.shiftKey && this.query !== null) {
        const [x, y] = this.space.points[this.query];
        const across = event.key === "ArrowLeft" || event.key === "ArrowRight";
        this.move(this.query, across ? [x + by * STEP, y] : [x, y + by * STEP]);
        return;
      }
      const count = space.points.length;
      this.setQuery(((this.query ?? -1) + by + count) % count);
    });
  }

  private paint(): void {
    const colors = classColors(4, readTheme(this.chart).dark);
    this.dots.forEach((dot, i) => setAttributes(dot, { fill: css(colors[this.space.classes[i]]) }));
  }

  private pointAt(event: MouseEvent): number | null {
    const [x, y] = this.placeOf(event);
    let best: number | null = null;
    let near = 0.12;
    this.space.points.forEach(([px, py], i) => {
      const d = Math.hypot(px - x, py - y);
      if (d < near) [best, near] = [i, d];
    });
    return best;
  }

  private placeOf(event: MouseEvent): [number, number] {
    const box = this.chart.getBoundingClientRect();
    return [
      (((event.clientX - box.left) / box.width) * 2 - 1) * EXTENT,
      (1 - ((event.clientY - box.top) / box.height) * 2) * EXTENT,
    ];
  }

  private move(index: number, place: [number, number]): void {
    const [x, y] = place.map((value) => Math.max(-EXTENT, Math.min(EXTENT, value)));
    const { classes, points } = this.space;
    this.space = { ...this.space, points: points.map((old, i) => (i === index ? [x, y] : old)) };
    setAttributes(this.dots[index], { cx: x, cy: -y });
    this.query = null;
    this.setQuery(index);
    this.questions.ask(`${ROUTES}/scores.json`, { points: this.space.points, classes });
  }

  private showScores(scores: SpaceScores["scores"]): void {
    this.values.replaceChildren(
      ...Object.entries(TITLES).map(([name, title]) =>
        h("div", name, h("dt", null, title), h("dd", null, scores[name]?.toFixed(2) ?? "–")),
      ),
    );
  }

  private setQuery(query: number | null): void {
    if (query === this.query) return;
    this.query = query;
    if (query === null) {
      this.marks.replaceChildren();
      this.status.textContent = HINT;
      return;
    }
    const { points } = this.space;
    const { found, hits, relevant, first, precision, average } = scoreQuery(this.space, query);
    const around = (i: number, kind: string) =>
      svg("circle", { class: kind, cx: points[i][0], cy: -points[i][1], r: RADIUS * 1.7 });
    const cross = (i: number) => {
      const [x, y] = points[i];
      const r = RADIUS * 1.3;
      return svg("path", {
        class: "cross",
        d: `M${x - r} ${-y - r}L${x + r} ${-y + r}M${x - r} ${-y + r}L${x + r} ${-y - r}`,
      });
    };
    this.marks.replaceChildren(
      around(query, "query"),
      ...found.flatMap((i, rank) => [around(i, "found"), ...(hits[rank] ? [] : [cross(i)])]),
    );
    const right = hits.filter(Boolean).length;
    this.status.textContent =
      `This image: its nearest is ${first ? "right" : "wrong"}, so R@1 counts ${first ? 1 : 0}. ` +
      `Of its R = ${relevant} nearest ${right} are right: R-precision ${precision.toFixed(2)}. ` +
      `With the order they come in: ${average.toFixed(2)} towards MAP@R.`;
  }

  destroy(): void {
    this.questions.close();
    this.watcher.disconnect();
  }
}

// Small spaces side by side with their scores; the point under the pointer shows whom its scores come from.
import { setAttributes, svg } from "../../charts/svg.ts";
import type { MapAtRProps, SmallSpace } from "../../protocol.ts";
import type { ComponentArguments } from "../../lib/mount.ts";
import { h } from "../../lib/dom.ts";
import { classColors } from "../../lib/palette.ts";
import { css, readTheme } from "../../lib/theme.ts";
import { scoreQuery } from "./ranking.ts";
import style from "./mapAtRDemo.css";

const EXTENT = 1.1;
const RADIUS = 0.028;
const TITLES: Record<string, string> = { nmi: "NMI", pairwise_f1: "F1", precision_at_1: "R@1", map_at_r: "MAP@R" };
const HINT =
  "Point at an image: the nearest R of it are ringed, R being how many others are of its class; a wrong one is crossed out.";

export default function ({ parentElement, data }: ComponentArguments<MapAtRProps>): (() => void) | undefined {
  if (parentElement.querySelector(".map-at-r-demo")) return undefined;
  const status = h("p", { class: "status", "aria-live": "polite" }, HINT);
  const spaces = data.spaces.map((space) => new SpaceView(space, status));
  const root = h(
    "section",
    { class: "map-at-r-demo", "data-ready": "true" },
    h("div", "row", ...spaces.map((space) => space.root)),
    status,
  );
  const sheet = h("style", null, style);
  parentElement.append(sheet, root);
  return () => {
    spaces.forEach((space) => space.destroy());
    sheet.remove();
    root.remove();
  };
}

class SpaceView {
  readonly root: HTMLElement;
  private query: number | null = null;
  private marks = svg("g", { class: "marks" });
  private dots: SVGElement[];
  private chart: SVGSVGElement;
  private watcher = new ResizeObserver(() => this.paint());

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
        "aria-label": `${space.title}: ${space.points.length} images of 4 classes; arrow keys go from image to image`,
      },
      ...this.dots,
      this.marks,
    );
    this.root = h("figure", null, h("figcaption", null, space.title), this.chart, scores(space.scores));
    this.watcher.observe(this.chart);
    this.chart.addEventListener("pointermove", (event) => this.setQuery(this.pointAt(event)));
    this.chart.addEventListener("pointerleave", () => this.setQuery(null));
    this.chart.addEventListener("blur", () => this.setQuery(null));
    this.chart.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
      if (!by) return;
      event.preventDefault();
      const count = space.points.length;
      this.setQuery(((this.query ?? -1) + by + count) % count);
    });
  }

  private paint(): void {
    const colors = classColors(4, readTheme(this.chart).dark);
    this.dots.forEach((dot, i) => setAttributes(dot, { fill: css(colors[this.space.classes[i]]) }));
  }

  private pointAt(event: MouseEvent): number | null {
    const box = this.chart.getBoundingClientRect();
    const x = (((event.clientX - box.left) / box.width) * 2 - 1) * EXTENT;
    const y = (1 - ((event.clientY - box.top) / box.height) * 2) * EXTENT;
    let best: number | null = null;
    let near = 0.12;
    this.space.points.forEach(([px, py], i) => {
      const d = Math.hypot(px - x, py - y);
      if (d < near) [best, near] = [i, d];
    });
    return best;
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
    const crossed = (i: number) => {
      const [x, y] = points[i];
      const r = RADIUS * 1.3;
      return svg("path", {
        class: "cross",
        d: `M${x - r} ${-y - r}L${x + r} ${-y + r}M${x - r} ${-y + r}L${x + r} ${-y - r}`,
      });
    };
    this.marks.replaceChildren(
      around(query, "query"),
      ...found.flatMap((i, rank) => [around(i, "found"), ...(hits[rank] ? [] : [crossed(i)])]),
    );
    const right = hits.filter(Boolean).length;
    this.status.textContent =
      `This image: its nearest is ${first ? "right" : "wrong"}, so R@1 counts ${first ? 1 : 0}. ` +
      `Of its R = ${relevant} nearest ${right} are right: R-precision ${precision.toFixed(2)}. ` +
      `With the order they come in: ${average.toFixed(2)} towards MAP@R.`;
  }

  destroy(): void {
    this.watcher.disconnect();
  }
}

const scores = (values: Record<string, number>): HTMLElement =>
  h(
    "dl",
    null,
    ...Object.entries(TITLES).map(([name, title]) =>
      h("div", name, h("dt", null, title), h("dd", null, values[name].toFixed(2))),
    ),
  );

// The three strokes with their counts; each can be left out.
import { grouped } from "../lib/format.ts";
import { explain } from "../lib/glossary.ts";
import type { Rgb } from "../lib/theme.ts";
import { svg } from "../charts/svg.ts";
import { h } from "../lib/dom.ts";
import { difficultyLabels } from "./stepAnimation.ts";
import type { LoadedBatch } from "./batch.ts";
import { DIFFICULTIES, STROKES, type Shown } from "./difficultyStyles.ts";

const TERMS = ["easy", "semi-hard-negative", "hard-negative"];
const MEANINGS = {
  views: ["view of the same image", "of another image"],
  classes: ["own class", "other class"],
  pairs: ["same class", "different classes"],
};

/** The two ends of the lines, by color: a near and a far side. */
export function meaningsOf({ copy_of, tuples }: Pick<LoadedBatch, "copy_of" | "tuples">): string[] {
  if (copy_of) return MEANINGS.views;
  return tuples.kind === "classes" ? MEANINGS.classes : MEANINGS.pairs;
}

export class DifficultyLegend {
  readonly node: HTMLElement;
  private shown: Shown = [true, true, true];
  private lines = STROKES.map(({ width, dash }) =>
    svg("line", {
      x1: 1,
      x2: 29,
      y1: 6,
      y2: 6,
      "stroke-width": width + 0.4,
      "stroke-dasharray": dash.join(" ") || null,
      stroke: "currentColor",
    }),
  );
  private counts = DIFFICULTIES.map(() => h("b"));
  private kinds = DIFFICULTIES.map((kind) => h("span", {}, kind));
  private means = DIFFICULTIES.map(() => h("small"));
  private rows: HTMLElement[];
  private sides = h("p", "sides");
  private meanings = MEANINGS.pairs;

  constructor(onchange: (shown: Shown) => void) {
    this.rows = DIFFICULTIES.map((_, k) =>
      h(
        "button",
        {
          "aria-pressed": "true",
          click: () => {
            this.shown = this.shown.map((on, i) => (i === k ? !on : on));
            onchange(this.shown);
          },
        },
        svg("svg", { viewBox: "0 0 30 12", width: 30, height: 12, "aria-hidden": "true" }, this.lines[k]),
        this.kinds[k],
        this.counts[k],
        this.means[k],
      ),
    );
    this.node = h("div", "strokes", ...this.rows.toReversed(), this.sides);
  }

  show(b: LoadedBatch): void {
    difficultyLabels(b).forEach((meaning, k) => (this.means[k].textContent = meaning));
    b.tuples.counts.forEach((count, k) => (this.counts[k].textContent = grouped(count)));
    this.meanings = meaningsOf(b);
    if (b.tuples.kind === "triplets") this.kinds.forEach((kind, k) => explain(kind, TERMS[k])); // of pairs it is a distance
  }

  render(shown: Shown, positive: Rgb, negative: Rgb): void {
    this.shown = shown;
    this.rows.forEach((row, k) => row.setAttribute("aria-pressed", String(shown[k])));
    const [near, far] = this.meanings;
    this.sides.replaceChildren(swatch(positive), near, swatch(negative), far);
  }
}

function swatch(color: Rgb): HTMLElement {
  const node = h("i", {});
  node.style.background = `rgb(${color.join(",")})`;
  return node;
}

// One score: its value, how it changed, its course, and two marks to measure it by.
import { maxOf, minOf } from "../../lib/extent.ts";
import { pathOf, scale, setAttributes, svg } from "../../charts/svg.ts";
import { h } from "../../lib/dom.ts";
import { signed } from "../../lib/format.ts";
import { explain } from "../../lib/glossary.ts";
import type { Score } from "./scoreState.ts";

const WIDTH = 100;
const HEIGHT = 22;

const isKnown = (value: number | null): value is number => value !== null && Number.isFinite(value);

export class ScoreTile {
  readonly node: HTMLElement;
  private value = h("span", "value", "–");
  private change = h("span", "change");
  private apart = h("span", { class: "apart", hidden: true });
  private line = svg("path", { class: "course" });
  private base = svg("line", { class: "base", x1: 0, x2: WIDTH });
  private pixels = svg("line", { class: "pixels", x1: 0, x2: WIDTH });
  private mark = svg("line", { class: "mark", y1: 0, y2: HEIGHT });
  private button: HTMLButtonElement | null = null;

  /** `select()` is called by a click; scores that no single image can fail have none. */
  constructor(label: string, key: string, select: (() => void) | null) {
    const chart = svg(
      "svg",
      { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" },
      this.base,
      this.pixels,
      this.line,
      this.mark,
    );
    const parts = [explain(h("span", "name", label), key), this.value, this.change, this.apart, chart];
    if (select)
      this.button = h(
        "button",
        { class: "score", "data-score": key, type: "button", disabled: true, click: select },
        ...parts,
      );
    this.node = this.button ?? h("div", { class: "score", "data-score": key }, ...parts);
  }

  /** Show a score at `step`; `active` while the images that fail it are selected. */
  show(score: Score, step: number | null, { clickable, active }: { clickable: boolean; active: boolean }): void {
    const { value, change, later, apart, absent, images } = score;
    this.node.hidden = absent;
    this.value.textContent = value !== null ? value.toFixed(3) : later ? "" : "–";
    // At the end the score is of test images, and the change of others: it would not belong to the number beside it.
    this.change.hidden = apart.some(({ group }) => group === "validation");
    this.change.className = `change ${change === null ? "" : change < 0 ? "down" : "up"}`;
    this.change.textContent = later ? "after the training" : change === null ? "" : signed(change);
    this.change.title = change === null ? "" : `compared with the untrained net, on the ${images}`;
    this.node.title = this.describe(score);
    this.apart.hidden = !apart.length;
    this.apart.replaceChildren(
      ...apart.map(({ group, value: own }) => h("span", { "data-group": group }, `${group} ${own.toFixed(3)} `)),
    );
    if (this.button) {
      this.button.disabled = !clickable;
      this.button.setAttribute("aria-pressed", String(active));
    }
    this.drawCourse(score, step);
  }

  private drawCourse({ course, untrained, pixels }: Score, step: number | null): void {
    const [first, last] = [course[0], course.at(-1)];
    if (!first || !last || course.length < 2) {
      for (const node of [this.line, this.base, this.pixels, this.mark]) setAttributes(node, { visibility: "hidden" });
      return;
    }
    const values = [...course.map(({ value }) => value), ...[untrained, pixels].filter(isKnown)];
    const x = scale(first.step, last.step, 1, WIDTH - 1);
    const y = scale(minOf(values), maxOf(values), HEIGHT - 2, 2);
    const current = x(Math.min(Math.max(step ?? last.step, first.step), last.step));
    setAttributes(this.line, { d: pathOf(course.map(({ step: at, value }) => [x(at), y(value)])), visibility: null });
    setAttributes(this.mark, { x1: current, x2: current, visibility: null });
    for (const [node, mark] of [
      [this.base, untrained],
      [this.pixels, pixels],
    ] as const) {
      setAttributes(node, isKnown(mark) ? { y1: y(mark), y2: y(mark), visibility: null } : { visibility: "hidden" });
    }
  }

  private describe({ title, untrained, pixels, images }: Score): string {
    const marks = [
      ...(isKnown(untrained) ? [`untrained net ${untrained.toFixed(3)}`] : []),
      ...(isKnown(pixels) ? [`raw pixels ${pixels.toFixed(3)}`] : []),
    ];
    const references = marks.length ? ` On the ${images}: ${marks.join(", ")}.` : "";
    return `${title}.${references}${this.button ? " Click to select the errors." : ""}`;
  }
}

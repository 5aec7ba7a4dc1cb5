// @ts-nocheck
// One score: its value, how it changed, its course, and two marks to measure it by.
import { pathOf, scale, set, svg } from "../../charts/svg.ts";

const WIDTH = 100;
const HEIGHT = 22;

/** `select()` is called by a click; scores that no single image can fail have none. */
export class Tile {
  constructor(label, title, key, select) {
    this.node = document.createElement(select ? "button" : "div");
    this.node.className = "score";
    this.title = title;
    this.node.dataset.score = key;
    if (select) {
      Object.assign(this.node, { type: "button", disabled: true });
      this.node.addEventListener("click", select);
    }
    this.selects = Boolean(select);
    const name = Object.assign(document.createElement("span"), { className: "name", textContent: label });
    this.value = Object.assign(document.createElement("span"), { className: "value", textContent: "–" });
    this.change = Object.assign(document.createElement("span"), { className: "change" });
    this.apart = Object.assign(document.createElement("span"), { className: "apart", hidden: true });
    this.line = svg("path", { class: "course" });
    this.base = svg("line", { class: "base", x1: 0, x2: WIDTH });
    this.pixels = svg("line", { class: "pixels", x1: 0, x2: WIDTH });
    this.mark = svg("line", { class: "mark", y1: 0, y2: HEIGHT });
    const chart = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" });
    chart.append(this.base, this.pixels, this.line, this.mark);
    this.node.append(name, this.value, this.change, this.apart, chart);
  }

  /** Show a score (see readings.js) at `step`; `active` while the images that fail it are selected. */
  show(score, step, { clickable, active }) {
    const { value, change, course, untrained, pixels, later, apart } = score;
    this.value.textContent = value === null ? "–" : value.toFixed(3);
    const sign = change === null ? "" : change < 0 ? "down" : "up";
    this.change.className = `change ${sign}`;
    this.change.textContent = later ? "at the end" : change === null ? "" : `${change < 0 ? "−" : "+"}${Math.abs(change).toFixed(3)}`;
    this.change.title = change === null ? "" : "Since the untrained net, on the watched images";
    this.node.title = this.words(score);
    this.apart.hidden = !apart.length;
    this.apart.replaceChildren(...apart.map(({ group, value }) => {
      const part = Object.assign(document.createElement("span"), { textContent: `${group} ${value.toFixed(3)} ` });
      part.dataset.group = group;
      return part;
    }));
    if (this.selects) {
      this.node.disabled = !clickable;
      this.node.setAttribute("aria-pressed", active);
    }
    if (course.length < 2) {
      for (const node of [this.line, this.base, this.pixels, this.mark]) set(node, { visibility: "hidden" });
      return;
    }
    const marks = [untrained, pixels].filter(Number.isFinite);
    const values = [...course.map(({ value }) => value), ...marks];
    const x = scale(course[0].step, course.at(-1).step, 1, WIDTH - 1);
    const y = scale(Math.min(...values), Math.max(...values), HEIGHT - 2, 2);
    const here = Math.min(Math.max(step ?? course.at(-1).step, course[0].step), course.at(-1).step);
    set(this.line, { d: pathOf(course.map(({ step, value }) => [x(step), y(value)])), visibility: null });
    set(this.mark, { x1: x(here), x2: x(here), visibility: null });
    for (const [node, mark] of [[this.base, untrained], [this.pixels, pixels]]) {
      if (Number.isFinite(mark)) set(node, { y1: y(mark), y2: y(mark), visibility: null });
      else set(node, { visibility: "hidden" });
    }
  }

  words({ untrained, pixels }) {
    const marks = [
      Number.isFinite(untrained) ? `untrained net ${untrained.toFixed(3)}` : null,
      Number.isFinite(pixels) ? `raw pixels ${pixels.toFixed(3)}` : null,
    ].filter(Boolean);
    const told = marks.length ? ` On the watched images: ${marks.join(", ")}.` : "";
    return `${this.title}.${told}${this.selects ? " Click to select the images that fail it." : ""}`;
  }
}

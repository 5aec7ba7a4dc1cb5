// @ts-nocheck
// The three strokes with their counts; each can be left out.
import { svg, set } from "../charts/svg.ts";
import { element } from "../lib/dom.ts";
import { meanings } from "./stepAnimation.ts";
import { KINDS, STROKES } from "./difficultyStyles.ts";

export class Legend {
  constructor(onchange) {
    this.shown = [true, true, true];
    this.lines = STROKES.map(({ width, dash }) =>
      svg("line", { x1: 1, x2: 29, y1: 6, y2: 6, "stroke-width": width + 0.4, "stroke-dasharray": dash.join(" ") || null }));
    for (const line of this.lines) if (line.getAttribute("stroke-dasharray") === "null") line.removeAttribute("stroke-dasharray");
    this.counts = KINDS.map(() => element("b", {}));
    this.means = KINDS.map(() => element("small", {}));
    this.rows = KINDS.map((kind, k) =>
      element("button", {
        type: "button",
        "aria-pressed": "true",
        click: () => {
          this.shown = this.shown.map((on, i) => (i === k ? !on : on));
          onchange(this.shown);
        },
      }, svg("svg", { viewBox: "0 0 30 12", width: 30, height: 12, "aria-hidden": "true" }, this.lines[k]), element("span", {}, kind), this.counts[k], this.means[k]));
    this.sides = element("p", { class: "sides" });
    this.node = element("div", { class: "strokes" }, ...this.rows.toReversed(), this.sides);
  }

  show(b) {
    meanings(b).forEach((meaning, k) => (this.means[k].textContent = meaning));
    b.seen.counts.forEach((count, k) => (this.counts[k].textContent = count.toLocaleString("en")));
    this.several = b.seen.kind;
  }

  paint(shown, positive, negative) {
    this.shown = shown;
    this.rows.forEach((row, k) => row.setAttribute("aria-pressed", String(shown[k])));
    for (const line of this.lines) set(line, { stroke: "currentColor" });
    const [near, far] = { classes: ["own class", "another"] }[this.several] ?? ["one class", "two classes"];
    this.sides.replaceChildren(swatch(positive), near, swatch(negative), far);
  }
}

function swatch(colour) {
  const node = element("i", {});
  node.style.background = `rgb(${colour.join(",")})`;
  return node;
}

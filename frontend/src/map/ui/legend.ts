// The classes, inside the map: color, name, how many. Click hides, alt-click shows that class alone.
import { css } from "../../lib/theme.ts";
import { traceShape } from "../render/canvas.ts";
import { context2d, h } from "../../lib/dom.ts";
import { grouped } from "../../lib/format.ts";
import type { MapState } from "../data/state.ts";

export interface LegendHooks {
  toggle: (label: number) => void;
  solo: (label: number) => void;
  /** A class under the pointer, or none. */
  spotlight: (label: number | null) => void;
}

interface Row {
  row: HTMLElement;
  swatch: HTMLCanvasElement;
  count: HTMLElement;
  name: string;
}

export class Legend {
  readonly node = h("div", { class: "legend", role: "group", "aria-label": "Classes" });
  private rows: Row[] = [];

  constructor(private on: LegendHooks) {}

  /** Rebuild for other classes. */
  setClasses(classes: string[]): void {
    this.rows = classes.map((name, c) => {
      const swatch = h("canvas", { class: "swatch", width: 24, height: 24 });
      const count = h("span", { class: "count" });
      const row = h(
        "button",
        {
          type: "button",
          class: "class",
          "data-class": c,
          title: "Click to hide or show, Alt-click to show only this class",
          click: (event) => (event.altKey ? this.on.solo(c) : this.on.toggle(c)),
          pointerenter: () => this.on.spotlight(c),
          pointerleave: () => this.on.spotlight(null),
        },
        swatch,
        h("span", { class: "name" }, name),
        count,
      );
      return { row, swatch, count, name };
    });
    this.node.replaceChildren(...this.rows.map(({ row }) => row));
  }

  /** Show counts, hidden classes, colors. */
  update({ model, colors, markers: shapes, theme }: MapState, counts: { total: number[]; selected: number[] }): void {
    this.rows.forEach(({ row, swatch, count, name }, c) => {
      const hidden = model.hidden.has(c);
      row.setAttribute("aria-pressed", String(!hidden));
      const of = grouped(counts.total[c]);
      count.textContent = model.selected ? `${grouped(counts.selected[c])} / ${of}` : of;
      row.setAttribute("aria-label", `${name}: ${count.textContent}${hidden ? ", hidden" : ""}`);
      const context = context2d(swatch);
      context.setTransform(1, 0, 0, 1, 0, 0);
      context.clearRect(0, 0, 24, 24);
      context.translate(12, 12);
      traceShape(context, shapes ? c % 10 : 0, shapes ? 8 : 8.5);
      if (hidden) {
        context.lineWidth = 2;
        context.strokeStyle = css(theme.muted);
        context.stroke();
      } else {
        context.fillStyle = css(colors[c]);
        context.fill("evenodd");
      }
    });
  }
}

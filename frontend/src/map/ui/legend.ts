// @ts-nocheck
// The classes, inside the map: colour, name, how many. Click hides, alt-click shows that class alone.
import { css } from "../../lib/theme.ts";
import { traceShape } from "../render/canvas.ts";
import { element, grouped } from "../../lib/dom.ts";

/** `on` holds toggle(class), solo(class), spotlight(class or null). */
export class Legend {
  constructor(on) {
    this.on = on;
    this.node = element("div", { class: "legend", role: "group", "aria-label": "Classes" });
    this.rows = [];
  }

  /** Rebuild for other classes. */
  setClasses(classes) {
    this.rows = classes.map((name, c) => {
      const swatch = element("canvas", { class: "swatch", width: 24, height: 24 });
      const count = element("span", { class: "count" });
      const row = element(
        "button",
        {
          type: "button",
          class: "class",
          "data-class": c,
          title: "Click hides or shows, Alt-click shows this class alone",
          click: (event) => (event.altKey ? this.on.solo(c) : this.on.toggle(c)),
          pointerenter: () => this.on.spotlight(c),
          pointerleave: () => this.on.spotlight(null),
        },
        swatch,
        element("span", { class: "name" }, name),
        count,
      );
      return { row, swatch, count, name };
    });
    this.node.replaceChildren(...this.rows.map(({ row }) => row));
  }

  /** Show counts, hidden classes, colours. */
  update({ model, counts, colours, shapes, theme }) {
    this.rows.forEach(({ row, swatch, count, name }, c) => {
      const hidden = model.hidden.has(c);
      row.setAttribute("aria-pressed", String(!hidden));
      const of = grouped(counts.total[c]);
      count.textContent = model.selected ? `${grouped(counts.selected[c])} / ${of}` : of;
      row.setAttribute("aria-label", `${name}: ${count.textContent}${hidden ? ", hidden" : ""}`);
      const context = swatch.getContext("2d");
      context.setTransform(1, 0, 0, 1, 0, 0);
      context.clearRect(0, 0, 24, 24);
      context.translate(12, 12);
      traceShape(context, shapes ? c % 10 : 0, shapes ? 8 : 8.5);
      if (hidden) {
        context.lineWidth = 2;
        context.strokeStyle = css(theme.muted);
        context.stroke();
      } else {
        context.fillStyle = css(colours[c]);
        context.fill("evenodd");
      }
    });
  }
}

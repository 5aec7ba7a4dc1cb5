// What colors mean, inside the map: the scale of numbers; the classes with color, name, how many. Click hides, alt-click shows that class alone. Many classes have a
// search, and only some rows at a time: those of the selection first.
import { css, type Rgb } from "../../lib/theme.ts";
import { traceShape } from "../render/canvas.ts";
import { context2d, h } from "../../lib/dom.ts";
import { grouped } from "../../lib/format.ts";
import { markersInWords, NUM_SHAPES } from "../data/columns.ts";
import type { MapState } from "../data/state.ts";
import { paleColor } from "../render/pointColors.ts";

export interface LegendHooks {
  toggle: (label: number) => void;
  solo: (label: number) => void;
  /** A class under the pointer, or none. */
  spotlight: (label: number | null) => void;
}

interface Counts {
  total: number[];
  selected: number[];
}

interface Row {
  row: HTMLElement;
  swatch: HTMLCanvasElement;
  count: HTMLElement;
  name: string;
}

const SEARCH_FROM = 31; // classes from which there is a search
const MOST_ROWS = 60; // at a time where there is a search

export class Legend {
  readonly node = h("div", { class: "legend", role: "group", "aria-label": "Classes" });
  private rows = h("div", "rows");
  private search = h("input", { type: "search", placeholder: "Find a class", "aria-label": "Find a class" });
  private more = h("div", "more");
  private shapes = h("div", { class: "shapes", role: "list", hidden: true });
  private classes: string[] = [];
  private rowsByLabel = new Map<number, Row>();
  private last: { state: MapState; counts: Counts } | null = null;

  /** `scale` stands above the classes while points are colored by numbers. */
  constructor(
    private on: LegendHooks,
    scale: HTMLElement,
  ) {
    this.node.append(scale, this.search, this.rows, this.more, this.shapes);
    this.search.addEventListener("input", () => this.last && this.update(this.last.state, this.last.counts));
    // Keys of the map (pan, lasso, …) are letters here.
    for (const kind of ["keydown", "keyup"]) this.search.addEventListener(kind, (event) => event.stopPropagation());
  }

  /** Rebuild for other classes, or for the categories of a column; `title` says which for screen readers. */
  setGroups(title: "Classes" | "Categories", classes: string[]): void {
    this.node.setAttribute("aria-label", title);
    this.classes = classes;
    this.rowsByLabel.clear();
    this.rows.replaceChildren();
    this.search.value = "";
    this.search.hidden = classes.length < SEARCH_FROM;
    this.more.hidden = true;
    this.last = null;
    if (this.search.hidden) this.setRows(classes.map((_, label) => label));
  }

  /** Show counts, hidden classes, colors. */
  update(state: MapState, counts: Counts): void {
    this.last = { state, counts };
    if (!this.search.hidden) {
      const labels = matchingClasses(this.classes, counts, this.search.value);
      this.setRows(labels.slice(0, MOST_ROWS));
      this.more.hidden = labels.length <= MOST_ROWS && labels.length > 0;
      this.more.textContent = labels.length
        ? `and ${grouped(labels.length - MOST_ROWS)} more: type to find one`
        : "no class of this name here";
    }
    for (const [label, row] of this.rowsByLabel) this.updateRow(label, row, state, counts);
    this.updateShapes(state);
  }

  // The meaning of the shapes, unless they show the classes above.
  private updateShapes({ markers, model: { marking }, theme }: MapState): void {
    const scale = markers === "class" ? null : marking;
    this.shapes.hidden = !scale;
    if (!scale) return;
    this.shapes.setAttribute("aria-label", `Marker shape per ${markersInWords(markers)}`);
    const rows = scale.names.map((name, shape) => {
      const swatch = h("canvas", { class: "swatch", width: 24, height: 24 });
      const context = trace(swatch, shape, 8);
      context.fillStyle = css(theme.text);
      context.fill("evenodd");
      return h("div", { class: "shape", role: "listitem" }, swatch, h("span", "name", name));
    });
    this.shapes.replaceChildren(...rows);
  }

  private setRows(labels: number[]): void {
    const before = [...this.rowsByLabel.keys()];
    if (labels.length === before.length && labels.every((label, i) => label === before[i])) return;
    this.rowsByLabel = new Map(labels.map((label) => [label, this.rowsByLabel.get(label) ?? this.rowOf(label)]));
    this.rows.replaceChildren(...[...this.rowsByLabel.values()].map(({ row }) => row));
  }

  private rowOf(label: number): Row {
    const name = this.classes[label];
    const swatch = h("canvas", { class: "swatch", width: 24, height: 24 });
    const count = h("span", "count");
    const look = {
      class: "class",
      "data-class": label,
      title: "Click to hide or show, Alt-click to show only this class",
      click: (event: MouseEvent) => (event.altKey ? this.on.solo(label) : this.on.toggle(label)),
      pointerenter: () => this.on.spotlight(label),
      pointerleave: () => this.on.spotlight(null),
    };
    const row = h("button", look, swatch, h("span", "name", name), count);
    return { row, swatch, count, name };
  }

  private updateRow(label: number, { row, swatch, count, name }: Row, state: MapState, counts: Counts): void {
    const { model, colors, theme } = state;
    const shapes = state.markers === "class";
    const isHidden = model.hidden.has(label);
    row.setAttribute("aria-pressed", String(!isHidden));
    const of = grouped(counts.total[label]);
    count.textContent = model.selected ? `${grouped(counts.selected[label])} / ${of}` : of;
    row.setAttribute("aria-label", `${name}: ${count.textContent}${isHidden ? ", hidden" : ""}`);
    const context = trace(swatch, shapes ? label % NUM_SHAPES : 0, shapes ? 8 : 8.5);
    if (isHidden) {
      context.lineWidth = 2;
      context.strokeStyle = css(theme.muted);
      context.stroke();
    } else {
      context.fillStyle = css(swatchColor(state, colors[label]));
      context.fill("evenodd");
    }
  }
}

/** The color of a class, where points are colored by it; gray where they are not. */
export function swatchColor({ model, theme }: Pick<MapState, "model" | "theme">, own: Rgb): Rgb {
  if (model.grades) return theme.muted;
  return model.store.state.color === "error" && model.nearest ? paleColor(own, theme) : own;
}

/** The swatch, emptied, with the outline of a shape in its middle. */
function trace(swatch: HTMLCanvasElement, shape: number, radius: number): CanvasRenderingContext2D {
  const context = context2d(swatch);
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, 24, 24);
  context.translate(12, 12);
  traceShape(context, shape, radius);
  return context;
}

/** The classes that have items and whose names contain `text`: those with selected items first, the most of them first. */
export function matchingClasses(classes: string[], { total, selected }: Counts, text: string): number[] {
  const query = text.trim().toLowerCase();
  return classes
    .map((_, label) => label)
    .filter((label) => total[label] && classes[label].toLowerCase().includes(query))
    .sort((a, b) => selected[b] - selected[a] || a - b);
}

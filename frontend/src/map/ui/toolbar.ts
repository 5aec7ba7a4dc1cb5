// The tools at the map's upper edge: four with words, and under "View" all that changes how the points are drawn.
import { h, icon, updateAttribute } from "../../lib/dom.ts";
import { markersInWords, nextMarkers } from "../data/columns.ts";
import type { ShownImages } from "../../workbench/store.ts";
import type { MapState } from "../data/state.ts";

const ICONS = {
  pan: "M8 1.5v13M1.5 8h13M8 1.5 6.2 3.3M8 1.5l1.8 1.8M8 14.5l-1.8-1.8M8 14.5l1.8-1.8M1.5 8l1.8-1.8M1.5 8l1.8 1.8M14.5 8l-1.8-1.8M14.5 8l-1.8 1.8",
  lasso:
    "M8 2.5c3.6 0 6 1.7 6 4s-2.4 4-6 4-6-1.7-6-4 2.4-4 6-4ZM5 10.2c-1.3.3-1.8 1.2-1.2 2 .6.9 2 .7 2.2-.3.2-1-.4-1.6-1-1.7M5.8 11.8c.6.9.4 1.9-.6 2.4",
  box: "M2.5 4.5v-2h2M7 2.5h2M11.5 2.5h2v2M13.5 7v2M13.5 11.5v2h-2M9 13.5H7M4.5 13.5h-2v-2M2.5 9V7",
  home: "M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10M6.2 8a1.8 1.8 0 1 0 3.6 0 1.8 1.8 0 1 0-3.6 0",
  here: "M8 1.8a4.6 4.6 0 0 1 4.6 4.6c0 3-4.6 7.8-4.6 7.8S3.4 9.4 3.4 6.4A4.6 4.6 0 0 1 8 1.8M6.7 5.4a1.4 1.4 0 1 1 1.9 1.3c-.5.2-.6.5-.6 1M8 9.2v.1",
  markers:
    "M4.6 1.8 7.2 6.4H2ZM10 2.3h4v4h-4ZM4.6 9.4a2.4 2.4 0 1 1 0 4.8 2.4 2.4 0 1 1 0-4.8M12 9l2.7 2.8L12 14.5l-2.7-2.7Z",
  trails: "M2 13.5c3.5-.5 2-6 5.5-6.5S9.5 4 11 3.4M13.8 3a1.6 1.6 0 1 1-3.2 0 1.6 1.6 0 1 1 3.2 0",
  names: "M3 4.2V2.8h10v1.4M8 2.8v10.4M6 13.2h4",
  density:
    "M8 2.2c3.4-.4 6 2 5.8 5.3-.2 3.6-3 6.2-6.3 6-3.2-.2-5.5-2.8-5.3-6C2.4 4.6 5 2.5 8 2.2ZM8.2 5.2c1.8 0 3 1.1 2.9 2.7-.1 1.7-1.5 2.9-3.2 2.8-1.6-.1-2.7-1.3-2.6-2.9C5.4 6.3 6.6 5.2 8.2 5.2Z",
  pictures: "M2.5 3h4.5v4.5H2.5ZM9 3h4.5v4.5H9ZM2.5 9.2h4.5v4.3H2.5ZM9 9.2h4.5v4.3H9Z",
  isolate: "M3 5.5V3h2.5M10.5 3H13v2.5M13 10.5V13h-2.5M5.5 13H3v-2.5M8 6.3a1.7 1.7 0 1 0 0 3.4 1.7 1.7 0 1 0 0-3.4",
  subset: "M3 2.5v10.5h10.5M6 9.5h.1M7.5 6h.1M10.5 7.5h.1M11.5 3.8h.1M9.3 10.5h.1",
  whole: "M6.5 3 3 6.5M3 3v3.5h3.5M9.5 3 13 6.5M13 3v3.5H9.5M6.5 13 3 9.5M3 13V9.5h3.5M9.5 13 13 9.5M13 13V9.5H9.5",
  undo: "M5.5 3 2.5 6l3 3M2.5 6h6.5a4 4 0 0 1 0 8H6",
  redo: "M10.5 3l3 3-3 3M13.5 6H7a4 4 0 0 0 0 8h3",
  images: "M5.5 3.5a4 4 0 1 0 0 8 4 4 0 1 0 0-8M11 6.2a3 3 0 1 1-1.6 5.6",
  view: "M2.5 4.5h6M11.5 4.5h2M2.5 11.5h2M7.5 11.5h6M11.5 4.5a1.5 1.5 0 1 1-3 0 1.5 1.5 0 1 1 3 0M7.5 11.5a1.5 1.5 0 1 1-3 0 1.5 1.5 0 1 1 3 0",
  fullscreen: "M9.5 2.5h4v4M13.5 2.5 9.3 6.7M6.5 13.5h-4v-4M2.5 13.5l4.2-4.2",
  present: "M2 3h12M3 3v7.5h10V3M8 10.5v1.5M5.5 14 8 12l2.5 2",
};

// What each tool does, its words, and its key where it stands under "View".
const TOOLS = {
  pan: ["Move the map (V)", "Move"],
  lasso: ["Select with a lasso (L, or Shift and drag)", "Lasso"],
  home: ["Fit all points (Home or double-click)", "Fit"],
  box: ["Select with a box (B)", "Box selection", "B"],
  here: ["What lies here? Then click a place of the map (Q)", "What lies here?", "Q"],
  names: ["Class names on the map (N)", "Class names", "N"],
  markers: ["Marker shape per class (M)", "Marker shapes", "M"],
  trails: ["Trails of pinned or selected points (T)", "Trails", "T"],
  density: ["Contours of where points are dense (D)", "Contours", "D"],
  pictures: ["Pictures wherever there is room (P)", "Pictures", "P"],
  images: ["Test set. Click to add the training set (I)", "Training set", "I"],
  fullscreen: ["Fullscreen (F)", "Fullscreen", "F"],
  present: ["Fullscreen, larger: for a projector (G)", "Projector", "G"],
  undo: ["Undo the last choice: selection, pin, hidden classes, color, view (Ctrl+Z)"],
  redo: ["Redo (Ctrl+Shift+Z)"],
  isolate: ["Show the selected points alone (X)"],
  subset: ["Project the selected points again, alone (A)"],
  whole: ["Back to the map of all points (W)"],
} as const;
export type Tool = keyof typeof TOOLS;

const IMAGES: Record<ShownImages, string> = {
  test: TOOLS.images[0],
  both: "Test set (discs) and training set (rings). Click for the training set only (I)",
  train: "Training set (rings), test set faint. Click for the test set only (I)",
};

export class Toolbar {
  readonly node: HTMLElement;
  /** Tools for what is chosen; there once something was. */
  readonly choices: HTMLElement;
  /** The tools that are there once a person opens them. */
  readonly view: HTMLDetailsElement;
  private tools = {} as Record<Tool, HTMLElement>;

  /** `use` hears which tool is used; `menus` stand above those under "View". */
  constructor(use: (tool: Tool) => void, ...menus: HTMLElement[]) {
    const all = Object.entries(TOOLS) as [Tool, readonly [string, string?, string?]][];
    const { tools } = this;
    const click = (name: Tool) => {
      if (name === "box" || name === "here") this.view.open = false; // the map is clicked next, which it covers
      use(name);
    };
    for (const [name, [title, words, key]] of all) {
      const look = { class: "tool", "data-tool": name, title, "aria-label": title, click: () => click(name) };
      const parts = [words ? h("span", "words", words) : null, key ? h("kbd", null, key) : null];
      tools[name] = h("button", look, icon(ICONS[name]), ...parts);
    }
    const group = (...names: Tool[]) => h("div", "group", ...names.map((name) => tools[name]));
    const below = all.flatMap(([name, [, , key]]) => (key ? [tools[name]] : []));
    const summary = h("summary", { class: "tool", title: "Color, and how points are drawn" });
    summary.append(icon(ICONS.view), h("span", "words", "View"));
    this.view = h("details", "view", summary, h("div", "panel", ...menus, ...below));
    this.view.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !this.view.open) return;
      event.stopPropagation();
      this.view.open = false;
      summary.focus();
    });
    const bar = (look: string, label: string) => ({ class: look, role: "toolbar", "aria-label": label });
    this.node = h("div", bar("toolbar", "Map tools"), group("pan", "lasso"), group("home"), this.view);
    // The first keep their places as the others go.
    const choices = group("undo", "redo", "isolate", "subset", "whole");
    this.choices = h("div", { ...bar("toolbar choices", "What is chosen"), hidden: true }, choices);
    if (!document.fullscreenEnabled) tools.fullscreen.hidden = tools.present.hidden = true;
  }

  update(state: MapState, solid: boolean): void {
    const { data, subset, mode, names, trails, density, pictures, images, markers, model, sprites } = state;
    const { canUndo, canRedo } = state.store;
    const { tools } = this;
    this.choices.hidden = ![canUndo, canRedo, model.selected, model.isolated, subset].some(Boolean);
    tools.isolate.hidden = !(model.selected ?? model.isolated);
    tools.subset.hidden = tools.isolate.hidden || !(data.projects || data.layouts);
    tools.whole.hidden = !subset;
    tools.pictures.hidden = !sprites || model.noun === "point";
    // A page without a server has no net to ask, and rows have none; in space, a click is no place.
    tools.images.hidden = !data.events_url || ![undefined, "point"].includes(data.noun);
    tools.here.hidden = !data.events_url || solid;
    updateAttribute(tools.undo, "aria-disabled", !canUndo);
    updateAttribute(tools.redo, "aria-disabled", !canRedo);
    const isolate = model.isolated !== null;
    const shapes = markers !== "plain";
    const pressed = { names, trails, density, pictures, isolate, markers: shapes, images: images !== "test" };
    const modes = { pan: mode === "pan", lasso: mode === "lasso", box: mode === "box", here: mode === "here" };
    for (const [name, is] of Object.entries({ ...pressed, ...modes }))
      updateAttribute(tools[name as Tool], "aria-pressed", is);
    const [shape, next] = [markers, nextMarkers(state)].map(markersInWords);
    const titles = {
      pan: solid ? "Rotate the map (V)" : TOOLS.pan[0],
      markers: shapes ? `Marker shape per ${shape}. Click for ${next} (M)` : TOOLS.markers[0],
      isolate: isolate ? "Show all points again (X)" : TOOLS.isolate[0],
      images: IMAGES[images],
    };
    for (const [name, title] of Object.entries(titles))
      for (const attribute of ["title", "aria-label"]) updateAttribute(tools[name as Tool], attribute, title);
  }
}

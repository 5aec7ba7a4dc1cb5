// The tools at the map's upper edge: four with words, and under "View" all that changes how the points are drawn.
import { h, icon, updateAttribute } from "../../lib/dom.ts";
import { markersInWords, nextMarkers } from "../data/markerShapes.ts";
import type { ShownImages } from "../../workbench/store.ts";
import type { MapState, Mode } from "../data/state.ts";

const ICONS = {
  pan: "M8 1.5v13M1.5 8h13M8 1.5 6.2 3.3M8 1.5l1.8 1.8M8 14.5l-1.8-1.8M8 14.5l1.8-1.8M1.5 8l1.8-1.8M1.5 8l1.8 1.8M14.5 8l-1.8-1.8M14.5 8l-1.8 1.8",
  lasso:
    "M8 2.5c3.6 0 6 1.7 6 4s-2.4 4-6 4-6-1.7-6-4 2.4-4 6-4ZM5 10.2c-1.3.3-1.8 1.2-1.2 2 .6.9 2 .7 2.2-.3.2-1-.4-1.6-1-1.7M5.8 11.8c.6.9.4 1.9-.6 2.4",
  box: "M2.5 4.5v-2h2M7 2.5h2M11.5 2.5h2v2M13.5 7v2M13.5 11.5v2h-2M9 13.5H7M4.5 13.5h-2v-2M2.5 9V7",
  home: "M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10M6.2 8a1.8 1.8 0 1 0 3.6 0 1.8 1.8 0 1 0-3.6 0",
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

const IMAGES: Record<ShownImages, string> = {
  test: "Test images. Click to add training images (I)",
  both: "Test images (discs) and training images (rings). Click for training images only (I)",
  train: "Training images (rings), test images faint. Click for test images only (I)",
};

const MARKERS = "Marker shape per class (M)";
const ISOLATE = "Show the selected images alone (X)";
const ISOLATED = "Show all images again (X)";

export interface ToolbarHooks {
  mode: (mode: Mode) => void;
  home: () => void;
  markers: () => void;
  names: () => void;
  trails: () => void;
  density: () => void;
  pictures: () => void;
  isolate: () => void;
  subset: () => void;
  whole: () => void;
  undo: () => void;
  redo: () => void;
  images: () => void;
  fullscreen: () => void;
  present: () => void;
}

export class Toolbar {
  readonly node: HTMLElement;
  /** Tools for what is chosen; there once something was. */
  readonly choices: HTMLElement;
  /** The tools that are there once a person opens them. */
  readonly view: HTMLDetailsElement;
  private modes: Record<Mode, HTMLElement>;
  private markers: HTMLElement;
  private names: HTMLElement;
  private trails: HTMLElement;
  private density: HTMLElement;
  private pictures: HTMLElement;
  private isolate: HTMLElement;
  private subset: HTMLElement;
  private whole: HTMLElement;
  private undo: HTMLElement;
  private redo: HTMLElement;
  private images: HTMLElement;

  /** `menus` stand above the tools under "View". */
  constructor(on: ToolbarHooks, ...menus: HTMLElement[]) {
    const tool = (name: keyof typeof ICONS, label: string, act: () => void, words = "") =>
      h(
        "button",
        { type: "button", class: "tool", "data-tool": name, title: label, "aria-label": label, click: act },
        icon(ICONS[name]),
        words ? h("span", "words", words) : null,
      );
    const item = (name: keyof typeof ICONS, label: string, act: () => void, words: string, key: string) => {
      const node = tool(name, label, act, words);
      node.append(h("kbd", null, key));
      return node;
    };
    this.modes = {
      pan: tool("pan", "Move the map (V)", () => on.mode("pan"), "Move"),
      lasso: tool("lasso", "Select with a lasso (L, or Shift and drag)", () => on.mode("lasso"), "Lasso"),
      box: item("box", "Select with a box (B)", () => on.mode("box"), "Box selection", "B"),
    };
    const home = tool("home", "Fit all points (Home or double-click)", () => on.home(), "Fit");
    this.names = item("names", "Class names on the map (N)", () => on.names(), "Class names", "N");
    this.markers = item("markers", MARKERS, () => on.markers(), "Marker shapes", "M");
    this.trails = item("trails", "Trails of pinned or selected images (T)", () => on.trails(), "Trails", "T");
    this.density = item("density", "Contours of where points are dense (D)", () => on.density(), "Contours", "D");
    this.pictures = item("pictures", "Pictures wherever there is room (P)", () => on.pictures(), "Pictures", "P");
    this.images = item("images", IMAGES.test, () => on.images(), "Training images", "I");
    const present = item("present", "Fullscreen, larger: for a projector (G)", () => on.present(), "Projector", "G");
    const fullscreen = item("fullscreen", "Fullscreen (F)", () => on.fullscreen(), "Fullscreen", "F");
    this.isolate = tool("isolate", ISOLATE, () => on.isolate());
    this.subset = tool("subset", "Project the selected images again, alone (A)", () => on.subset());
    this.whole = tool("whole", "Back to the map of all images (W)", () => on.whole());
    const group = (...tools: HTMLElement[]) => h("div", { class: "group" }, ...tools);
    const { names, markers, trails, density, pictures, images } = this;
    const summary = h("summary", { class: "tool", title: "Color, and how points are drawn" });
    summary.append(icon(ICONS.view), h("span", "words", "View"));
    this.view = h(
      "details",
      "view",
      summary,
      h(
        "div",
        "panel",
        ...menus,
        this.modes.box,
        names,
        markers,
        trails,
        density,
        pictures,
        images,
        fullscreen,
        present,
      ),
    );
    this.view.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !this.view.open) return;
      event.stopPropagation();
      this.view.open = false;
      summary.focus();
    });
    this.node = h(
      "div",
      { class: "toolbar", role: "toolbar", "aria-label": "Map tools" },
      group(this.modes.pan, this.modes.lasso),
      group(home),
      this.view,
    );
    this.undo = tool("undo", "Undo the last choice: selection, pin, hidden classes, color, view (Ctrl+Z)", () =>
      on.undo(),
    );
    this.redo = tool("redo", "Redo (Ctrl+Shift+Z)", () => on.redo());
    this.choices = h(
      "div",
      { class: "toolbar choices", role: "toolbar", "aria-label": "What is chosen", hidden: true },
      group(this.undo, this.redo, this.isolate, this.subset, this.whole), // the first keep their places as the others go
    );
    if (!document.fullscreenEnabled) fullscreen.hidden = present.hidden = true;
  }

  update(state: MapState, { canUndo, canRedo }: { canUndo: boolean; canRedo: boolean }, solid: boolean): void {
    const { data, mode, names, trails, density, pictures, images, model, sprites } = state;
    this.choices.hidden = ![canUndo, canRedo, model.selected, model.isolated, data.subset].some(Boolean);
    this.isolate.hidden = !(model.selected ?? model.isolated);
    this.subset.hidden = this.isolate.hidden || !data.projects; // a page without a server projects nothing
    this.whole.hidden = !data.subset;
    updateAttribute(this.undo, "aria-disabled", !canUndo);
    updateAttribute(this.redo, "aria-disabled", !canRedo);
    for (const [name, button] of Object.entries(this.modes)) updateAttribute(button, "aria-pressed", name === mode);
    updateAttribute(this.modes.pan, "title", solid ? "Rotate the map (V)" : "Move the map (V)");
    const [shape, next] = [state.markers, nextMarkers(state)].map(markersInWords);
    const markers = state.markers === "plain" ? MARKERS : `Marker shape per ${shape}. Click for ${next} (M)`;
    updateAttribute(this.markers, "aria-pressed", state.markers !== "plain");
    updateAttribute(this.markers, "title", markers);
    updateAttribute(this.markers, "aria-label", markers);
    updateAttribute(this.names, "aria-pressed", names);
    updateAttribute(this.trails, "aria-pressed", trails);
    updateAttribute(this.density, "aria-pressed", density);
    updateAttribute(this.pictures, "aria-pressed", pictures);
    this.pictures.hidden = !sprites;
    updateAttribute(this.isolate, "aria-pressed", model.isolated !== null);
    updateAttribute(this.isolate, "title", model.isolated ? ISOLATED : ISOLATE);
    updateAttribute(this.isolate, "aria-label", model.isolated ? ISOLATED : ISOLATE);
    updateAttribute(this.images, "aria-pressed", images !== "test");
    this.images.hidden = !data.events_url; // a page without a server has no training images
    updateAttribute(this.images, "title", IMAGES[images]);
    updateAttribute(this.images, "aria-label", IMAGES[images]);
  }
}

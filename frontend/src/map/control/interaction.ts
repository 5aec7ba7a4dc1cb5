// Pointing at the map: hover and card, pin and neighbors.
import { bus } from "../../lib/bus.ts";
import { minOf } from "../../lib/extent.ts";
import type { Point } from "../math/camera.ts";
import { towards } from "../math/picking.ts";
import type { Pointed } from "../render/overlayRenderer.ts";
import type { Here } from "./here.ts";
import type { MapParts } from "./parts.ts";
import type { Selection } from "./selection.ts";

const DWELL_MS = 110; // of rest before the card comes
const HIT_RADIUS_PX = 12;
const KEPT_RADIUS_PX = 10;
const TOUCH_RADIUS_PX = 22;
const EDGE_PX = 40; // nearer to it than this a walk moves the map

type Parts = Pick<MapParts, "state" | "scene" | "layout"> & {
  /** Half the side of the pictures on the stage. */
  pictureReach: () => number;
  /** Places of the kept pictures on the stage. */
  galleryPlaces: () => Point[];
  selection: Selection;
  here: Pick<Here, "ask" | "clear">;
};

export class Interaction implements Pointed {
  hovered: number | null = null;
  card: number | null = null;
  kept: number | null = null;
  /** The class under the pointer in the legend. */
  spotlight: number | null = null;
  private dwell: ReturnType<typeof setTimeout> | undefined;

  constructor(private parts: Parts) {}

  private reach(touch: boolean): number {
    return Math.max(touch ? TOUCH_RADIUS_PX : HIT_RADIUS_PX, this.parts.pictureReach());
  }

  // ---- hover

  hover(x: number, y: number): void {
    const { scene, state } = this.parts;
    if (state.mode === "here") return;
    const kept = this.keptAt(x, y);
    if (kept !== this.kept) scene.invalidate();
    this.kept = kept;
    const item = kept === null ? scene.pick(x, y, this.reach(false)) : -1;
    this.setHovered(item < 0 ? null : item);
    scene.overlay.style.cursor = item < 0 || state.mode !== "pan" ? "" : "pointer";
  }

  private keptAt(x: number, y: number): number | null {
    const distances = this.parts.galleryPlaces().map((place) => Math.hypot(place[0] - x, place[1] - y));
    const nearest = distances.indexOf(minOf(distances));
    return distances[nearest] <= KEPT_RADIUS_PX ? nearest : null;
  }

  /** Without `notify` it comes from elsewhere: no event is sent, and no card is shown. */
  setHovered(item: number | null, { notify = true } = {}): void {
    const isSame = item === this.hovered;
    if (isSame && (item === null || this.card !== null || this.dwell)) return; // a pin may have taken its card away
    const { layout, scene, state } = this.parts;
    this.hovered = item;
    this.card = null;
    this.stopDwell();
    if (item === null) layout.tooltip.hide();
    else if (notify) this.dwell = setTimeout(() => this.showCard(), layout.tooltip.node.hidden ? DWELL_MS : 0);
    if (isSame) return;
    if (notify) bus.emit("hover", { run: state.data.run, item, source: state });
    scene.invalidate();
  }

  private showCard(): void {
    this.dwell = undefined;
    this.card = this.hovered;
    this.parts.scene.invalidate();
  }

  private stopDwell(): void {
    clearTimeout(this.dwell);
    this.dwell = undefined;
  }

  leave(): void {
    this.setHovered(null);
    this.card = this.kept = null;
    this.parts.layout.tooltip.hide();
  }

  // ---- pin

  click(x: number, y: number, event: PointerEvent): void {
    const touch = event.pointerType === "touch";
    if (this.parts.state.mode === "here") return this.parts.here.ask(x, y);
    const {
      state: { model },
      scene,
      layout,
      selection,
    } = this.parts;
    const item = scene.pick(x, y, this.reach(touch));
    if (item >= 0) {
      this.pin(item);
      if (touch) this.card = item;
    } else if (model.pinned !== null) this.pin(null);
    else if (model.selected) selection.clear();
    if (item < 0) layout.tooltip.hide();
  }

  /** Pin an item; null: none. */
  pin(item: number | null): void {
    const { store, model } = this.parts.state;
    if (item === model.pinned) return;
    store.record();
    store.set({ pinned: item });
  }

  /** Something else is pinned. */
  repinned(): void {
    this.card = null;
    this.parts.layout.tooltip.refresh();
  }

  /** Go from the pinned point to the next one in a direction; from nowhere to the point in the middle. */
  walk(direction: readonly [number, number]): void {
    const {
      state: { model },
      scene,
    } = this.parts;
    if (!scene.tween || !scene.camera.view) return;
    const { width, height } = scene.port;
    const from = model.pinned;
    const next =
      from !== null && scene.usable[from]
        ? towards(scene.places(), scene.usable, from, direction)
        : scene.pick(width / 2, height / 2, Math.hypot(width, height));
    if (next < 0) return;
    this.pin(next);
    this.card = next;
    const [x, y] = scene.screenOf(next);
    if (x < EDGE_PX || y < EDGE_PX || x > width - EDGE_PX || y > height - EDGE_PX)
      scene.camera.pan(width / 2 - x, height / 2 - y);
  }

  /** Escape: the place that was asked about goes first, then the selection, then the pin. */
  clear(): void {
    const { state, layout, selection, here } = this.parts;
    const { model } = state;
    selection.path = [];
    const wasHere = state.mode === "here";
    if (here.clear()) return;
    if (wasHere) state.mode = "pan";
    if (wasHere) return;
    if (model.selected) selection.clear();
    else this.pin(null);
    layout.tooltip.hide();
  }

  destroy(): void {
    this.stopDwell();
  }
}

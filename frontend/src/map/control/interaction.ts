// What the person points at: hover and card, pin and neighbors.
import { bus } from "../../lib/bus.ts";
import type { MapState } from "../data/state.ts";
import { towards } from "../math/picking.ts";
import type { Pointed } from "../render/overlayRenderer.ts";
import type { Scene } from "../render/scene.ts";
import type { Tooltip } from "../ui/tooltip.ts";
import type { Selection } from "./selection.ts";
import type { SentState } from "./sentState.ts";

const DWELL_MS = 110; // of rest before the card comes
const HIT_RADIUS_PX = 12;
const TOUCH_RADIUS_PX = 22;
const KEY_DEBOUNCE_MS = 140; // until a walk by arrow keys tells Python
const EDGE_PX = 40; // nearer to it than this a walk moves the map

export interface InteractionParts {
  state: MapState;
  scene: Scene;
  tooltip: Tooltip;
  /** Half the side of the pictures on the stage. */
  pictureReach: () => number;
  selection: Selection;
  sent: SentState;
  /** The person is about to pin something else. */
  record: () => void;
  /** What lies around the points is to be shown anew. */
  changed: () => void;
}

export class Interaction implements Pointed {
  hovered: number | null = null;
  carded: number | null = null;
  /** The class under the pointer in the legend. */
  spotlight: number | null = null;
  private dwell: ReturnType<typeof setTimeout> | undefined;
  private telling: ReturnType<typeof setTimeout> | undefined;

  constructor(private parts: InteractionParts) {}

  private reach(touch: boolean): number {
    return Math.max(touch ? TOUCH_RADIUS_PX : HIT_RADIUS_PX, this.parts.pictureReach());
  }

  // ---- hover

  hover(x: number, y: number): void {
    const { scene, state } = this.parts;
    const item = scene.pick(x, y, this.reach(false));
    this.setHovered(item < 0 ? null : item);
    scene.overlay.style.cursor = item < 0 || state.mode !== "pan" ? "" : "pointer";
  }

  /** Without `notify` it comes from elsewhere: nobody is told, and no card is shown. */
  setHovered(item: number | null, { notify = true } = {}): void {
    if (item === this.hovered) return;
    const { tooltip, scene, state } = this.parts;
    this.hovered = item;
    this.carded = null;
    clearTimeout(this.dwell);
    if (item === null) tooltip.hide();
    else if (notify) this.dwell = setTimeout(() => this.showCard(), tooltip.node.hidden ? DWELL_MS : 0);
    if (notify) bus.emit("hover", { run: state.data.run, item, source: state });
    scene.invalidate();
  }

  private showCard(): void {
    this.carded = this.hovered;
    this.parts.scene.invalidate();
  }

  leave(): void {
    this.setHovered(null);
    this.carded = null;
    this.parts.tooltip.hide();
  }

  // ---- pin

  click(x: number, y: number, event: PointerEvent): void {
    const touch = event.pointerType === "touch";
    const {
      state: { model },
      scene,
      tooltip,
      selection,
    } = this.parts;
    const item = scene.pick(x, y, this.reach(touch));
    if (item >= 0) {
      this.pin(item);
      if (touch) this.carded = item;
    } else if (model.pinned !== null) this.pin(null);
    else if (model.selected) selection.clear();
    if (item < 0) tooltip.hide();
  }

  /** Pin an item (null: none) here at once, and tell Python after `wait` milliseconds; without `notify` another map does. */
  pin(item: number | null, { wait = 0, notify = true, record = true } = {}): void {
    const {
      state: { model, data },
      state,
      tooltip,
      sent,
      changed,
    } = this.parts;
    if (item === model.pinned) return;
    if (notify && record) this.parts.record();
    model.pinned = item;
    model.neighbors = [];
    this.carded = null;
    tooltip.refresh();
    if (notify) {
      bus.emit("pin", { run: data.run, item, source: state });
      clearTimeout(this.telling);
      const tell = () => sent.send("pinned", item);
      if (wait) this.telling = setTimeout(tell, wait);
      else tell();
    }
    changed();
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
    this.pin(next, { wait: KEY_DEBOUNCE_MS });
    this.carded = next;
    const [x, y] = scene.screenOf(next);
    if (x < EDGE_PX || y < EDGE_PX || x > width - EDGE_PX || y > height - EDGE_PX)
      scene.camera.pan(width / 2 - x, height / 2 - y);
  }

  /** Escape: the selection goes first, then the pin. */
  clear(): void {
    const {
      state: { model },
      tooltip,
      selection,
    } = this.parts;
    selection.path = [];
    if (model.selected) selection.clear();
    else this.pin(null);
    tooltip.hide();
  }

  destroy(): void {
    clearTimeout(this.dwell);
    clearTimeout(this.telling);
  }
}

// What the person points at: hover and card, pin and neighbors, lasso and box.
import { packBits, unpackBits } from "../../lib/bitmask.ts";
import { bus } from "../../lib/bus.ts";
import { publishSelection } from "../../lib/publishedSelection.ts";
import type { SelectMode } from "../data/model.ts";
import type { MapState } from "../data/state.ts";
import { insideBox, insidePath, towards } from "../math/picking.ts";
import type { Pointed } from "../render/overlayRenderer.ts";
import type { Scene } from "../render/scene.ts";
import type { Tooltip } from "../ui/tooltip.ts";

const DWELL_MS = 110; // of rest before the card comes
const HIT_RADIUS_PX = 12;
const TOUCH_RADIUS_PX = 22;
const KEY_DEBOUNCE_MS = 140; // until a walk by arrow keys tells Python
const EDGE_PX = 40; // nearer to it than this a walk moves the map
const FROM_URL_REASON = "Selection from the link. Click an image to pin it.";

export interface InteractionParts {
  state: MapState;
  scene: Scene;
  tooltip: Tooltip;
  /** Half the side of the pictures on the stage. */
  pictureReach: () => number;
  /** The step that is shown. */
  step: () => number | null;
  sendState: (name: string, value: unknown) => void;
  /** A person has selected something else. */
  selected: (mask: Uint8Array | null, reason: string | null) => void;
  /** Colors, or only what lies around the points, are to be shown anew. */
  repaint: () => void;
  changed: () => void;
}

export class Interaction implements Pointed {
  hovered: number | null = null;
  carded: number | null = null;
  path: number[] = [];
  /** The class under the pointer in the legend. */
  spotlight: number | null = null;
  /** Why the selected items are selected, as told by whoever selected them. */
  reason: string | null = null;
  /** What Python was told and has not sent back. */
  private told: Record<"pinned" | "selected", unknown[]> = { pinned: [], selected: [] };
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
    } = this.parts;
    const item = scene.pick(x, y, this.reach(touch));
    if (item >= 0) {
      this.pin(item);
      if (touch) this.carded = item;
    } else if (model.pinned !== null) this.pin(null);
    else if (model.selected) this.select(new Uint8Array(model.n), "replace");
    if (item < 0) tooltip.hide();
  }

  /** Pin an item (null: none) here at once, and tell Python after `wait` milliseconds; without `notify` another map does. */
  pin(item: number | null, { wait = 0, notify = true } = {}): void {
    const {
      state: { model, data },
      state,
      tooltip,
      changed,
    } = this.parts;
    if (item === model.pinned) return;
    model.pinned = item;
    model.neighbors = [];
    this.carded = null;
    tooltip.refresh();
    if (notify) {
      bus.emit("pin", { run: data.run, item, source: state });
      clearTimeout(this.telling);
      const tell = () => this.sendState("pinned", item);
      if (wait) this.telling = setTimeout(tell, wait);
      else tell();
    }
    changed();
  }

  private sendState(name: "pinned" | "selected", value: unknown, id: unknown = value): void {
    this.told[name].push(id);
    this.parts.sendState(name, value);
  }

  /** Whether what Python sends is its own: not an echo of one of ours that a later one has overtaken. */
  isExternalChange(name: "pinned" | "selected", id: unknown): boolean {
    const told = this.told[name];
    const at = told.indexOf(id);
    this.told[name] = at < 0 ? [] : told.slice(at + 1);
    return !this.told[name].length;
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

  // ---- selection

  lasso(path: number[]): void {
    this.path = path;
    this.parts.scene.invalidate();
  }

  lassoEnd(path: number[], box: boolean, event: PointerEvent): void {
    this.path = [];
    const {
      scene,
      state: { mode },
    } = this.parts;
    if (!scene.tween || path.length < 6) {
      scene.invalidate();
      return;
    }
    const world: number[] = [];
    for (let p = 0; p < path.length; p += 2) world.push(...scene.toWorld(path[p], path[p + 1]));
    const places = scene.places();
    const mask = box
      ? insideBox(places, scene.usable, [world[0], world[1], world[4], world[5]])
      : insidePath(places, scene.usable, world);
    this.select(mask, event.altKey ? "subtract" : mode !== "pan" && event.shiftKey ? "add" : "replace");
  }

  select(mask: Uint8Array, how: SelectMode, reason: string | null = null): void {
    const {
      state: { model },
      selected,
      repaint,
    } = this.parts;
    const before = model.selected;
    model.select(mask, how);
    this.reason = reason;
    if (before || model.selected) this.publishSelection();
    selected(model.selected, reason);
    repaint();
  }

  /** Select what is selected on a linked map, of what can be seen here; that one tells of it. */
  selectAlong(mask: Uint8Array | null, reason: string | null): void {
    const { model } = this.parts.state;
    model.select(
      mask ? mask.map((chosen, i) => (chosen && model.isVisible(i) ? 1 : 0)) : new Uint8Array(model.n),
      "replace",
    );
    this.reason = reason;
    this.parts.repaint();
  }

  /** Select the items that another part of the page names, of those that can be seen; `reason` says what they are. */
  selectItems(items: number[], reason: string | null): void {
    const {
      state: { model },
      scene,
    } = this.parts;
    if (!scene.frame) return;
    const mask = new Uint8Array(model.n);
    for (const item of items) mask[item] = scene.usable[item];
    this.select(mask, "replace", reason);
  }

  /** Select what Python sends, which has it from the address; false where that is selected already. */
  adoptSelection(bits: string | null): boolean {
    const { model } = this.parts.state;
    const mask = bits ? unpackBits(bits, model.n) : null;
    const next = mask?.some(Boolean) ? mask : null;
    if (String(next) === String(model.selected)) return false;
    model.selected = next;
    this.reason = next && FROM_URL_REASON;
    return true;
  }

  /** Tell Python and the parts beside the map what is selected. */
  publishSelection(): void {
    const { selected } = this.parts.state.model;
    const packed = selected && packBits(selected);
    this.sendState("selected", packed, packed?.bits ?? null);
    this.notifyPanels();
  }

  /** Tell the parts beside the map what is selected. */
  notifyPanels(): void {
    const {
      state: { model, data, sprites },
      scene,
      step,
    } = this.parts;
    if (!model.selected) {
      publishSelection(null);
      return;
    }
    const items: number[] = [];
    for (let i = 0; i < model.n; i++) if (model.selected[i]) items.push(i);
    const { classes, labels } = model;
    publishSelection({
      run: data.run,
      items,
      labels,
      classes,
      present: scene.frame?.present,
      sprites: sprites?.layout ?? null,
      reason: this.reason,
      step: step(),
    });
  }

  /** Escape: the selection goes first, then the pin. */
  clear(): void {
    const {
      state: { model },
      tooltip,
    } = this.parts;
    this.path = [];
    if (model.selected) this.select(new Uint8Array(model.n), "replace");
    else this.pin(null);
    tooltip.hide();
  }

  destroy(): void {
    clearTimeout(this.dwell);
    clearTimeout(this.telling);
  }
}

// Which items are selected: by a lasso or a box, by another part of the page, by a linked map, by the address.
import { packBits, unpackBits } from "../../lib/bitmask.ts";
import { publishSelection } from "../../lib/publishedSelection.ts";
import type { SelectMode } from "../data/model.ts";
import type { MapState } from "../data/state.ts";
import { insideBox, insidePath } from "../math/picking.ts";
import type { Scene } from "../render/scene.ts";
import type { SentState } from "./sentState.ts";

const FROM_URL_REASON = "Selected by a link or a curve. Click an image to pin it.";

const FROM_ISOLATION_REASON = "The images that were shown alone.";

export interface SelectionParts {
  state: MapState;
  scene: Scene;
  sent: SentState;
  /** The person is about to select something else. */
  record: () => void;
  /** The step that is shown. */
  step: () => number | null;
  /** A person has selected something else. */
  selected: (mask: Uint8Array | null, reason: string | null) => void;
  /** The points have other colors. */
  repaint: () => void;
}

export class Selection {
  /** The lasso or box while it is drawn: [x, y, x, y, …]. */
  path: number[] = [];
  /** Why the selected items are selected, as told by whoever selected them. */
  reason: string | null = null;

  constructor(private parts: SelectionParts) {}

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
      record,
    } = this.parts;
    record();
    const before = model.selected;
    model.select(mask, how);
    this.reason = reason;
    if (before || model.selected) this.publish();
    selected(model.selected, reason);
    repaint();
  }

  /** Show what is selected alone, or all again with that selected. */
  toggleIsolation(): void {
    const { model } = this.parts.state;
    const back = model.isolated !== null && model.selected === null;
    model.toggleIsolation();
    this.restore(model.selected, back ? FROM_ISOLATION_REASON : this.reason);
  }

  /** Bring back what was selected before. */
  restore(mask: Uint8Array | null, reason: string | null): void {
    this.parts.state.model.selected = mask;
    this.reason = reason;
    this.publish();
    this.parts.selected(mask, reason);
  }

  /** Select what is selected on a linked map, of what can be seen here; that one tells of it. */
  adoptLinked(mask: Uint8Array | null, reason: string | null): void {
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
  adopt(bits: string | null): boolean {
    const { model } = this.parts.state;
    const mask = bits ? unpackBits(bits, model.n) : null;
    const next = mask?.some(Boolean) ? mask : null;
    if (String(next) === String(model.selected)) return false;
    model.selected = next;
    this.reason = next && FROM_URL_REASON;
    return true;
  }

  /** Tell Python and the parts beside the map what is selected. */
  publish(): void {
    const { selected } = this.parts.state.model;
    const packed = selected && packBits(selected);
    this.parts.sent.send("selected", packed, packed?.bits ?? null);
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

  /** Select nothing. */
  clear(): void {
    this.select(new Uint8Array(this.parts.state.model.n), "replace");
  }
}

// The selected items: by a lasso or a box, by another part of the page, by the address.
import { type BusEvents, bus } from "../../lib/bus.ts";
import type { SelectMode } from "../data/model.ts";
import { insideBox, insidePath } from "../math/picking.ts";
import type { MapParts } from "./parts.ts";

export class Selection {
  /** The lasso or box while it is drawn: [x, y, x, y, …]. */
  path: number[] = [];

  constructor(private parts: Pick<MapParts, "state" | "scene" | "playback">) {}

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
    for (let p = 0; p < path.length; p += 2) {
      const [x, y] = scene.toWorld(path[p], path[p + 1]);
      world.push(x, y);
    }
    const places = scene.places();
    const mask = box
      ? insideBox(places, scene.usable, [world[0], world[1], world[4], world[5]])
      : insidePath(places, scene.usable, world);
    this.select(mask, event.altKey ? "subtract" : mode !== "pan" && event.shiftKey ? "add" : "replace");
    scene.invalidate();
  }

  private select(mask: ArrayLike<number>, how: SelectMode): void {
    const { model, store } = this.parts.state;
    store.record();
    model.select(mask, how);
  }

  /** Select the items that another part of the page names, of those that can be seen; `reason` says what they are. */
  selectItems({ items, reason, follows }: BusEvents["select"]): void {
    const {
      state: { model, store },
      scene,
    } = this.parts;
    if (!scene.frame) return;
    const mask = new Uint8Array(model.n);
    for (const item of items) mask[item] = scene.usable[item];
    if (!follows) store.record();
    model.select(mask, "replace", reason);
  }

  /** Say to the parts beside the map what is selected. */
  publish(): void {
    const {
      state: { model, data, sprites, store },
      scene,
      playback,
    } = this.parts;
    const { selected, classes, labels } = model;
    if (!selected) return bus.emit("selection", null);
    bus.emit("selection", {
      run: data.run,
      items: [...selected.keys()].filter((item) => selected[item]),
      labels,
      classes,
      present: scene.frame?.present,
      sprites: sprites?.layout ?? null,
      reason: store.state.reason,
      step: playback.shown?.step ?? null,
    });
  }

  /** Select nothing. */
  clear(): void {
    this.select([], "replace");
  }
}

// @ts-nocheck
// What the person points at: hover and card, pin and neighbours, lasso and box.
import { bus } from "../../lib/bus.ts";
import { tellSelection } from "../../lib/selection.ts";
import { packBits, unpackBits } from "../../lib/bitmask.ts";
import { insideBox, insidePath, towards } from "../math/picking.ts";

const DWELL = 110; // milliseconds of rest before the card comes
const REACH = 12; // pixels within which a point is meant
const FINGER = 22;
const WALK = 140; // milliseconds until a walk by arrow keys tells Python
const BY_ADDRESS = "As this page's address has it. Click a picture to pin it.";

/** `view` is the MapView: model, scene, card, setState, and repaint(), changed() to show what follows. */
export class Pointing {
  constructor(view) {
    this.view = view;
    this.hovered = null;
    this.spotlight = null; // class under the pointer in the legend
    this.path = [];
    this.carded = null; // item whose card is shown without a pointer over it
    this.reason = null; // why the selected items are selected, as told by whoever selected them
    this.told = { pinned: [], selected: [] }; // what Python was told and has not sent back
  }

  reach(touch) {
    return Math.max(touch ? FINGER : REACH, this.view.thumbnail / 2);
  }

  // ---- hover

  hover(x, y) {
    const { scene } = this.view;
    const item = scene.pick(x, y, this.reach(false));
    this.setHovered(item < 0 ? null : item);
    scene.overlay.style.cursor = item < 0 || this.view.mode !== "pan" ? "" : "pointer";
  }

  setHovered(item, quiet = false) {
    if (item === this.hovered) return;
    this.hovered = item;
    this.carded = null;
    clearTimeout(this.dwell);
    if (item === null) this.view.card.hide();
    else if (!quiet) this.dwell = setTimeout(() => this.showCard(), this.view.card.node.hidden ? DWELL : 0);
    if (!quiet) bus.emit("hover", { run: this.view.data.run, item, source: this.view });
    this.view.scene.invalidate();
  }

  showCard() {
    this.carded = this.hovered;
    this.view.scene.invalidate();
  }

  leave() {
    this.setHovered(null);
    this.carded = null;
    this.view.card.hide();
  }

  // ---- pin

  click(x, y, event) {
    const touch = event.pointerType === "touch";
    const { model, scene } = this.view;
    const item = scene.pick(x, y, this.reach(touch));
    if (item >= 0) {
      this.pin(item);
      if (touch) this.carded = item;
    } else if (model.pinned !== null) this.pin(null);
    else if (model.selected) this.select(new Uint8Array(model.n), "replace");
    if (item < 0) this.view.card.hide();
  }

  /** Pin an item (null: none) here at once, and tell Python after `wait` milliseconds. */
  pin(item, wait = 0) {
    const { model } = this.view;
    if (item === model.pinned) return;
    model.pinned = item;
    model.neighbours = [];
    this.carded = null;
    this.view.card.refresh();
    bus.emit("pin", { run: this.view.data.run, item, source: this.view });
    clearTimeout(this.telling);
    const tell = () => this.tell("pinned", item);
    if (wait) this.telling = setTimeout(tell, wait);
    else tell();
    this.view.changed();
  }

  /** Pin what is pinned on a linked map; that one tells Python. */
  pinQuietly(item) {
    const { model, card } = this.view;
    if (item === model.pinned) return;
    [model.pinned, model.neighbours, this.carded] = [item, [], null];
    card.refresh();
    this.view.changed();
  }

  tell(name, value, id = value) {
    this.told[name].push(id);
    this.view.setState(name, value);
  }

  /** Whether what Python sends is its own: not an echo of one of ours that a later one has overtaken. */
  isNews(name, id) {
    const told = this.told[name];
    const at = told.indexOf(id);
    this.told[name] = at < 0 ? [] : told.slice(at + 1);
    return !this.told[name].length;
  }

  /** Go from the pinned point to the next one in a direction; from nowhere to the point in the middle. */
  walk([dx, dy]) {
    const { model, scene } = this.view;
    if (!scene.tween || !scene.view) return;
    const { width, height } = scene.port;
    const from = model.pinned;
    const next = from !== null && scene.usable[from]
      ? towards(scene.places(), scene.usable, from, [dx, dy])
      : scene.pick(width / 2, height / 2, Math.hypot(width, height));
    if (next < 0) return;
    this.pin(next, WALK);
    this.carded = next;
    const [x, y] = scene.screenOf(next);
    const margin = 40;
    if (x < margin || y < margin || x > width - margin || y > height - margin) {
      scene.pan(width / 2 - x, height / 2 - y);
    }
  }

  // ---- selection

  lasso(path) {
    this.path = path;
    this.view.scene.invalidate();
  }

  lassoEnd(path, box, event) {
    this.path = [];
    const { scene, mode } = this.view;
    if (!scene.tween || path.length < 6) return scene.invalidate();
    const world = [];
    for (let p = 0; p < path.length; p += 2) world.push(...scene.toWorld(path[p], path[p + 1]));
    const places = scene.places();
    const mask = box
      ? insideBox(places, scene.usable, [world[0], world[1], world[4], world[5]])
      : insidePath(places, scene.usable, world);
    const how = event.altKey ? "subtract" : mode !== "pan" && event.shiftKey ? "add" : "replace";
    this.select(mask, how);
  }

  select(mask, how, reason = null) {
    const before = this.view.model.selected;
    this.view.model.select(mask, how);
    this.reason = reason;
    if (before || this.view.model.selected) this.tellSelection();
    this.view.link.picked(this.view.model.selected, reason);
    this.view.repaint();
  }

  /** Select what is selected on a linked map, of what can be seen here; that one tells of it. */
  selectQuietly(mask, reason) {
    const { model } = this.view;
    model.select(mask ? mask.map((chosen, i) => (chosen && model.shows(i) ? 1 : 0)) : new Uint8Array(model.n), "replace");
    this.reason = reason;
    this.view.repaint();
  }

  /** Select the items that another part of the page names, of those that can be seen; `reason` says what they are. */
  selectItems(items, reason) {
    const { model, scene } = this.view;
    if (!scene.usable) return;
    const mask = new Uint8Array(model.n);
    for (const item of items) mask[item] = scene.usable[item];
    this.select(mask, "replace", reason);
  }

  /** Select what Python sends, which has it from the address; false where that is selected already. */
  adoptSelection(bits) {
    const { model } = this.view;
    const mask = bits ? unpackBits(bits, model.n) : null;
    const next = mask?.some(Boolean) ? mask : null;
    if (String(next) === String(model.selected)) return false;
    [model.selected, this.reason] = [next, next && BY_ADDRESS];
    return true;
  }

  /** Tell Python and the parts beside the map what is selected. */
  tellSelection() {
    const { selected } = this.view.model;
    const packed = selected && packBits(selected);
    this.tell("selected", packed, packed?.bits ?? null);
    this.tellBeside();
  }

  /** Tell the parts beside the map what is selected. */
  tellBeside() {
    const { model, data, playback, sprites, scene } = this.view;
    if (!model.selected) return tellSelection(null);
    const items = [];
    for (let i = 0; i < model.n; i++) if (model.selected[i]) items.push(i);
    const { classes, labels } = model;
    tellSelection({
      run: data.run, items, labels, classes, present: scene.frame?.present, sprites: sprites?.layout ?? null,
      reason: this.reason, step: playback.shown?.step ?? null,
    });
  }

  /** Escape: the selection goes first, then the pin. */
  clear() {
    const { model } = this.view;
    this.path = [];
    if (model.selected) this.select(new Uint8Array(model.n), "replace");
    else this.pin(null);
    this.view.card.hide();
  }

  destroy() {
    clearTimeout(this.dwell);
    clearTimeout(this.telling);
  }
}

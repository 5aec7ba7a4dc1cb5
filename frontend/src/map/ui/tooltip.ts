// @ts-nocheck
// What a point is: its picture, its class, its nearest neighbour.
import { tileStyle } from "../../lib/sprites.ts";
import { css } from "../../lib/theme.ts";
import { element, mark } from "../../lib/dom.ts";

const PICTURE = 96;
const GAP = 14;

export class Card {
  constructor() {
    this.picture = element("div", { class: "picture" });
    this.dot = element("span", { class: "dot" });
    this.name = element("span", { class: "name" });
    this.number = element("span", { class: "number" });
    this.near = element("div", { class: "near" });
    const title = element("div", { class: "title" }, this.dot, this.name);
    const words = element("div", { class: "words" }, title, this.near, this.number);
    this.node = element("div", { class: "card", hidden: true, "aria-hidden": "true" }, this.picture, words);
    this.item = null;
  }

  /** Show item `item` beside the stage place (x, y), above it where there is room. */
  show({ item, model, sprites, colours, x, y, port }) {
    if (item !== this.item) this.fill(item, model, sprites, colours);
    this.node.hidden = false;
    const { offsetWidth: width, offsetHeight: height } = this.node;
    const above = y - height - GAP >= 4;
    const left = Math.max(6, Math.min(port.width - width - 6, x - width / 2));
    this.node.style.transform = `translate(${Math.round(left)}px, ${Math.round(above ? y - height - GAP : y + GAP)}px)`;
  }

  fill(item, model, sprites, colours) {
    this.item = item;
    mark(this.node, "data-item", item);
    const label = model.labels[item];
    this.picture.hidden = !sprites;
    if (sprites) {
      // A whole number of pixels a pixel, so that none is wider than its neighbour.
      const side = Math.max(1, Math.floor(PICTURE / sprites.layout.tile)) * sprites.layout.tile;
      Object.assign(this.picture.style, tileStyle(sprites.layout, item, side));
    }
    this.dot.style.background = css(colours[label] ?? [128, 128, 128]);
    this.name.textContent = model.classes[label];
    this.number.textContent = `test image ${item}`;
    const near = model.nearestOf(item);
    this.near.hidden = !near;
    if (!near) return;
    const other = model.labels[near.item];
    this.near.className = other === label ? "near" : "near wrong";
    const distance = Number.isFinite(near.distance) ? `, ${Number(near.distance).toPrecision(2)} away` : "";
    this.near.textContent = `nearest: ${model.classes[other]}${distance}`;
  }

  /** Fill anew at the next show: what is known of the item has changed. */
  refresh() {
    this.item = null;
  }

  hide() {
    this.node.hidden = true;
  }
}

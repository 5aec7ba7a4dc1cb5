// Details of a point: its picture, its class, its nearest neighbor.
import { tileStyle } from "../../lib/sprites.ts";
import { UNLABELED } from "../../lib/palette.ts";
import { css } from "../../lib/theme.ts";
import { h, updateAttribute } from "../../lib/dom.ts";
import type { MapState } from "../data/state.ts";
import type { Point, Port } from "../math/camera.ts";
import { grouped } from "../../lib/format.ts";
import type { Accuracy } from "../data/model.ts";

/** The share that is right in percent; rounded down, so that 100 means all. */
export const percentRight = ({ recall }: Accuracy): string => `${Math.floor(recall * 1000 + 1e-4) / 10} %`;

/** One sentence, for beside a scale. */
export const accuracyWords = (accuracy: Accuracy, noun: string): string =>
  `Neighbors by an index: ${percentRight(accuracy)} of the ten nearest are right, measured on ${grouped(accuracy.measured)} ${noun}s.`;

const PICTURE = 96; // pixels
const GAP = 14;

/** Where a card stands: above a place of the stage where there is room, else below it and what reaches down to `low`. */
export function besides(
  { offsetWidth: width, offsetHeight: height }: HTMLElement,
  [x, y]: Point,
  port: Port,
  low = y,
): string {
  const above = y - height - GAP >= 4;
  const left = Math.max(6, Math.min(port.width - width - 6, x - width / 2));
  return `translate(${Math.round(left)}px, ${Math.round(above ? y - height - GAP : Math.min(low + GAP, port.height - height - 4))}px)`;
}

export class Tooltip {
  readonly node: HTMLElement;
  private picture = h("div", "picture");
  private dot = h("span", "dot");
  private name = h("span", "name");
  private number = h("span", "number");
  private near = h("div", "near");
  private item: number | null = null;

  constructor() {
    const title = h("div", "title", this.dot, this.name);
    const words = h("div", "words", title, this.near, this.number);
    this.node = h("div", { class: "card", hidden: true, "aria-hidden": "true" }, this.picture, words);
  }

  /** Show item `item` beside a place of the stage. */
  show(item: number, place: Point, port: Port, state: MapState): void {
    if (item !== this.item) this.fill(item, state);
    this.node.hidden = false;
    this.node.style.transform = besides(this.node, place, port);
  }

  private fill(item: number, { model, sprites, colors }: MapState): void {
    this.item = item;
    updateAttribute(this.node, "data-item", item);
    const label = model.labels[item];
    this.picture.hidden = !sprites;
    if (sprites) {
      // A whole number of pixels a pixel, so that none is wider than its neighbor.
      const side = Math.max(1, Math.floor(PICTURE / sprites.layout.tile)) * sprites.layout.tile;
      Object.assign(this.picture.style, tileStyle(sprites.layout, item, side));
    }
    this.dot.style.background = css(colors[model.groupIds[item]] ?? [128, 128, 128]);
    this.name.textContent = model.classes[label];
    const { grouping } = model;
    this.number.textContent = `${model.noun} ${grouped(item)}${grouping ? ` · ${grouping.names[grouping.ids[item]]}` : ""}`;
    const near = model.nearestOf(item);
    this.near.hidden = !near;
    if (!near) return;
    const other = model.labels[near.item];
    const isWrong = other !== label && ![model.classes[other], model.classes[label]].includes(UNLABELED);
    this.near.className = isWrong ? "near wrong" : "near";
    const distance =
      near.distance !== undefined && Number.isFinite(near.distance)
        ? `, ${Number(near.distance).toPrecision(2)} away`
        : "";
    const accuracy = near.item === model.nearest?.items[item] ? model.nearest.accuracy : null;
    const sure = accuracy ? ` (index: ${percentRight(accuracy)} right)` : "";
    this.near.textContent = `nearest: ${model.classes[other]}${distance}${sure}`;
  }

  /** Fill anew at the next show: what is known of the item has changed. */
  refresh(): void {
    this.item = null;
  }

  hide(): void {
    this.node.hidden = true;
  }
}

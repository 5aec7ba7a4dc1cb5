// The cards on the stage: of a point, its picture, class and nearest neighbor; of a place that a person asks about, what lies there.
import { paintBytes, tileStyle } from "../../lib/sprites.ts";
import { UNLABELED } from "../../lib/palette.ts";
import { css } from "../../lib/theme.ts";
import { h, updateAttribute } from "../../lib/dom.ts";
import type { Asked, MapState } from "../data/state.ts";
import type { Point, Port, View } from "../math/camera.ts";
import { grouped, percent } from "../../lib/format.ts";
import type { Accuracy } from "../data/model.ts";

/** The share that is right in percent; rounded down, so that 100 means all. */
export const percentRight = ({ recall }: Accuracy): string => `${Math.floor(recall * 1000 + 1e-4) / 10}%`;

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

const SIDE = 32; // pixels of an image that is mixed
const MOST_VALUES = 8;

/** The mixture at a place, the images that it is made of, where it lands. */
export class HereCard {
  readonly node = h("div", { class: "here", hidden: true, role: "status" });
  private shown = "";

  /** Show what was asked beside its place on the stage and the one where its mixture lands, if it does. */
  show(
    asked: Asked,
    place: Point,
    landed: Point | null,
    { port, view }: { port: Port; view: View },
    state: MapState,
  ): void {
    const to = landed ?? place;
    const away = landed && Math.hypot(to[0] - place[0], to[1] - place[1]) / view.k / asked.width;
    const key = JSON.stringify([asked.near, asked.answer, asked.trouble, away?.toFixed(3)]);
    if (key !== this.shown) this.fill(asked, away, state);
    this.shown = key;
    this.node.hidden = false;
    this.node.style.transform = besides(
      this.node,
      [place[0], Math.min(place[1], to[1])],
      port,
      Math.max(place[1], to[1]),
    );
  }

  hide(): void {
    this.node.hidden = true;
    this.shown = "";
  }

  private fill({ near, answer, trouble }: Asked, away: number | null, { model, sprites }: MapState): void {
    const parts = near.map(({ item, share }) => {
      const picture = h("div", "picture");
      if (sprites) Object.assign(picture.style, tileStyle(sprites.layout, item, SIDE));
      const name = sprites ? null : h("span", "name", model.classes[model.labels[item]]);
      const title = `${model.noun} ${grouped(item)}, ${model.classes[model.labels[item]]}`;
      return h("li", { title }, sprites ? picture : name, h("span", "share", `${Math.round(100 * share)}%`));
    });
    const canvas = h("canvas", "picture");
    if (answer?.picture) paintBytes(canvas, answer.picture);
    const mixed = answer?.values.slice(0, MOST_VALUES).map(([name, value]) => h("li", null, `${name} ${value}`)) ?? [];
    const what = sprites ? "No picture" : `No ${model.noun}`;
    const count = near.length === 1 ? "this one" : `these ${near.length}`;
    updateAttribute(this.node, "data-by-net", answer?.by_net ?? "");
    this.node.replaceChildren(
      ...(answer?.picture ? [canvas] : []),
      h(
        "div",
        "words",
        h("div", null, h("strong", null, what), `: a mixture of ${count}, nearer ones counting more.`),
        h("ul", "parts", ...parts),
        ...(mixed.length ? [h("ul", "values", ...mixed)] : []),
        h("div", trouble ? "trouble" : "near", trouble || (answer ? landing(away, answer.by_net) : "Mixing …")),
      ),
    );
  }
}

function landing(away: number | null, byNet: boolean): string {
  if (away === null) return "It has no place on this map.";
  const who = byNet ? "The net puts this mixture" : "The mean of their vectors lies";
  return away < 0.005 ? `${who} here.` : `${who} at the ring, ${percent(away)} of the map’s width away.`;
}

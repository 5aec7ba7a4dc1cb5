// A card at the pointer: one or two images, and a sentence about them.
import { h } from "../lib/dom.ts";
import { digits } from "../lib/format.ts";
import { tileStyle } from "../lib/sprites.ts";
import { nameOf, type LoadedBatch } from "./batch.ts";
import { DIFFICULTIES } from "./difficultyStyles.ts";

const TILE_PX = 56;

export class BatchTooltip {
  readonly node = h("div", { class: "card", hidden: true, "aria-hidden": "true" });

  hide(): void {
    this.node.hidden = true;
  }

  /** Show one image, or two with their distance; `marks` are those of the distance matrix. */
  show(b: LoadedBatch, images: number[], marks: Uint8Array, event: PointerEvent, within: HTMLElement): void {
    const tiles = images.map((image) => {
      const tile = h("span", "tile");
      Object.assign(tile.style, tileStyle(b.sheet, image, TILE_PX));
      return tile;
    });
    this.node.hidden = false;
    this.node.replaceChildren(
      h("div", "tiles", ...tiles),
      h("span", {}, images.length === 1 ? aboutImage(b, images[0]) : aboutPair(b, images[0], images[1], marks)),
    );
    const box = within.getBoundingClientRect();
    const left = Math.max(0, Math.min(box.width - this.node.offsetWidth - 4, event.clientX - box.left + 14));
    const top = Math.max(0, event.clientY - box.top - this.node.offsetHeight - 10);
    this.node.style.transform = `translate(${left}px, ${top}px)`;
  }
}

const aboutImage = (b: LoadedBatch, image: number): string =>
  `${b.classes[b.labels[image]]} · training image ${b.images[image]} · gradient ${digits(b.force[image], 2)}`;

function aboutPair(b: LoadedBatch, i: number, j: number, marks: Uint8Array): string {
  const kind = marks[i * b.n + j];
  const distance = digits(b.space.distance(i, j, b.thresholds.measure));
  const difficulty = kind ? ` · ${DIFFICULTIES[kind - 1]}` : "";
  return `${nameOf(b, i)} and ${nameOf(b, j)} · ${distance}${difficulty}`;
}

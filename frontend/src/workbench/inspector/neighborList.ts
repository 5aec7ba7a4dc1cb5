// The nearest neighbors of an image, a button each: picture, class, distance, and whether it is near on the map too.
import { maxOf, minOf } from "../../lib/extent.ts";
import { bus } from "../../lib/bus.ts";
import { h } from "../../lib/dom.ts";
import { grouped, ITEM } from "../../lib/format.ts";
import { tileStyle } from "../../lib/sprites.ts";
import {
  classOf,
  differs,
  mapRankCaption,
  type Inspected,
  type InspectedNeighbor,
  type WithSubject,
} from "./captions.ts";

const TILE_PX = 32;
const BEFORE = 0.2; // of the range of the distances: the bar of the nearest

/** The list for `data`; a click on a neighbor calls `pin`; `source` sends the hovered one to the map. */
export function neighborList(data: WithSubject, pin: (item: number) => void, source: object): HTMLElement {
  const { subject, neighbors, vote } = data;
  const label = subject.label ?? vote?.label;
  const distances = neighbors.map((neighbor) => neighbor.distance);
  const [nearest, farthest] = [minOf(distances), maxOf(distances)];
  const begin = Math.max(0, nearest - BEFORE * (farthest - nearest)); // bars begin where the distances differ
  const wrong = subject.label === undefined ? " other" : " wrong";
  return h(
    "ol",
    "list",
    ...neighbors.map((neighbor) => h("li", null, row(neighbor, differs(data, neighbor.label, label) ? wrong : ""))),
  );

  function row({ item, label, distance }: InspectedNeighbor, mark: string): HTMLElement {
    const { run = "", sprites, classes, noun = ITEM, values } = data;
    const tile = h("span", "tile");
    const plain = !sprites?.urls.length;
    if (sprites && !plain) Object.assign(tile.style, tileStyle(sprites, item, TILE_PX));
    const bar = h("span", "bar");
    bar.style.setProperty("--share", String(farthest > begin ? (distance - begin) / (farthest - begin) : 1));
    bar.title = `The bars begin at ${begin.toFixed(3)}`;
    const text = values?.[String(item)];
    const name = h(
      "span",
      { class: "name", title: text ?? "" },
      classOf({ classes }, label),
      mark ? h("span", "mark", mark) : null,
      text ? h("span", "values", text) : null,
    );
    const hover = (target: number | null) => () => bus.emit("hover", { run, item: target, source });
    return h(
      "button",
      {
        type: "button",
        class: `row ${mark ? "wrong" : "right"}${plain ? " plain" : ""}`,
        "data-item": item,
        title: `Pin ${noun} ${grouped(item)}`,
        click: () => pin(item),
        pointerenter: hover(item),
        focus: hover(item),
        pointerleave: hover(null),
        blur: hover(null),
      },
      plain ? null : tile,
      name,
      bar,
      h("span", "where"),
      h("span", "distance", distance.toFixed(3)),
    );
  }
}

/** Show each neighbor's rank on the map in `root`; the key appears with the first. */
export function updateMapRanks(root: HTMLElement, data: Inspected, subject: string): void {
  const ranks = bus.last("ranks");
  if (!ranks || ranks.run !== data.run || String(ranks.item) !== subject) return;
  let some = false;
  for (const row of root.querySelectorAll<HTMLElement>(".row")) {
    const place = mapRankCaption(ranks.of.get(Number(row.dataset.item)), data.neighbors.length);
    const where = row.querySelector<HTMLElement>(".where");
    if (!where) continue;
    where.className = place ? `where ${place.near ? "near" : "off"}` : "where";
    where.title = place?.words ?? "Not in this frame";
    some ||= place !== null;
  }
  const key = root.querySelector<HTMLElement>(".places");
  if (key) key.hidden = !some;
}

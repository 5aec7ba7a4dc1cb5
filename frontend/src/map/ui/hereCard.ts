// The card beside a place that a person asks about: the mixture, the images that it is made of, where it lands.
import { h, updateAttribute } from "../../lib/dom.ts";
import { grouped, percent } from "../../lib/format.ts";
import { paintBytes, tileStyle } from "../../lib/sprites.ts";
import type { Asked, MapState } from "../data/state.ts";
import type { Point, Port, View } from "../math/camera.ts";
import { besides } from "./tooltip.ts";

const SIDE = 32; // pixels of an image that is mixed
const MOST_VALUES = 8;

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
      return h("li", { title }, sprites ? picture : name, h("span", "share", `${Math.round(100 * share)} %`));
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

// How much each box overlaps the true one, over the frames; a click goes to a frame.
import { h } from "../../lib/dom.ts";
import { svg } from "../../charts/svg.ts";
import { COLORS } from "./paint.ts";
import type { Video } from "./videoState.ts";

const WIDTH = 400;
const HEIGHT = 64;

export class OverlapChart {
  readonly node: HTMLElement;
  private drawing = svg("svg", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    preserveAspectRatio: "none",
    "aria-hidden": "true",
  });
  private count = 1;

  constructor(seek: (frame: number) => void) {
    this.node = h("div", "overlaps", h("span", null, "IoU"), this.drawing);
    this.drawing.addEventListener("pointerdown", (event) => {
      const box = this.drawing.getBoundingClientRect();
      seek(Math.round(((event.clientX - box.left) / box.width) * (this.count - 1)));
    });
  }

  draw(video: Video, frame: number, chosen: number): void {
    this.count = video.count;
    const x = (i: number) => (i / (video.count - 1)) * WIDTH;
    const y = (value: number) => (1 - value) * (HEIGHT - 4) + 2;
    const lines = video.followers.map((one, i) =>
      svg("polyline", {
        points: one.overlaps.map((value, at) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`).join(" "),
        stroke: COLORS[i],
        class: i === chosen ? "chosen" : "",
      }),
    );
    const cursor = svg("line", { x1: x(frame), x2: x(frame), y1: 0, y2: HEIGHT, class: "cursor" });
    const ground = svg("line", { x1: 0, x2: WIDTH, y1: y(0), y2: y(0), class: "ground" });
    this.drawing.replaceChildren(ground, ...lines, cursor);
  }
}

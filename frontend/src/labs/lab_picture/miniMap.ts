// Where the tiles of a picture lie in the embedding: its first two principal axes. Click a point to choose its tile.
import { context2d, h } from "../../lib/dom.ts";
import { classColors } from "../../lib/palette.ts";
import { css, readTheme } from "../../lib/theme.ts";
import { fitOf, nearest, placed, type Points } from "../lab_planes/planeGeometry.ts";
import { principalAxes } from "./principalAxes.ts";

const REACH = 20; // pixels between a click and a point

export class MiniMap {
  readonly node: HTMLCanvasElement;
  private places: Points = new Float32Array();
  private rows: Int8Array | null = null;

  constructor(choose: (place: number) => void) {
    this.node = h("canvas", {
      role: "img",
      "aria-label": "Where the tiles lie in the embedding: click a point to choose its tile",
      width: 520,
      height: 520,
    });
    this.node.addEventListener("pointerdown", (event) => {
      const box = this.node.getBoundingClientRect();
      const [x, y] = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
      const place = nearest(this.places, x, y, REACH / box.width, () => true);
      if (place >= 0) choose(place);
    });
  }

  /** Draw all tiles faintly, in the colors of their kinds where those are known, the best ones and the chosen one. */
  paint(rows: Int8Array, dimensions: number, kinds: readonly number[] | null, best: readonly number[], chosen: number) {
    if (rows !== this.rows) {
      this.rows = rows;
      const points = principalAxes(rows, dimensions);
      this.places = placed(points, fitOf(points, false));
    }
    const theme = readTheme(this.node);
    const colors = classColors(kinds ? Math.max(...kinds) + 1 : 1, theme.dark);
    const context = context2d(this.node);
    const side = this.node.width;
    context.clearRect(0, 0, side, side);
    const dot = (place: number, radius: number, color: string) => {
      context.fillStyle = color;
      context.beginPath();
      context.arc(this.places[2 * place] * side, this.places[2 * place + 1] * side, radius, 0, 2 * Math.PI);
      context.fill();
    };
    for (let place = 0; 2 * place < this.places.length; place++)
      dot(place, 2, css(kinds ? colors[kinds[place]] : theme.muted, 0.4));
    for (const place of best) {
      dot(place, 6, css(theme.background));
      dot(place, 4.5, "#2f9ee4");
    }
    dot(chosen, 10, css(theme.background));
    dot(chosen, 8, "#e4572e");
  }
}

// The map of both domains on a canvas.
import { circle, line } from "../../lib/canvas.ts";
import { context2d, h, pointerPlace } from "../../lib/dom.ts";
import { classColors } from "../../lib/palette.ts";
import { css, readTheme, type Rgb } from "../../lib/theme.ts";
import type { TwoDomains } from "../../protocol.ts";
import { fitOf, nearest, place, type Points } from "../lab_planes/planeGeometry.ts";

const REACH = 16; // pixels between the pointer and a point
const MARK = 4.5; // pixels: half the size of a mark

export class DomainMap {
  readonly node: HTMLCanvasElement;
  private data: TwoDomains | null = null;
  private places: Points = new Float32Array();
  private pair = -1;
  private watcher: ResizeObserver;

  constructor(private point: (pair: number) => void) {
    this.node = h("canvas", { role: "img", "aria-label": "Photographs and sketches on one map" });
    const find = (event: PointerEvent) => {
      const pairs = this.data?.garments.length ?? 0;
      const reach = REACH / this.node.clientWidth;
      const item = nearest(this.places, ...pointerPlace(event, this.node), reach, (one) => one < 2 * pairs);
      this.mark(item < 0 ? -1 : item % pairs);
    };
    this.node.addEventListener("pointermove", find);
    this.node.addEventListener("pointerdown", find);
    this.watcher = new ResizeObserver(() => this.paint());
    this.watcher.observe(this.node);
  }

  show(data: TwoDomains): void {
    this.data = data;
    const own = data.answer ? [data.answer.place] : [];
    const points = Float32Array.from([...data.places.flat(), ...own].flat());
    this.places = place(points, fitOf(points, false));
    this.pair = -1;
    this.paint();
  }

  destroy(): void {
    this.watcher.disconnect();
  }

  paint(): void {
    const { data, node, places, pair: marked } = this;
    const side = Math.round(node.clientWidth * devicePixelRatio);
    if (!data || !side) return;
    if (node.width !== side) node.width = node.height = side;
    const theme = readTheme(node);
    const colors = classColors(data.names.length, theme.dark);
    const pairs = data.garments.length;
    const context = context2d(node);
    context.clearRect(0, 0, side, side);
    const at = (item: number) => [places[2 * item] * side, places[2 * item + 1] * side] as const;
    for (let pair = 0; pair < pairs; pair++) {
      context.strokeStyle = css(colors[data.garments[pair]], pair === marked ? 1 : 0.28);
      context.lineWidth = (pair === marked ? 2.5 : 1) * devicePixelRatio;
      line(context, at(pair), at(pairs + pair));
    }
    for (let pair = 0; pair < pairs; pair++) {
      const color = colors[data.garments[pair]];
      const size = (pair === marked ? 2 : 1) * MARK * devicePixelRatio;
      context.fillStyle = css(color, 0.85);
      circle(context, ...at(pair), size * 0.85);
      context.fill();
      cross(context, ...at(pairs + pair), size, color);
    }
    if (data.answer) this.paintOwn(context, at(2 * pairs), css(theme.text), css(theme.background), at);
  }

  /** The drawing as a square, with a line to the nearest photograph that is on the map. */
  private paintOwn(
    context: CanvasRenderingContext2D,
    [x, y]: readonly [number, number],
    color: string,
    ground: string,
    at: (item: number) => readonly [number, number],
  ): void {
    const first = this.data?.answer?.nearest.find(({ item }) => item >= 0);
    context.strokeStyle = color;
    context.lineWidth = 2 * devicePixelRatio;
    if (first) {
      context.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio]);
      line(context, [x, y], at(first.item));
      context.setLineDash([]);
    }
    const size = 7 * devicePixelRatio;
    context.fillStyle = color;
    context.fillRect(x - size, y - size, 2 * size, 2 * size);
    context.strokeStyle = ground;
    context.strokeRect(x - size, y - size, 2 * size, 2 * size);
  }

  private mark(pair: number): void {
    if (pair === this.pair) return;
    this.pair = pair;
    this.paint();
    if (pair >= 0) this.point(pair);
  }
}

function cross(context: CanvasRenderingContext2D, x: number, y: number, size: number, color: Rgb): void {
  context.strokeStyle = css(color);
  context.lineWidth = 2 * devicePixelRatio;
  line(context, [x - size, y - size], [x + size, y + size]);
  line(context, [x - size, y + size], [x + size, y - size]);
}

// One canvas of points with a mark that follows what is pointed at, here or in another canvas.
import { circle, line } from "../../lib/canvas.ts";
import { context2d, h, pointerPlace } from "../../lib/dom.ts";
import { css, type Rgb, type Theme } from "../../lib/theme.ts";
import { nearest, type Points } from "./planeGeometry.ts";

const REACH = 14; // pixels between the pointer and a point

/** The content of a canvas; `under` draws beneath the points, in a square of side 1. */
export interface Scene {
  places: Points;
  labels: Uint8Array;
  colors: Rgb[];
  shows: (item: number) => boolean;
  dims: (item: number) => boolean;
  hollow: (item: number) => boolean;
  radius: number;
  opacity: number;
  under?: (context: CanvasRenderingContext2D, theme: Theme) => void;
  /** Draw a line from the middle to the mark: only directions count. */
  spoke: boolean;
}

export class PlaneCanvas {
  readonly node: HTMLCanvasElement;
  private base = document.createElement("canvas");
  private scene: Scene | null = null;
  private theme: Theme | null = null;
  private item = -1;
  private watcher: ResizeObserver;

  constructor(label: string, point: (item: number, event: PointerEvent) => void, leave: () => void) {
    this.node = h("canvas", { role: "img", "aria-label": label });
    const find = (event: PointerEvent) => {
      const { scene } = this;
      const width = this.node.clientWidth;
      if (!scene || !width) return;
      const isSeen = (item: number) => scene.shows(item) && !scene.dims(item);
      point(nearest(scene.places, ...pointerPlace(event, this.node), REACH / width, isSeen), event);
    };
    this.node.addEventListener("pointermove", find);
    this.node.addEventListener("pointerdown", find);
    this.node.addEventListener("pointerleave", leave);
    this.watcher = new ResizeObserver(() => this.paintBase());
    this.watcher.observe(this.node);
  }

  show(scene: Scene, theme: Theme): void {
    this.scene = scene;
    this.theme = theme;
    this.paintBase();
  }

  mark(item: number): void {
    this.item = item;
    this.paint();
  }

  destroy(): void {
    this.watcher.disconnect();
  }

  private paintBase(): void {
    const side = Math.round(this.node.clientWidth * devicePixelRatio);
    const { scene, theme } = this;
    if (!side || !scene || !theme) return;
    for (const view of [this.node, this.base]) if (view.width !== side) view.width = view.height = side;
    const context = context2d(this.base);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, side, side);
    context.save();
    context.scale(side, side);
    scene.under?.(context, theme);
    context.restore();
    const radius = scene.radius * devicePixelRatio;
    for (const dim of [true, false]) {
      for (let item = 0; item < scene.labels.length; item++) {
        if (!scene.shows(item) || scene.dims(item) !== dim) continue;
        const color = css(scene.colors[scene.labels[item]], dim ? 0.06 : scene.opacity);
        circle(context, scene.places[2 * item] * side, scene.places[2 * item + 1] * side, radius);
        if (scene.hollow(item)) {
          context.strokeStyle = color;
          context.lineWidth = devicePixelRatio;
          context.stroke();
        } else {
          context.fillStyle = color;
          context.fill();
        }
      }
    }
    this.paint();
  }

  private paint(): void {
    const { scene, theme, node, item } = this;
    if (!scene || !theme || !node.width) return;
    const context = context2d(node);
    context.clearRect(0, 0, node.width, node.width);
    context.drawImage(this.base, 0, 0);
    if (item < 0 || !scene.shows(item)) return;
    const [x, y] = [scene.places[2 * item] * node.width, scene.places[2 * item + 1] * node.width];
    const ring = 7 * devicePixelRatio;
    context.lineWidth = 2 * devicePixelRatio;
    context.strokeStyle = css(theme.text);
    if (scene.spoke) {
      line(context, [node.width / 2, node.width / 2], [x, y]);
    }
    circle(context, x, y, ring);
    context.fillStyle = css(scene.colors[scene.labels[item]]);
    context.fill();
    context.strokeStyle = css(theme.background);
    context.lineWidth = 4 * devicePixelRatio;
    context.stroke();
    context.strokeStyle = css(theme.text);
    context.lineWidth = 2 * devicePixelRatio;
    context.stroke();
  }
}

// One canvas of points with a mark that follows what is pointed at, here or in another canvas.
import { circle, line } from "../../lib/canvas.ts";
import { useLayoutEffect, useMemo } from "preact/hooks";
import { context2d, pointerPlace } from "../../lib/dom.ts";
import { useSide } from "../../lib/hooks.ts";
import { css, type Rgb, type Theme } from "../../lib/theme.ts";
import { nearest, type Points } from "./planeGeometry.ts";

const REACH = 14; // pixels between the pointer and a point

/** The content of a canvas; `under` draws beneath the points, in a square of side 1. */
export interface Scene {
  label: string;
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

interface Pointed {
  scene: Scene;
  theme: Theme;
  item: number;
  point(this: void, item: number, event: PointerEvent): void;
}

/** The points are painted when they change, the mark on them with each item. */
export function Plane({ scene, theme, item, point }: Pointed) {
  const [view, side] = useSide<HTMLCanvasElement>();
  const base = useMemo(() => (side ? paintBase(scene, theme, side) : null), [scene, side]);
  useLayoutEffect(() => {
    if (view.current && base) paint(view.current, base, scene, theme, item);
  }, [base, item]);
  const find = (event: PointerEvent) => {
    const isSeen = (item: number) => scene.shows(item) && !scene.dims(item);
    const node = event.currentTarget as HTMLElement;
    point(nearest(scene.places, ...pointerPlace(event, node), REACH / node.clientWidth, isSeen), event);
  };
  const listeners = {
    onPointerMove: find,
    onPointerDown: find,
    onPointerLeave: (event: PointerEvent) => point(-1, event),
  };
  const size = side ? { width: side, height: side } : {};
  return <canvas role="img" aria-label={scene.label} ref={view} {...size} {...listeners} />;
}

function paintBase(scene: Scene, theme: Theme, side: number): HTMLCanvasElement {
  const base = document.createElement("canvas");
  base.width = base.height = side;
  const context = context2d(base);
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
  return base;
}

function paint(node: HTMLCanvasElement, base: HTMLCanvasElement, scene: Scene, theme: Theme, item: number): void {
  const context = context2d(node);
  context.clearRect(0, 0, node.width, node.width);
  context.drawImage(base, 0, 0);
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

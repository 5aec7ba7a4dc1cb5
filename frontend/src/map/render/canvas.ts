// Points by Canvas 2D, where WebGL2 is missing: the same interface as GlRenderer, from stamps drawn once a style.
import { context2d } from "../../lib/dom.ts";
import { css, type Rgb } from "../../lib/theme.ts";
import type { Tween } from "../math/tween.ts";
import type { PointStyle } from "./pointColors.ts";
import type { Moment, Renderer } from "./renderer.ts";

const PLAIN_ABOVE = 20000; // more points than that are little squares

const [ARM, HALF] = [1.1, 0.34];
const PLUS: [number, number][] = [
  [-HALF, -ARM],
  [HALF, -ARM],
  [HALF, -HALF],
  [ARM, -HALF],
  [ARM, HALF],
  [HALF, HALF],
  [HALF, ARM],
  [-HALF, ARM],
  [-HALF, HALF],
  [-ARM, HALF],
  [-ARM, -HALF],
  [-HALF, -HALF],
];

/** Trace marker `shape` of radius r about the origin. */
export function traceShape(context: CanvasRenderingContext2D, shape: number, r: number): void {
  const polygon = (points: [number, number][]) =>
    points.forEach(([x, y], i) => context[i ? "lineTo" : "moveTo"](x * r, y * r));
  context.beginPath();
  switch (shape) {
    case 1:
      context.rect(-0.86 * r, -0.86 * r, 1.72 * r, 1.72 * r);
      break;
    case 2:
      polygon([
        [0, -1.2],
        [1.02, 0.6],
        [-1.02, 0.6],
      ]);
      break;
    case 3:
      polygon([
        [0, -1.14],
        [1.14, 0],
        [0, 1.14],
        [-1.14, 0],
      ]);
      break;
    case 4:
      polygon(PLUS.map(([x, y]): [number, number] => [(x - y) * Math.SQRT1_2, (x + y) * Math.SQRT1_2]));
      break; // a plus, turned
    case 5:
      polygon(PLUS);
      break;
    case 6:
      polygon([
        [0, 1.2],
        [1.02, -0.6],
        [-1.02, -0.6],
      ]);
      break;
    case 7:
      polygon(
        Array.from({ length: 10 }, (_, i): [number, number] => {
          const [a, far] = [(i * Math.PI) / 5, i % 2 ? 0.55 : 1.25];
          return [far * Math.sin(a), -far * Math.cos(a)];
        }),
      );
      break;
    case 8:
      context.arc(0, 0, r, 0, 2 * Math.PI);
      context.arc(0, 0, 0.5 * r, 0, 2 * Math.PI, true);
      break;
    case 9:
      context.rect(-1.12 * r, -0.44 * r, 2.24 * r, 0.88 * r);
      break;
    default:
      context.arc(0, 0, r, 0, 2 * Math.PI);
  }
  context.closePath();
}

export class CanvasRenderer implements Renderer {
  readonly kind = "canvas";
  readonly isSoftware = true;
  private context: CanvasRenderingContext2D;
  private stamps = new Map<number, { canvas: HTMLCanvasElement; reach: number }>();
  private tween: Tween | null = null;
  private places = new Float32Array();
  private paint: Uint8Array | null = null;
  private inks = new Uint32Array(); // color and opacity of a point as one number
  private marks = new Uint8Array();
  private ratio = 1;
  private radius = 0;
  private halo = 0;

  constructor(private canvas: HTMLCanvasElement) {
    // No WebGL2 mostly means no graphics card: drawn by the processor, thousands of small stamps are quickest.
    this.context = context2d(canvas, { willReadFrequently: true });
  }

  setTween(tween: Tween): void {
    this.tween = tween;
    this.places = new Float32Array(2 * tween.n);
  }

  setPaint(paint: Uint8Array<ArrayBuffer>, marks: Uint8Array<ArrayBuffer>): void {
    this.paint = paint;
    this.inks = new Uint32Array(paint.buffer);
    this.marks = marks;
    this.stamps.clear();
  }

  resize(width: number, height: number, ratio: number): void {
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.ratio = ratio;
    this.stamps.clear();
  }

  private stamp(i: number, paint: Uint8Array, style: PointStyle, ground: Rgb) {
    const shape = this.marks[2 * i];
    const key = this.inks[i] * 16 + shape;
    const known = this.stamps.get(key);
    if (known) return known;
    const [r, g, b] = paint.subarray(4 * i, 4 * i + 3);
    const reach = Math.ceil((style.radius * 1.3 + style.halo + 1) * this.ratio);
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = 2 * reach;
    const context = context2d(canvas, { willReadFrequently: true });
    context.translate(reach, reach);
    traceShape(context, shape, style.radius * this.ratio);
    if (style.halo > 0.1) {
      context.strokeStyle = css(ground, 0.85);
      context.lineWidth = 2 * style.halo * this.ratio;
      context.stroke();
    }
    context.fillStyle = css([r, g, b]);
    context.fill("evenodd");
    const made = { canvas, reach };
    this.stamps.set(key, made);
    return made;
  }

  readonly busy = false; // it draws while it is asked to

  draw({ view, port, t, style, ground, every }: Moment): void {
    const { context, ratio, tween, canvas, marks, paint } = this;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    if (!tween || !paint) return;
    const xy = tween.sample(t, this.places);
    if (style.radius !== this.radius || style.halo !== this.halo) this.stamps.clear();
    [this.radius, this.halo] = [style.radius, style.halo];
    const plain = tween.visibleCount(t) > PLAIN_ABOVE;
    const { fade } = tween;
    let ink: number | null = null;
    const [kx, ox, oy] = [view.k * ratio, (port.width / 2) * ratio, (port.height / 2) * ratio];
    for (const layer of [1, 2]) {
      for (let i = 0; i < tween.n; i += every) {
        if (marks[2 * i + 1] !== layer) continue;
        const alpha = fade[2 * i] === fade[2 * i + 1] ? fade[2 * i] : tween.opacity(i, t);
        if (!alpha) continue;
        const x = (xy[2 * i] - view.x) * kx + ox;
        const y = oy - (xy[2 * i + 1] - view.y) * kx;
        if (x < -30 || y < -30 || x > canvas.width + 30 || y > canvas.height + 30) continue;
        context.globalAlpha = (alpha / 255) * (paint[4 * i + 3] / 255) * style.opacity;
        if (plain) {
          const side = 1.8 * style.radius * ratio;
          if (this.inks[i] !== ink) context.fillStyle = css(paint.subarray(4 * i, 4 * i + 3));
          ink = this.inks[i];
          context.fillRect(x - side / 2, y - side / 2, side, side);
        } else {
          const { canvas: stamp, reach } = this.stamp(i, paint, style, ground);
          context.drawImage(stamp, Math.round(x - reach), Math.round(y - reach));
        }
      }
    }
    context.globalAlpha = 1;
  }

  destroy(): void {}
}

// @ts-nocheck
// Points by Canvas 2D, where WebGL2 is missing: the same interface as GlRenderer, from stamps drawn once a style.
import { css } from "../../lib/theme.ts";

const PLAIN_ABOVE = 20000; // more points than that are little squares

const [ARM, HALF] = [1.1, 0.34];
const PLUS = [[-HALF, -ARM], [HALF, -ARM], [HALF, -HALF], [ARM, -HALF], [ARM, HALF], [HALF, HALF], [HALF, ARM], [-HALF, ARM],
  [-HALF, HALF], [-ARM, HALF], [-ARM, -HALF], [-HALF, -HALF]];

/** Trace marker `shape` of radius r about the origin. */
export function traceShape(context, shape, r) {
  const polygon = (points) => points.forEach(([x, y], i) => context[i ? "lineTo" : "moveTo"](x * r, y * r));
  context.beginPath();
  switch (shape) {
    case 1: context.rect(-0.86 * r, -0.86 * r, 1.72 * r, 1.72 * r); break;
    case 2: polygon([[0, -1.2], [1.02, 0.6], [-1.02, 0.6]]); break;
    case 3: polygon([[0, -1.14], [1.14, 0], [0, 1.14], [-1.14, 0]]); break;
    case 4: polygon(PLUS.map(([x, y]) => [(x - y) * Math.SQRT1_2, (x + y) * Math.SQRT1_2])); break; // a plus, turned
    case 5: polygon(PLUS); break;
    case 6: polygon([[0, 1.2], [1.02, -0.6], [-1.02, -0.6]]); break;
    case 7:
      polygon(Array.from({ length: 10 }, (_, i) => {
        const [a, far] = [(i * Math.PI) / 5, i % 2 ? 0.55 : 1.25];
        return [far * Math.sin(a), -far * Math.cos(a)];
      }));
      break;
    case 8:
      context.arc(0, 0, r, 0, 2 * Math.PI);
      context.arc(0, 0, 0.5 * r, 0, 2 * Math.PI, true);
      break;
    case 9: context.rect(-1.12 * r, -0.44 * r, 2.24 * r, 0.88 * r); break;
    default: context.arc(0, 0, r, 0, 2 * Math.PI);
  }
  context.closePath();
}

export class CanvasRenderer {
  kind = "canvas";

  constructor(canvas) {
    this.canvas = canvas;
    // No WebGL2 mostly means no graphics card: drawn by the processor, thousands of small stamps are quickest.
    this.context = canvas.getContext("2d", { willReadFrequently: true });
    this.stamps = new Map();
  }

  setTween(tween) {
    this.tween = tween;
    this.places = new Float32Array(2 * tween.n);
  }

  setPaint(paint, marks) {
    this.paint = paint;
    this.inks = new Uint32Array(paint.buffer); // colour and opacity of a point as one number
    this.marks = marks;
    this.stamps.clear();
  }

  resize(width, height, ratio) {
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.ratio = ratio;
    this.stamps.clear();
  }

  stamp(i, look, ground) {
    const shape = this.marks[2 * i];
    const key = this.inks[i] * 16 + shape;
    const known = this.stamps.get(key);
    if (known) return known;
    const [r, g, b] = this.paint.subarray(4 * i, 4 * i + 3);
    const reach = Math.ceil((look.radius * 1.3 + look.halo + 1) * this.ratio);
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = 2 * reach;
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.translate(reach, reach);
    traceShape(context, shape, look.radius * this.ratio);
    if (look.halo > 0.1) {
      context.strokeStyle = css(ground, 0.85);
      context.lineWidth = 2 * look.halo * this.ratio;
      context.stroke();
    }
    context.fillStyle = css([r, g, b]);
    context.fill("evenodd");
    const made = { canvas, reach };
    this.stamps.set(key, made);
    return made;
  }

  draw({ view, port, t, look, ground }) {
    const { context, ratio, tween, canvas } = this;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    if (!tween || !this.paint) return;
    const xy = tween.sample(t, this.places);
    if (look.radius !== this.radius || look.halo !== this.halo) this.stamps.clear();
    [this.radius, this.halo] = [look.radius, look.halo];
    const plain = tween.visibleCount(t) > PLAIN_ABOVE;
    const { marks, paint } = this;
    const { fade } = tween;
    let ink = null;
    const [kx, ox, oy] = [view.k * ratio, (port.width / 2) * ratio, (port.height / 2) * ratio];
    for (const layer of [1, 2]) {
      for (let i = 0; i < tween.n; i++) {
        if (marks[2 * i + 1] !== layer) continue;
        const seen = fade[2 * i] === fade[2 * i + 1] ? fade[2 * i] : tween.opacity(i, t);
        if (!seen) continue;
        const x = (xy[2 * i] - view.x) * kx + ox;
        const y = oy - (xy[2 * i + 1] - view.y) * kx;
        if (x < -30 || y < -30 || x > canvas.width + 30 || y > canvas.height + 30) continue;
        context.globalAlpha = (seen / 255) * (paint[4 * i + 3] / 255) * look.opacity;
        if (plain) {
          const side = 1.8 * look.radius * ratio;
          if (this.inks[i] !== ink) context.fillStyle = css(paint.subarray(4 * i, 4 * i + 3));
          ink = this.inks[i];
          context.fillRect(x - side / 2, y - side / 2, side, side);
        } else {
          const { canvas: stamp, reach } = this.stamp(i, look, ground);
          context.drawImage(stamp, Math.round(x - reach), Math.round(y - reach));
        }
      }
    }
    context.globalAlpha = 1;
  }

  destroy() {}
}

// @ts-nocheck
// The distances of a batch as a picture: rows and columns in the order of the classes, near pairs dark.
import { css, mix } from "../lib/theme.ts";
import { bands, byClass } from "./batch.ts";

const EDGE = 8; // pixels of the band that names a class by its colour

export class Matrix {
  constructor(onhover, onpick) {
    this.canvas = document.createElement("canvas");
    this.canvas.className = "matrix";
    this.canvas.tabIndex = -1;
    this.canvas.setAttribute("role", "img");
    this.canvas.addEventListener("pointermove", (event) => onhover(this.pairAt(event), event));
    this.canvas.addEventListener("pointerleave", () => onhover(null));
    this.canvas.addEventListener("click", (event) => onpick(this.pairAt(event)));
  }

  /** Take another batch with its distances (n × n). */
  show(b, distances) {
    Object.assign(this, { b, distances });
    this.order = byClass(b.labels);
    this.bands = bands(b.labels, this.order);
    let top = 0;
    for (const value of distances) if (value > top) top = value;
    this.top = top || 1;
    this.marks = marked(b);
    this.painted = null;
  }

  /** The pair under the pointer, null outside and on the diagonal. */
  pairAt(event) {
    if (!this.b) return null;
    const box = this.canvas.getBoundingClientRect();
    const cell = (at, from) => Math.floor(((at - from - EDGE) / (box.width - EDGE)) * this.b.n);
    const [row, column] = [cell(event.clientY, box.top), cell(event.clientX, box.left)];
    if (!(row >= 0 && column >= 0 && row < this.b.n && column < this.b.n) || row === column) return null;
    return [this.order[row], this.order[column]];
  }

  paint({ theme, colours, positive, negative, marks, values, pair, pixels }) {
    if (!this.b) return;
    const side = Math.max(80, this.canvas.clientWidth) * pixels;
    if (this.canvas.width !== Math.round(side)) {
      this.canvas.width = this.canvas.height = Math.round(side);
      this.painted = null;
    }
    const context = this.canvas.getContext("2d");
    const key = `${marks} ${values} ${theme.dark}`;
    if (this.key !== key || !this.painted) {
      this.key = key;
      this.painted = this.picture(theme, marks ? [positive, negative] : null, values);
    }
    const edge = EDGE * pixels;
    const [width, n] = [this.canvas.width, this.b.n];
    const cell = (width - edge) / n;
    context.clearRect(0, 0, width, width);
    context.imageSmoothingEnabled = false;
    context.drawImage(this.painted, edge, edge, width - edge, width - edge);
    for (const { label, from, to } of this.bands) {
      context.fillStyle = css(colours[label]);
      context.fillRect(edge + from * cell, 0, (to - from) * cell - pixels * 0.5, edge - 2 * pixels);
      context.fillRect(0, edge + from * cell, edge - 2 * pixels, (to - from) * cell - pixels * 0.5);
    }
    if (!pair) return;
    const place = pair.map((image) => this.order.indexOf(image));
    context.strokeStyle = css(theme.text);
    context.lineWidth = 1.5 * pixels;
    const room = Math.max(0, 3 * pixels - cell / 2);
    context.strokeRect(edge + place[1] * cell - room, edge + place[0] * cell - room, cell + 2 * room, cell + 2 * room);
  }

  picture(theme, marks, values) {
    const { n } = this.b;
    const small = document.createElement("canvas");
    small.width = small.height = n;
    const image = new ImageData(n, n);
    const [near, far] = shades(theme);
    this.order.forEach((i, row) =>
      this.order.forEach((j, column) => {
        const at = i * n + j;
        const share = values ? this.distances[at] / this.top : 1;
        let colour = mix(near, far, share);
        const kind = marks ? this.marks[at] : 0;
        if (kind) colour = mix(colour, marks[this.b.labels[i] === this.b.labels[j] ? 0 : 1], 0.35 + 0.2 * kind);
        image.data.set([...colour, 255], 4 * (row * n + column));
      }),
    );
    small.getContext("2d").putImageData(image, 0, 0);
    return small;
  }
}

/** The shades of the nearest and of the farthest pair. */
export const shades = ({ background, text }) => [mix(background, text, 0.82), mix(background, text, 0.05)];

/** n × n: 0 where a pair was not chosen, else 1 to 3 for easy to hard; only where a miner or a sampler chose. */
export function marked(b) {
  const found = new Uint8Array(b.n * b.n);
  if (b.seen.kind === "classes" || b.seen.by !== "selection") return found;
  b.rows.forEach((row, k) => {
    const partners = b.seen.kind === "pairs" ? [row[1]] : row.slice(1);
    for (const partner of partners) {
      const places = b.seen.kind === "pairs" && !b.anchored ? [row[0] * b.n + partner, partner * b.n + row[0]] : [row[0] * b.n + partner];
      for (const at of places) found[at] = Math.max(found[at], b.hardness[k] + 1);
    }
  });
  return found;
}

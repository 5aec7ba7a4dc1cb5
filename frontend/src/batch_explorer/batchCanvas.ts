// @ts-nocheck
// The batch on the run's picture: points, what is compared, forces, class vectors, margins; and the way of one step.
import { css, mix } from "../lib/theme.ts";
import { arcs, rings } from "./margins.ts";
import { magnification } from "./stepAnimation.ts";
import { STROKES, drawn, nearestLine } from "./difficultyStyles.ts";

const EDGE = 26;
const LONGEST = 46; // pixels of the strongest push

export class Stage {
  constructor({ onhover, onpick, online, onstep }) {
    this.canvas = document.createElement("canvas");
    this.canvas.className = "stage";
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "application");
    this.canvas.setAttribute("aria-roledescription", "picture of a batch; arrow keys go from comparison to comparison");
    this.canvas.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (by === undefined && event.key !== "Escape") return;
      event.preventDefault();
      onstep(by ?? null);
    });
    this.canvas.addEventListener("pointermove", (event) => onhover(this.imageAt(event), event));
    this.canvas.addEventListener("pointerleave", () => onhover(null));
    this.canvas.addEventListener("click", (event) => {
      const image = this.imageAt(event);
      if (image !== null) return onpick(image);
      const line = this.lineAt(event);
      return line === null ? onpick(null) : online(line);
    });
    this.lines = [];
  }

  show(b) {
    this.b = b;
    const by = magnification(b) ?? 1;
    this.moved = b.places.map((at, k) => at + by * (b.moved[k] - at));
    const still = [b.places, ...(b.centres ? [b.centres.places] : [])];
    this.boxes = [around(still), around([...still, this.moved])];
    this.arcs = arcs(b);
    this.strongest = Math.max(1e-30, ...b.labels.map((_, i) => Math.hypot(b.push[2 * i], b.push[2 * i + 1])));
  }

  fit(pixels) {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (this.canvas.width !== Math.round(width * pixels)) this.canvas.width = Math.round(width * pixels);
    if (this.canvas.height !== Math.round(height * pixels)) this.canvas.height = Math.round(height * pixels);
    const [x0, y0, x1, y1] = this.boxes[0].map((edge, k) => edge + (this.boxes[1][k] - edge) * this.gone);
    this.scale = Math.min((width - 2 * EDGE) / Math.max(1e-12, x1 - x0), (height - 2 * EDGE) / Math.max(1e-12, y1 - y0));
    this.corner = [width / 2 - ((x0 + x1) / 2) * this.scale, height / 2 + ((y0 + y1) / 2) * this.scale];
  }

  /** World to canvas pixels (before the device's own scale). */
  place(x, y) {
    return [this.corner[0] + x * this.scale, this.corner[1] - y * this.scale];
  }

  placeOf(places, i) {
    return this.place(places[2 * i], places[2 * i + 1]);
  }

  /** `view` holds theme, colours, positive, negative, shown, of, chosen, hover, lines, arrows, gone, pixels. */
  paint(view) {
    if (!this.b) return;
    this.gone = view.gone;
    this.fit(view.pixels);
    const context = this.canvas.getContext("2d");
    context.setTransform(view.pixels, 0, 0, view.pixels, 0, 0);
    context.clearRect(0, 0, this.canvas.clientWidth, this.canvas.clientHeight);
    this.ground(context, view);
    if (view.gone > 0) this.trails(context, view);
    this.lines = [];
    if (view.lines) this.comparisons(context, view);
    if (view.lines) this.margin(context, view);
    if (view.arrows) this.forces(context, view);
    this.points(context, view);
    this.centres(context, view);
  }

  where(i) {
    const { places } = this.b;
    const at = (k) => places[2 * i + k] + (this.moved[2 * i + k] - places[2 * i + k]) * this.gone;
    return this.place(at(0), at(1));
  }

  ground(context, { theme, colours }) {
    if (!this.arcs.length) return;
    const [x, y] = this.place(...this.b.origin);
    const radius = this.scale * Math.hypot(this.b.centres.places[0] - this.b.origin[0], this.b.centres.places[1] - this.b.origin[1]);
    context.strokeStyle = css(theme.text, 0.12);
    context.lineWidth = 1;
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.stroke();
    for (const { row, from, to } of this.arcs) {
      context.strokeStyle = css(colours[this.b.centres.labels[row]], 0.35);
      context.lineWidth = 9;
      context.beginPath();
      context.arc(x, y, radius + 10, -to, -from); // the screen's y runs down
      context.stroke();
    }
  }

  trails(context, { theme }) {
    context.strokeStyle = css(theme.text, 0.35);
    context.lineWidth = 1;
    context.beginPath();
    for (let i = 0; i < this.b.n; i++) {
      context.moveTo(...this.placeOf(this.b.places, i));
      context.lineTo(...this.where(i));
    }
    context.stroke();
  }

  /** Where the lines of a comparison lead, from its first image: [place, whether it should be near]. */
  ends(row) {
    const { b } = this;
    if (b.seen.kind === "classes") {
      const of = (label) => this.nearestCentre(row[0], label);
      return [[of(row[1]), true], [of(row[2]), false]].filter(([place]) => place);
    }
    return row.slice(1).map((image) => [this.where(image), b.labels[image] === b.labels[row[0]]]);
  }

  nearestCentre(image, label) {
    const { labels, places } = this.b.centres ?? { labels: [] };
    const from = this.where(image);
    let best = null;
    labels.forEach((own, row) => {
      if (own !== label) return;
      const at = this.placeOf(places, row);
      const far = Math.hypot(at[0] - from[0], at[1] - from[1]);
      if (!best || far < best.far) best = { at, far };
    });
    return best?.at ?? null;
  }

  comparisons(context, view) {
    const { b } = this;
    const list = drawn(b, { shown: view.shown, of: view.of });
    const faint = view.chosen !== null || list.length > 60 ? 0.55 : 1;
    for (const index of [...list.filter((k) => k !== view.chosen), ...(view.chosen === null ? [] : [view.chosen])]) {
      const stroke = STROKES[b.hardness[index]];
      const own = index === view.chosen;
      const left = view.active && !own && view.satisfied(index) ? 0.2 : 1;
      const from = this.where(b.rows[index][0]);
      for (const [to, together] of this.ends(b.rows[index])) {
        context.strokeStyle = css(together ? view.positive : view.negative, own ? 1 : stroke.alpha * faint * left);
        context.lineWidth = own ? stroke.width + 1.4 : stroke.width;
        context.setLineDash(stroke.dash);
        context.beginPath();
        context.moveTo(...from);
        context.lineTo(...to);
        context.stroke();
        this.lines.push([index, ...from, ...to]);
      }
    }
    context.setLineDash([]);
  }

  margin(context, { chosen, theme, negative }) {
    if (chosen === null) return;
    const [x, y] = this.where(this.b.rows[chosen][0]);
    for (const { radius, what } of rings(this.b, this.b.rows[chosen])) {
      context.strokeStyle = what === "margin" ? css(negative, 0.8) : css(theme.text, 0.35);
      context.setLineDash(what === "margin" ? [4, 3] : []);
      context.lineWidth = 1;
      context.beginPath();
      context.arc(x, y, radius * this.scale, 0, 2 * Math.PI);
      context.stroke();
    }
    context.setLineDash([]);
  }

  forces(context, { theme, of }) {
    context.lineWidth = 1.3;
    for (let i = 0; i < this.b.n; i++) {
      const length = Math.hypot(this.b.push[2 * i], this.b.push[2 * i + 1]) / this.strongest;
      if (length < 0.02) continue;
      const [x, y] = this.where(i);
      const [dx, dy] = [this.b.push[2 * i], -this.b.push[2 * i + 1]].map((v) => (v / this.strongest) * LONGEST);
      context.strokeStyle = context.fillStyle = css(theme.text, of.length && !of.includes(i) ? 0.2 : 0.85);
      arrow(context, x, y, dx, dy);
    }
  }

  points(context, { theme, colours, of, hover, involved }) {
    for (let i = 0; i < this.b.n; i++) {
      const [x, y] = this.where(i);
      const quiet = of.length && !of.includes(i) && !involved.includes(i);
      context.globalAlpha = quiet ? 0.4 : 1;
      context.fillStyle = css(colours[this.b.labels[i]]);
      context.beginPath();
      context.arc(x, y, involved.includes(i) ? 5.5 : 3.6, 0, 2 * Math.PI);
      context.fill();
      context.lineWidth = involved.includes(i) || i === hover ? 1.8 : 0.8;
      context.strokeStyle = involved.includes(i) || i === hover ? css(theme.text) : css(theme.background, 0.8);
      context.stroke();
    }
    context.globalAlpha = 1;
  }

  centres(context, { theme, colours }) {
    const { centres, classes } = this.b;
    if (!centres) return;
    const few = centres.labels.length <= 20;
    context.font = `600 11px ${theme.font}`;
    centres.labels.forEach((label, row) => {
      const [x, y] = this.placeOf(centres.places, row);
      const size = few ? 7 : 4;
      context.fillStyle = css(mix(colours[label], theme.background, 0.1));
      context.strokeStyle = css(theme.text, 0.9);
      context.lineWidth = 1.2;
      context.beginPath();
      for (const [dx, dy] of [[0, -size], [size, 0], [0, size], [-size, 0]]) context.lineTo(x + dx, y + dy);
      context.closePath();
      context.fill();
      context.stroke();
      if (!few) return;
      context.lineWidth = 3;
      context.strokeStyle = css(theme.background, 0.85);
      context.strokeText(classes[label], x + size + 2, y - 4);
      context.fillStyle = css(theme.text);
      context.fillText(classes[label], x + size + 2, y - 4);
    });
  }

  pointer(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  /** The image within reach of the pointer, or null. */
  imageAt(event, reach = 9) {
    if (!this.b || !this.corner) return null;
    const [x, y] = this.pointer(event);
    let [best, least] = [null, reach];
    for (let i = 0; i < this.b.n; i++) {
      const at = this.where(i);
      const far = Math.hypot(at[0] - x, at[1] - y);
      if (far < least) [best, least] = [i, far];
    }
    return best;
  }

  lineAt(event) {
    return nearestLine(this.lines, ...this.pointer(event));
  }
}

/** The box around all of several lists of x, y as [x0, y0, x1, y1]. */
function around(lists) {
  const box = [Infinity, Infinity, -Infinity, -Infinity];
  for (const places of lists) {
    for (let i = 0; i < places.length; i += 2) {
      box[0] = Math.min(box[0], places[i]);
      box[1] = Math.min(box[1], places[i + 1]);
      box[2] = Math.max(box[2], places[i]);
      box[3] = Math.max(box[3], places[i + 1]);
    }
  }
  return box[0] > box[2] ? [-1, -1, 1, 1] : box;
}

function arrow(context, x, y, dx, dy) {
  const length = Math.hypot(dx, dy);
  const [ux, uy] = [dx / length, dy / length];
  const head = Math.min(5, length * 0.5);
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x + dx - ux * head, y + dy - uy * head);
  context.stroke();
  context.beginPath();
  context.moveTo(x + dx, y + dy);
  context.lineTo(x + dx - ux * head - uy * head * 0.6, y + dy - uy * head + ux * head * 0.6);
  context.lineTo(x + dx - ux * head + uy * head * 0.6, y + dy - uy * head - ux * head * 0.6);
  context.closePath();
  context.fill();
}

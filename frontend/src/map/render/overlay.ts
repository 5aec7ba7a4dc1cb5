// @ts-nocheck
// What is drawn over the points: names, rings, links, the query's star, the lasso. Coordinates are CSS pixels.
import { css, mix } from "../../lib/theme.ts";

const TAU = 2 * Math.PI;

/** Class names at the classes' centres, as clear as the classes are. */
export function drawNames(context, centres, classes, colours, theme, screenOf) {
  context.save();
  context.font = `600 13px ${theme.font}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.lineJoin = "round";
  centres.forEach(({ clear, position }, c) => {
    if (clear < 0.05) return;
    const [x, y] = screenOf(position);
    context.globalAlpha = clear;
    context.lineWidth = 4;
    context.strokeStyle = css(theme.background, 0.92);
    context.strokeText(classes[c], x, y);
    context.fillStyle = css(mix(theme.text, colours[c], 0.25));
    context.fillText(classes[c], x, y);
  });
  context.restore();
}

/** A ring about (x, y), legible on any ground. */
export function drawRing(context, [x, y], radius, colour, theme, { width = 1.75, dashed = false } = {}) {
  context.save();
  context.beginPath();
  context.arc(x, y, radius, 0, TAU);
  context.lineWidth = width + 2.5;
  context.strokeStyle = css(theme.background, 0.85);
  context.stroke();
  if (dashed) context.setLineDash([2.5, 2.5]);
  context.lineWidth = width;
  context.strokeStyle = css(colour);
  context.stroke();
  context.restore();
}

/** A square about (x, y), `reach` to each side. */
export function drawFrame(context, [x, y], reach, colour, theme, width) {
  context.save();
  context.beginPath();
  context.roundRect(x - reach, y - reach, 2 * reach, 2 * reach, 4);
  context.lineWidth = width + 2;
  context.strokeStyle = css(theme.background, 0.85);
  context.stroke();
  context.lineWidth = width;
  context.strokeStyle = css(colour);
  context.stroke();
  context.restore();
}

/** A point drawn again, larger, above all others. */
export function drawDisc(context, [x, y], radius, colour) {
  context.beginPath();
  context.arc(x, y, radius, 0, TAU);
  context.fillStyle = css(colour);
  context.fill();
}

/** Lines from one place to others: `ends` are {to: [x, y], colour, dashed}. */
export function drawLinks(context, from, ends, theme) {
  context.save();
  context.lineCap = "round";
  for (const pass of [0, 1]) {
    for (const { to, colour, dashed } of ends) {
      context.setLineDash(dashed && pass ? [4, 4] : []);
      context.beginPath();
      context.moveTo(...from);
      context.lineTo(...to);
      context.lineWidth = pass ? 1.4 : 3.6;
      context.strokeStyle = pass ? css(colour, 0.95) : css(theme.background, 0.6);
      context.stroke();
    }
  }
  context.restore();
}

/** The query: a five-pointed star; `grow` above 1 while it lands. */
export function drawStar(context, [x, y], theme, grow = 1) {
  const outer = 10.5 * grow;
  context.save();
  context.translate(x, y);
  context.beginPath();
  for (let i = 0; i < 10; i++) {
    const far = i % 2 ? outer * 0.45 : outer;
    context.lineTo(far * Math.sin((i * Math.PI) / 5), -far * Math.cos((i * Math.PI) / 5));
  }
  context.closePath();
  context.lineJoin = "round";
  context.lineWidth = 4.5;
  context.strokeStyle = css(theme.background, 0.95);
  context.stroke();
  context.fillStyle = css(theme.primary);
  context.fill();
  context.lineWidth = 1.25;
  context.strokeStyle = css(theme.text);
  context.stroke();
  context.restore();
}

/** The way a query took so far: places [x, y] in order. */
export function drawTrail(context, places, theme) {
  context.save();
  context.lineJoin = context.lineCap = "round";
  for (const [width, colour, clear] of [[4.5, theme.background, 0.8], [2, theme.primary, 0.95]]) {
    context.lineWidth = width;
    for (let i = 1; i < places.length; i++) {
      context.beginPath();
      context.moveTo(...places[i - 1]);
      context.lineTo(...places[i]);
      context.strokeStyle = css(colour, clear * (0.25 + (0.75 * i) / places.length));
      context.stroke();
    }
  }
  context.restore();
}

/** The lasso or box while it is drawn: `path` is [x, y, x, y, …]. */
export function drawLasso(context, path, theme) {
  if (path.length < 4) return;
  context.save();
  context.beginPath();
  for (let p = 0; p < path.length; p += 2) context.lineTo(path[p], path[p + 1]);
  context.closePath();
  context.fillStyle = css(theme.primary, 0.1);
  context.fill();
  context.lineWidth = 1.5;
  context.setLineDash([5, 4]);
  context.strokeStyle = css(theme.primary, 0.95);
  context.stroke();
  context.restore();
}

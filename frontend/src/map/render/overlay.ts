// Drawing over the points: names, rings, links, the query's star, the lasso. Coordinates are CSS pixels.
import { context2d } from "../../lib/dom.ts";
import { css, mix, type Rgb, type Theme } from "../../lib/theme.ts";
import type { Point } from "../math/camera.ts";
import { placeNames } from "../math/namePlaces.ts";

type Context = CanvasRenderingContext2D;

const TAU = 2 * Math.PI;

const SHARE_OF_NAME = 0.3; // of the map's width, which a name takes at most
const SHORTEST_NAME = 90; // pixels
const LIFT_PX = 10; // half of a name's height, and a gap
const TOOLS_PX = 56; // at the top of the map, where names are hidden

/** A text, or as much of its begin as is no wider than `most`, by the width of a text. */
export function shortened(text: string, most: number, widthOf: (text: string) => number): string {
  if (widthOf(text) <= most) return text;
  const letters = [...text];
  let [fits, not] = [0, letters.length];
  while (not - fits > 1) {
    const middle = (fits + not) >> 1;
    if (widthOf(`${letters.slice(0, middle).join("")}…`) <= most) fits = middle;
    else not = middle;
  }
  return `${letters.slice(0, fits).join("").trimEnd()}…`;
}

/** Where a name stands that is `width` wide: on its points, or above them where it is wider; below where the tools are above. */
export function nameHeight(y: number, radius: number, width: number): number {
  const lift = Math.max(0, Math.min(1, 2 - (4 * radius) / width)) * (1.5 * radius + LIFT_PX);
  return y - lift < TOOLS_PX ? y + lift : y - lift;
}

/**
 * Class names at the classes' centers, or beside them where names would overlap; as clear as the classes are. One whose center is
 * on the map stands there as a whole.
 */
export function drawNames(
  context: Context,
  centers: { clear: number; spread: number; position: Point }[],
  classes: string[],
  colors: Rgb[],
  theme: Theme,
  screenOf: (place: Point) => Point,
  mapWidth: number,
): void {
  context.save();
  context.font = `600 ${13 * theme.px}px ${theme.font}`;
  const labels = centers.map((_, c) => c).filter((c) => centers[c].clear >= 0.05);
  const widthOf = (text: string) => context.measureText(text).width;
  const names = labels.map((c) => shortened(classes[c], Math.max(SHORTEST_NAME, SHARE_OF_NAME * mapWidth), widthOf));
  const wanted = labels.map((c, i) => {
    const { position, spread, clear } = centers[c];
    const [[x, y], width] = [screenOf(position), widthOf(names[i])];
    const radius = Math.abs(screenOf([position[0] + spread, position[1]])[0] - x);
    const inside = Math.max(width / 2, Math.min(mapWidth - width / 2, x));
    return { at: [x < 0 || x > mapWidth ? x : inside, nameHeight(y, radius, width)] as Point, width, clear };
  });
  placeNames(wanted).forEach((place, i) => {
    const c = labels[i];
    if (!place) return;
    context.globalAlpha = centers[c].clear;
    const ratio = context.getTransform().a || 1;
    const tag = tagOf(names[i], wanted[i].width, context.font, theme, colors[c], ratio);
    const [x, y] = [place[0] - tag.width / ratio / 2, place[1] - TAG_HEIGHT / 2].map(
      (at) => Math.round(at * ratio) / ratio,
    );
    context.drawImage(tag, x, y, tag.width / ratio, tag.height / ratio);
  });
  context.restore();
}

const TAG_HEIGHT = 24; // pixels
const MOST_TAGS = 500;
const tags = new Map<string, HTMLCanvasElement>();

// A name with its outline, drawn once: without a graphics card, the outlines take longer than all points.
function tagOf(name: string, width: number, font: string, theme: Theme, color: Rgb, ratio: number): HTMLCanvasElement {
  const [fill, outline] = [css(mix(theme.text, color, 0.25)), css(theme.background, 0.92)];
  const key = [name, width, font, fill, outline, ratio].join();
  const known = tags.get(key);
  if (known) return known;
  if (tags.size >= MOST_TAGS) tags.clear();
  const tag = document.createElement("canvas");
  Object.assign(tag, { width: Math.ceil((width + 8) * ratio), height: Math.ceil(TAG_HEIGHT * ratio) });
  const context = context2d(tag);
  context.scale(ratio, ratio);
  Object.assign(context, { font, textAlign: "center", textBaseline: "middle", lineJoin: "round", lineWidth: 4 });
  Object.assign(context, { strokeStyle: outline, fillStyle: fill });
  context.strokeText(name, tag.width / ratio / 2, TAG_HEIGHT / 2);
  context.fillText(name, tag.width / ratio / 2, TAG_HEIGHT / 2);
  tags.set(key, tag);
  return tag;
}

/** A ring about (x, y), legible on any ground. */
export function drawRing(
  context: Context,
  [x, y]: Point,
  radius: number,
  color: Rgb,
  theme: Theme,
  { width = 1.75, dashed = false } = {},
): void {
  context.save();
  context.beginPath();
  context.arc(x, y, radius, 0, TAU);
  context.lineWidth = width + 2.5;
  context.strokeStyle = css(theme.background, 0.85);
  context.stroke();
  if (dashed) context.setLineDash([2.5, 2.5]);
  context.lineWidth = width;
  context.strokeStyle = css(color);
  context.stroke();
  context.restore();
}

/** A square about (x, y), `reach` to each side. */
export function drawFrame(
  context: Context,
  [x, y]: Point,
  reach: number,
  color: Rgb,
  theme: Theme,
  width: number,
): void {
  context.save();
  context.beginPath();
  context.roundRect(x - reach, y - reach, 2 * reach, 2 * reach, 4);
  context.lineWidth = width + 2;
  context.strokeStyle = css(theme.background, 0.85);
  context.stroke();
  context.lineWidth = width;
  context.strokeStyle = css(color);
  context.stroke();
  context.restore();
}

/** A point drawn again, larger, above all others. */
export function drawDisc(context: Context, [x, y]: Point, radius: number, color: Rgb): void {
  context.beginPath();
  context.arc(x, y, radius, 0, TAU);
  context.fillStyle = css(color);
  context.fill();
}

/** Lines from one place to others, straight where no way is given. */
export function drawLinks(
  context: Context,
  from: Point,
  ends: { to: Point; color: Rgb; dashed: boolean; way?: Point[] }[],
  theme: Theme,
): void {
  context.save();
  context.lineCap = "round";
  for (const pass of [0, 1]) {
    for (const { to, color, dashed, way } of ends) {
      context.setLineDash(dashed && pass ? [4, 4] : []);
      context.beginPath();
      context.moveTo(...from);
      for (const point of way ?? [to]) context.lineTo(...point);
      context.lineWidth = pass ? 1.4 : 3.6;
      context.strokeStyle = pass ? css(color, 0.95) : css(theme.background, 0.6);
      context.stroke();
    }
  }
  context.restore();
}

/** The query: a five-pointed star; `grow` above 1 while it lands. */
export function drawStar(context: Context, [x, y]: Point, theme: Theme, grow = 1): void {
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

/** Kept pictures: diamonds; with a name where one is pointed at. Thousands are stamped, which costs a tenth of paths. */
export function drawDiamonds(context: Context, places: Point[], theme: Theme, reach: number, name = ""): void {
  const stamp = diamondOf(reach, css(theme.background), css(name ? theme.text : theme.primary), devicePixelRatio);
  const side = stamp.width / devicePixelRatio;
  for (const [x, y] of places) context.drawImage(stamp, x - side / 2, y - side / 2, side, side);
  if (!name) return;
  context.save();
  const [x, y] = [places[0][0], places[0][1] - reach - 6];
  const font = `600 ${13 * theme.px}px ${theme.font}`;
  Object.assign(context, { font, textAlign: "center", lineJoin: "round", lineWidth: 4 });
  context.strokeStyle = css(theme.background, 0.95);
  context.strokeText(name, x, y);
  context.fillStyle = css(theme.text);
  context.fillText(name, x, y);
  context.restore();
}

/** A cross at a place, of a new image over the map. */
export function drawCross(context: Context, [x, y]: Point, color: Rgb, theme: Theme, isOneOfMany: boolean): void {
  const [ground, line] = [css(theme.background, isOneOfMany ? 0.6 : 1), css(color)];
  const reach = isOneOfMany ? 2.5 : 4;
  const trace = (mark: Context) => {
    for (const way of [1, -1]) {
      mark.moveTo(-reach, -way * reach);
      mark.lineTo(reach, way * reach);
    }
  };
  const stamp = stampOf("cross", reach, ground, line, devicePixelRatio, trace, isOneOfMany ? [2.5, 1] : [4, 2]);
  const side = stamp.width / devicePixelRatio;
  context.drawImage(stamp, x - side / 2, y - side / 2, side, side);
}

const diamondOf = (reach: number, fill: string, line: string, ratio: number): HTMLCanvasElement =>
  stampOf("diamond", reach, fill, line, ratio, (mark) => {
    mark.moveTo(0, -reach);
    mark.lineTo(0.8 * reach, 0);
    mark.lineTo(0, reach);
    mark.lineTo(-0.8 * reach, 0);
    mark.closePath();
  });

// A mark with an outline, drawn once: there may be thousands of them.
function stampOf(
  name: string,
  reach: number,
  fill: string,
  line: string,
  ratio: number,
  trace: (mark: Context) => void,
  [outer, inner] = [4, 2],
): HTMLCanvasElement {
  const key = [name, reach, fill, line, ratio].join();
  const known = tags.get(key);
  if (known) return known;
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 2 * Math.ceil((reach + 3) * ratio);
  const context = context2d(canvas);
  context.setTransform(ratio, 0, 0, ratio, canvas.width / 2, canvas.width / 2);
  trace(context);
  for (const [width, color] of [
    [outer, fill],
    [inner, line],
  ] as const) {
    Object.assign(context, { lineWidth: width, strokeStyle: color, fillStyle: fill });
    context.fill();
    context.stroke();
  }
  tags.set(key, canvas);
  return canvas;
}

/** The way a query took so far: places [x, y] in order. */
export function drawTrail(context: Context, places: Point[], theme: Theme): void {
  context.save();
  context.lineJoin = context.lineCap = "round";
  const passes: [number, Rgb, number][] = [
    [4.5, theme.background, 0.8],
    [2, theme.primary, 0.95],
  ];
  for (const [width, color, clear] of passes) {
    context.lineWidth = width;
    for (let i = 1; i < places.length; i++) {
      context.beginPath();
      context.moveTo(...places[i - 1]);
      context.lineTo(...places[i]);
      context.strokeStyle = css(color, clear * (0.25 + (0.75 * i) / places.length));
      context.stroke();
    }
  }
  context.restore();
}

/** The lasso or box while it is drawn: `path` is [x, y, x, y, …]. */
export function drawLasso(context: Context, path: readonly number[], theme: Theme): void {
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

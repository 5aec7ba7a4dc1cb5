// A learned space drawn as it is: its circle, plane, sphere or axes, the loss's class centers, the wedges of a margin.
import type { Space } from "../../protocol.ts";
import { css, type Theme } from "../../lib/theme.ts";
import type { MapState } from "../data/state.ts";
import type { Point } from "../math/camera.ts";
import type { Orbit } from "../math/orbit.ts";
import type { Replay } from "./replay.ts";
import type { Scene } from "./scene.ts";
import { drawUnitArrow } from "./unitArrow.ts";

type Context = CanvasRenderingContext2D;
/** Position on the stage of a point of two or three coordinates. */
type Seen = (point: readonly number[]) => Point;
type Margins = NonNullable<Space["margins"]>;

const LABEL_PX = 12; // nearer to the edge than this a number is cut
const TAU = 2 * Math.PI;
const SEARCH_STEP = Math.PI / 360;
const CIRCLE_STEPS = 96; // of a circle in three dimensions

/**
 * The sectors in which an angular loss is content: for each class [from, to] in radians, from the angles of the class
 * centers. Between two centers an angle apart a class reaches as far as its own score, made worse by the margins,
 * is not below the other's: cos(m₁θ + m₂) − m₃ ≥ cos(apart − θ). A class without such a sector has [its angle, the same].
 *
 * In JavaScript, beside dmlviz/training/batch_terms.py, because the centers move between two frames, so that the sectors
 * are needed 60 times a second: ten of them take 0.15 ms here, and a question to the worker takes 7 ms at best.
 * tests/app/test_page_scripts.py holds the two equal.
 */
export function wedges(angles: number[], [m1, m2, m3]: Margins): Point[] {
  const order = angles.map((_, c) => c).sort((a, b) => angles[a] - angles[b]);
  const ranges = angles.map((): Point => [0, 0]);
  order.forEach((c, place) => {
    const after = order[(place + 1) % order.length];
    const gap = order.length > 1 ? (angles[after] - angles[c] + TAU) % TAU : TAU;
    const reach = reachOf(gap, m1, m2, m3);
    ranges[c][1] = angles[c] + reach;
    ranges[after][0] = angles[after] - reach;
  });
  return ranges.map(([from, to], c) => (from < to ? [from, to] : [angles[c], angles[c]]));
}

function reachOf(gap: number, m1: number, m2: number, m3: number): number {
  const content = (theta: number) => score(Math.abs(theta), m1, m2, m3) >= Math.cos(Math.min(Math.PI, gap - theta));
  let [low, high] = [0, Math.min(Math.PI, gap / 2)];
  // A class that is not content at its own center, so near is the other, may be so on the side away from it.
  for (; !content(low); low -= SEARCH_STEP) {
    if (low < -Math.PI / 2) return -Infinity;
    high = low;
  }
  for (let i = 0; i < 30; i++) {
    const middle = (low + high) / 2;
    if (content(middle)) low = middle;
    else high = middle;
  }
  return low;
}

// The own class's score, which falls on all of 0 to π (Liu et al. 2017).
function score(theta: number, m1: number, m2: number, m3: number): number {
  const angle = m1 * theta + m2;
  const k = Math.floor(angle / Math.PI);
  return (k % 2 ? -1 : 1) * Math.cos(angle) - 2 * k - m3;
}

/** Points between two lists of them; the first where there is no second. */
export const between = <T extends number[][] | undefined>(
  a: T,
  b: number[][] | undefined,
  share: number,
): T | number[][] =>
  a && b?.length === a.length ? a.map((point, i) => point.map((v, axis) => v + (b[i][axis] - v) * share)) : a;

const GEODESIC_STEPS = 24;

/**
 * Points on the shortest way between two of a Poincaré disk or ball of a radius: an arc that meets its rim at right
 * angles. Moved so that `a` is the center, the way is straight.
 */
export function geodesic(a: readonly number[], b: readonly number[], radius: number): number[][] {
  const from = a.map((v) => v / radius);
  const away = moebius(
    from.map((v) => -v),
    b.map((v) => v / radius),
  );
  const length = Math.sqrt(dot(away, away));
  const end = Math.atanh(Math.min(length, 1 - 1e-12));
  return Array.from({ length: GEODESIC_STEPS + 1 }, (_, i) => {
    const share = length ? Math.tanh((i / GEODESIC_STEPS) * end) / length : 0;
    return moebius(
      from,
      away.map((v) => v * share),
    ).map((v) => v * radius);
  });
}

const dot = (u: number[], v: number[]): number => u.reduce((sum, value, axis) => sum + value * v[axis], 0);

/** a ⊕ x of two points of the unit ball (Ungar 2008). */
function moebius(a: number[], x: number[]): number[] {
  const [along, own, other] = [dot(a, x), dot(a, a), dot(x, x)];
  const [left, right, whole] = [1 + 2 * along + other, 1 - own, 1 + 2 * along + own * other];
  return a.map((v, axis) => (left * v + right * x[axis]) / whole);
}

/** Draw what belongs to the space that is shown: on `ground`, below the points, all but class centers and the arrow. */
export function drawSpace(
  context: Context,
  ground: Context,
  state: MapState,
  playback: Replay,
  orbit: Orbit,
  scene: Scene,
): void {
  const space = state.data.picture?.space;
  const { player, entries, shown } = playback;
  if (!shown || !(space || shown.grid)) return;
  const after = entries[entries.indexOf(shown) + 1];
  const share = Math.max(0, player.position - Math.floor(player.position));
  const centers = between(shown.centers, after?.centers, share);
  const grid = between(shown.grid, after?.grid, share);
  const toScreen: Seen = (point) => scene.toScreen(orbit.toPlane(point, scene.frame?.pivot));
  ground.save();
  ground.lineWidth = 1;
  if (grid) drawGrid(ground, grid.map(toScreen), state.theme);
  ground.strokeStyle = css(state.theme.muted, 0.5);
  if (space?.kind === "circle" || space?.kind === "plane" || space?.kind === "disk")
    drawFlat(ground, space, toScreen, state.theme, scene);
  else if (space) drawSolid(ground, space, state.theme, orbit, scene, toScreen);
  if (space?.kind === "circle" && space.margins && centers?.length === state.model.classes.length) {
    drawWedges(ground, centers, space.margins, state, toScreen);
  }
  ground.restore();
  if (!space) return;
  context.save();
  if (centers) drawCenters(context, space, centers, state, toScreen, scene);
  const { pinned } = state.model;
  if (space.kind === "plane" && pinned !== null && scene.frame?.present[pinned])
    drawUnitArrow(context, scene.worldOf(pinned), toScreen, state.theme);
  context.restore();
}

/** The lines between the corners of a grid: those along x first, and its axes stronger. */
function drawGrid(context: Context, corners: Point[], theme: Theme): void {
  const side = Math.round(Math.sqrt(corners.length));
  for (let line = 0; line < 2 * side; line++) {
    const [row, across] = [line % side, line < side];
    context.beginPath();
    for (let i = 0; i < side; i++) context.lineTo(...corners[across ? row * side + i : i * side + row]);
    context.strokeStyle = css(theme.muted, 2 * row === side - 1 ? 0.9 : 0.4);
    context.stroke();
  }
}

function drawFlat(context: Context, { kind, radius = 1 }: Space, toScreen: Seen, theme: Theme, scene: Scene): void {
  const [x0, y0] = toScreen([0, 0]);
  const { width, height } = scene.port;
  context.beginPath();
  context.moveTo(0, y0);
  context.lineTo(width, y0);
  context.moveTo(x0, 0);
  context.lineTo(x0, height);
  context.strokeStyle = css(theme.muted, 0.22);
  context.stroke();
  context.strokeStyle = css(theme.muted, 0.5);
  if (kind !== "plane") {
    context.beginPath();
    context.arc(x0, y0, radius * scene.view.k, 0, TAU);
    context.stroke();
  } else drawTicks(context, [x0, y0], scene, theme);
}

// Round numbers about 90 pixels apart; one that the edge would cut is left out.
function drawTicks(context: Context, [x0, y0]: Point, { view, port }: Scene, theme: Theme): void {
  const rough = 90 / view.k;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5].find((digit) => digit * power >= rough) ?? 10) * power;
  context.fillStyle = css(theme.muted, 0.8);
  context.font = `${10.5 * theme.px}px ${theme.font}`;
  const digits = Math.max(0, -Math.floor(Math.log10(step)));
  context.textAlign = "center";
  context.textBaseline = "top";
  for (let i = Math.ceil(-x0 / (step * view.k)); x0 + i * step * view.k < port.width; i++) {
    const x = x0 + i * step * view.k;
    if (i && y0 > 0 && y0 < port.height - 14 && x > LABEL_PX && x < port.width - LABEL_PX)
      context.fillText((i * step).toFixed(digits), x, y0 + 3);
  }
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (let i = Math.ceil((y0 - port.height) / (step * view.k)); y0 - i * step * view.k > 0; i++) {
    const y = y0 - i * step * view.k;
    if (i && x0 > 24 && x0 < port.width && y > LABEL_PX && y < port.height - LABEL_PX)
      context.fillText((i * step).toFixed(digits), x0 - 4, y);
  }
}

function drawSolid(
  context: Context,
  { kind, radius = 1 }: Space,
  theme: Theme,
  orbit: Orbit,
  scene: Scene,
  toScreen: Seen,
): void {
  const reach = scene.frame?.reach ?? 1;
  const circle = (at: (angle: number) => number[]) => {
    const points = Array.from({ length: CIRCLE_STEPS + 1 }, (_, i) =>
      at((i * TAU) / CIRCLE_STEPS).map((v) => v * radius),
    );
    for (let i = 0; i < CIRCLE_STEPS; i++) {
      const front = orbit.project(points[i])[2] >= 0;
      context.beginPath();
      context.moveTo(...toScreen(points[i]));
      context.lineTo(...toScreen(points[i + 1]));
      context.strokeStyle = css(theme.muted, front ? 0.42 : 0.14);
      context.stroke();
    }
  };
  if (kind !== "space") {
    context.beginPath();
    context.arc(...toScreen([0, 0, 0]), radius * scene.view.k, 0, TAU);
    context.stroke();
    for (const latitude of [-1, 0, 1]) {
      const [r, y] = [Math.cos((latitude * TAU) / 12), Math.sin((latitude * TAU) / 12)];
      circle((a) => [r * Math.cos(a), y, r * Math.sin(a)]);
    }
    for (const turn of [0, 1, 2]) {
      const [c, s] = [Math.cos((turn * TAU) / 6), Math.sin((turn * TAU) / 6)];
      circle((a) => [c * Math.cos(a), Math.sin(a), s * Math.cos(a)]);
    }
    return;
  }
  context.fillStyle = css(theme.muted);
  context.font = `${11 * theme.px}px ${theme.font}`;
  [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ].forEach((axis, i) => {
    const end = axis.map((v) => v * reach);
    context.beginPath();
    context.moveTo(...toScreen([0, 0, 0]));
    context.lineTo(...toScreen(end));
    context.stroke();
    context.fillText("xyz"[i], ...toScreen(end.map((v) => v * 1.04)));
  });
}

function drawWedges(
  context: Context,
  centers: number[][],
  margins: Margins,
  { model, colors }: MapState,
  toScreen: Seen,
): void {
  const angles = centers.map(([x, y]) => Math.atan2(y, x));
  const [x0, y0] = toScreen([0, 0]);
  const [x1, y1] = toScreen([1, 0]);
  const radius = Math.hypot(x1 - x0, y1 - y0);
  wedges(angles, margins).forEach(([from, to], c) => {
    if (model.hidden.has(c) || from === to) return;
    context.beginPath();
    context.moveTo(x0, y0);
    context.arc(x0, y0, radius * 1.06, -to, -from);
    context.closePath();
    context.fillStyle = css(colors[c], 0.13);
    context.fill();
  });
}

// Class centers as diamonds; in a free space a class weight is a direction, and drawn as a ray.
function drawCenters(
  context: Context,
  { kind, centers: sort }: Space,
  centers: number[][],
  { model, colors, theme }: MapState,
  toScreen: Seen,
  { frame, port, view }: Scene,
): void {
  const each = Math.max(1, Math.round(centers.length / model.classes.length));
  const origin = toScreen(centers[0].map(() => 0));
  const far = frame?.reach ?? Math.hypot(port.width, port.height) / view.k;
  centers.forEach((center, i) => {
    const c = Math.floor(i / each);
    if (model.hidden.has(c) || !colors[c]) return;
    const place = toScreen(center);
    if (sort === "directions") {
      const free = kind === "plane" || kind === "space";
      context.beginPath();
      context.moveTo(...origin);
      context.lineTo(...(free ? toScreen(center.map((v) => v * far)) : place));
      context.strokeStyle = css(colors[c], free ? 0.45 : 0.35);
      context.lineWidth = 1.5;
      context.stroke();
      if (free) return;
    }
    const size = each > 1 ? 4 : 6.5;
    context.beginPath();
    [
      [0, -size],
      [size, 0],
      [0, size],
      [-size, 0],
    ].forEach(([dx, dy]) => context.lineTo(place[0] + dx, place[1] + dy));
    context.closePath();
    context.lineWidth = 3;
    context.strokeStyle = css(theme.background, 0.9);
    context.stroke();
    context.fillStyle = css(colors[c]);
    context.fill();
    context.lineWidth = 1.25;
    context.strokeStyle = css(theme.text);
    context.stroke();
  });
}

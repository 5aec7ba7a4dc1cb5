// A frame in a picture, moved, resized and turned. Pure: no DOM. Points and sizes are pixels of the picture.
import type { PictureFrame } from "../../protocol.ts";

export type Frame = PictureFrame;
export type Point = readonly [number, number];
export interface Size {
  width: number;
  height: number;
}

const SMALLEST = 0.03; // of the picture's shorter side
const MOVE = 0.02; // of the picture, by an arrow key
const GROW = 1.06; // by + and −
const TURN = 5; // degrees, by [ and ]

/** The frame after a tap on a picture that has none. */
export const DEFAULT_FRAME: Frame = { x: 0.5, y: 0.5, width: 0.5, height: 0.5, angle: 0 };

const clamp = (value: number, least: number, most: number): number => Math.max(least, Math.min(most, value));
const centerOf = (frame: Frame, size: Size): Point => [frame.x * size.width, frame.y * size.height];

/** (x, y) in the frame's own directions, as a step in the picture: turned clockwise, as y grows downward. */
function turn([x, y]: Point, degrees: number): Point {
  const [sin, cos] = [Math.sin((degrees * Math.PI) / 180), Math.cos((degrees * Math.PI) / 180)];
  return [x * cos - y * sin, x * sin + y * cos];
}

/** The point at (across, down) of the frame, from (-1, -1), its top left corner, to (1, 1). */
export function pointOf(frame: Frame, size: Size, across: number, down: number): Point {
  const [x, y] = centerOf(frame, size);
  const half: Point = [(across * frame.width * size.width) / 2, (down * frame.height * size.height) / 2];
  const [dx, dy] = turn(half, frame.angle);
  return [x + dx, y + dy];
}

/** Corners in the frame: top left, top right, bottom right, bottom left. */
export const CORNERS: readonly Point[] = [
  [-1, -1],
  [1, -1],
  [1, 1],
  [-1, 1],
];

/** The corners, in the order of `CORNERS`. */
export const cornersOf = (frame: Frame, size: Size): Point[] =>
  CORNERS.map(([across, down]) => pointOf(frame, size, across, down));

/** The frame with its center at a point, which stays in the picture. */
export const centeredAt = (frame: Frame, size: Size, [x, y]: Point): Frame => ({
  ...frame,
  x: clamp(x / size.width, 0, 1),
  y: clamp(y / size.height, 0, 1),
});

/** The frame with a corner at a point; the corner opposite stays. */
export function withCorner(frame: Frame, size: Size, corner: number, point: Point): Frame {
  const [across, down] = CORNERS[corner];
  const anchor = pointOf(frame, size, -across, -down);
  const [x, y] = turn([point[0] - anchor[0], point[1] - anchor[1]], -frame.angle);
  const least = SMALLEST * Math.min(size.width, size.height);
  const width = clamp(x * across, least, size.width);
  const height = clamp(y * down, least, size.height);
  const [dx, dy] = turn([(across * width) / 2, (down * height) / 2], frame.angle);
  const result = { ...frame, width: width / size.width, height: height / size.height };
  return centeredAt(result, size, [anchor[0] + dx, anchor[1] + dy]);
}

/** The frame turned so that its side at (across, down) faces a point. */
export function facing(frame: Frame, size: Size, [across, down]: Point, [x, y]: Point): Frame {
  const center = centerOf(frame, size);
  const degrees = ([dx, dy]: Point) => (Math.atan2(dy, dx) * 180) / Math.PI;
  const angle = degrees([x - center[0], y - center[1]]) - degrees([across, down]);
  return { ...frame, angle: ((Math.round(angle) % 360) + 360) % 360 };
}

/** The frame after a key: arrows move it, + and - resize it, [ and ] turn it; null for any other key. */
export function afterKey(frame: Frame, size: Size, key: string): Frame | null {
  const [x, y] = centerOf(frame, size);
  const [right, down] = [MOVE * size.width, MOVE * size.height];
  const moves: Record<string, Point> = {
    ArrowLeft: [-right, 0],
    ArrowRight: [right, 0],
    ArrowUp: [0, -down],
    ArrowDown: [0, down],
  };
  if (key in moves) return centeredAt(frame, size, [x + moves[key][0], y + moves[key][1]]);
  if ("+=-_".includes(key)) {
    const factor = "+=".includes(key) ? GROW : 1 / GROW;
    const grow = (side: number) => clamp(side * factor, SMALLEST, 1);
    return { ...frame, width: grow(frame.width), height: grow(frame.height) };
  }
  if (key === "[" || key === "]") return { ...frame, angle: (frame.angle + (key === "]" ? TURN : -TURN) + 360) % 360 };
  return null;
}

/** As the address of a question names it. */
export const frameParameter = ({ x, y, width, height, angle }: Frame): string =>
  [x, y, width, height, angle].map((value) => Number(value.toFixed(4))).join(",");

/** True if two frames look the same. */
export const isSame = (a: Frame, b: Frame): boolean => frameParameter(a) === frameParameter(b);

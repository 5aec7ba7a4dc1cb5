// A video and what was found in it, decoded. Pure: no DOM.
import { decodeBase64 } from "../../lib/base64.ts";
import type { FollowedVideo } from "../../protocol.ts";

/** Row and column of the middle, and the side of a square. */
export type Box = [number, number, number];

export interface DecodedFollower {
  title: string;
  boxes: Box[];
  maps: Uint8Array;
  overlaps: number[];
  frames_followed: number;
  milliseconds: number;
  mean: number;
}

export interface Video {
  frames: Uint8Array;
  side: number;
  count: number;
  stride: number;
  mapSide: number;
  first: Box;
  truth: Box[];
  followers: DecodedFollower[];
}

export function decodeVideo(video: FollowedVideo): Video {
  return {
    frames: decodeBase64(video.frames),
    side: video.side,
    count: video.count,
    stride: video.stride,
    mapSide: Math.ceil(video.side / video.stride),
    first: video.first as Box,
    truth: video.truth as Box[],
    followers: video.followers.map((one) => ({
      ...one,
      boxes: one.boxes as Box[],
      maps: decodeBase64(one.maps),
      mean: mean(one.overlaps.slice(1)), // the first frame is given
    })),
  };
}

const mean = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

/** Result of a method, in words. */
export function summary({ mean, frames_followed }: DecodedFollower, count: number): string {
  const end = frames_followed >= count ? "kept to the end" : `lost at frame ${frames_followed}`;
  return `mean IoU ${mean.toFixed(2)}, ${end}`;
}

/** The square between two corners that a pointer drew, within the picture; `usual` a side for a mere click. */
export function squareOf(from: [number, number], to: [number, number], side: number, usual: number): Box {
  const size = Math.max(Math.abs(to[0] - from[0]), Math.abs(to[1] - from[1]));
  const within = (value: number) => Math.max(0, Math.min(side - 1, value));
  if (size < 4) return [within(from[1]), within(from[0]), usual];
  return [within((from[1] + to[1]) / 2), within((from[0] + to[0]) / 2), Math.min(size, side)];
}

const KEY_STEP = 1; // pixels of the video for an arrow
const KEY_GROWTH = 2;
const LEAST_SIDE = 4;
const MOVES: Record<string, [number, number, number]> = {
  ArrowUp: [-KEY_STEP, 0, 0],
  ArrowDown: [KEY_STEP, 0, 0],
  ArrowLeft: [0, -KEY_STEP, 0],
  ArrowRight: [0, KEY_STEP, 0],
  "+": [0, 0, KEY_GROWTH],
  "-": [0, 0, -KEY_GROWTH],
};

/** The box that a key makes of a box: Shift with an arrow moves it, + and − resize it; null for another key. */
export function keyedBox(box: Box, key: string, shift: boolean, side: number): Box | null {
  const move = MOVES[key];
  if (!move || (key.startsWith("Arrow") && !shift)) return null;
  const within = (value: number) => Math.max(0, Math.min(side - 1, value));
  const size = Math.max(LEAST_SIDE, Math.min(side, box[2] + move[2]));
  return [within(box[0] + move[0]), within(box[1] + move[1]), size];
}

const STOPS = [
  [6, 8, 26],
  [74, 16, 92],
  [190, 48, 82],
  [248, 142, 42],
  [255, 248, 190],
];

/** The color of a score, 0 to 255: dark, violet, orange, light. */
export function heat(score: number): [number, number, number] {
  const at = (score / 255) * (STOPS.length - 1);
  const low = Math.min(STOPS.length - 2, Math.floor(at));
  const color = STOPS[low].map((value, i) => Math.round(value + (STOPS[low + 1][i] - value) * (at - low)));
  return [color[0], color[1], color[2]];
}

// The ways that the pinned and the selected items went to where they are: lines through their last frames.
import { css, type Rgb } from "../../lib/theme.ts";
import type { MapState } from "../data/state.ts";
import type { Frames } from "../data/frames.ts";
import type { Entry } from "../data/timeline.ts";
import type { Point } from "../math/camera.ts";
import type { Replay } from "./replay.ts";
import type { Scene } from "./scene.ts";

const PINNED_FRAMES = 24;
const SELECTED_FRAMES = 5;
const MAX_ITEMS = 150; // more lines than that are a cloud

/** The places of an item in the last `most` entries up to index `upto`, oldest first: [x, y] each. */
export function trailPoints(
  frames: Pick<Frames, "at">,
  entries: Entry[],
  upto: number,
  item: number,
  most: number,
): Point[] {
  const places: Point[] = [];
  for (let i = Math.max(0, upto - most + 1); i <= upto; i++) {
    const place = entries[i] && frames.at(entries[i].frame, item);
    if (place) places.push(place);
  }
  return places;
}

/** The first `most` items that a mask holds. */
export function firstOf(mask: ArrayLike<number>, most: number): number[] {
  const items: number[] = [];
  for (let i = 0; i < mask.length && items.length < most; i++) if (mask[i]) items.push(i);
  return items;
}

interface Trail {
  item: number;
  points: Point[];
  pinned: boolean;
}

export class Trails {
  /** The trails that were looked up last, and of what. */
  private cache: { key: unknown[]; trails: Trail[] } = { key: [], trails: [] };

  constructor(
    private state: MapState,
    private playback: Replay,
  ) {}

  /** True if the selection is small enough to be drawn. */
  get drawable(): boolean {
    const { selected } = this.state.model;
    return selected !== null && firstOf(selected, MAX_ITEMS + 1).length <= MAX_ITEMS;
  }

  draw(context: CanvasRenderingContext2D, scene: Scene): void {
    const { playback } = this;
    const { model, theme, colors, trails } = this.state;
    if (!trails || !playback.sharesBasis || !playback.shown) return;
    if (model.pinned === null && model.selected === null) return;
    for (const { item, points, pinned } of this.lookUp()) {
      if (!scene.frame?.present[item] || !model.isVisible(item)) continue;
      const places = [...points.map(scene.toScreen), scene.screenOf(item)];
      if (pinned) drawTrail(context, places, theme.text, 1.6, 0.8);
      else drawTrail(context, places, colors[model.groupIds[item]], 1.1, 0.45);
    }
  }

  // Looked up once a frame, not at every drawing between two.
  private lookUp(): Trail[] {
    const { model } = this.state;
    const { entries, frames, player } = this.playback;
    if (!frames) return [];
    const upto = Math.floor(player.position);
    const key = [entries, frames, upto, model.pinned, model.selected, frames.raw.size, frames.orbit.version];
    if (key.every((part, i) => part === this.cache.key[i])) return this.cache.trails;
    const trailOf = (item: number, most: number, pinned: boolean): Trail => ({
      item,
      points: trailPoints(frames, entries, upto, item, most),
      pinned,
    });
    const items = model.selected && this.drawable ? firstOf(model.selected, MAX_ITEMS) : [];
    const trails = items.filter((item) => item !== model.pinned).map((item) => trailOf(item, SELECTED_FRAMES, false));
    if (model.pinned !== null) trails.push(trailOf(model.pinned, PINNED_FRAMES, true));
    this.cache = { key, trails };
    return trails;
  }
}

// `clear` is the opacity of its newest piece.
function drawTrail(context: CanvasRenderingContext2D, places: Point[], color: Rgb, width: number, clear: number): void {
  context.save();
  context.lineWidth = width;
  context.lineCap = "round";
  for (let i = 1; i < places.length; i++) {
    context.beginPath();
    context.moveTo(...places[i - 1]);
    context.lineTo(...places[i]);
    context.strokeStyle = css(color, clear * (0.1 + (0.9 * i) / places.length));
    context.stroke();
  }
  context.restore();
}

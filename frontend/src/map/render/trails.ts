// @ts-nocheck
// The ways that the pinned and the selected items went to where they are: lines through their last frames.
import { css } from "../../lib/theme.ts";

const PINNED_FRAMES = 24;
const SELECTED_FRAMES = 5;
const MOST_ITEMS = 150; // more lines than that are a cloud

/** The places of an item in the last `most` entries up to index `upto`, oldest first: [x, y] each. */
export function wayOf(frames, entries, upto, item, most) {
  const places = [];
  for (let i = Math.max(0, upto - most + 1); i <= upto; i++) {
    const place = entries[i] && frames.at(entries[i].frame, item);
    if (place) places.push(place);
  }
  return places;
}

/** The first `most` items that a mask holds. */
export function firstOf(mask, most) {
  const items = [];
  for (let i = 0; i < mask.length && items.length < most; i++) if (mask[i]) items.push(i);
  return items;
}

/** `view` is the MapView. */
export class Trails {
  constructor(view) {
    this.view = view;
    this.known = {};
  }

  /** Whether the selection is small enough to be drawn. */
  get drawable() {
    const { selected } = this.view.model;
    return selected !== null && firstOf(selected, MOST_ITEMS + 1).length <= MOST_ITEMS;
  }

  draw(context, scene) {
    const { view } = this;
    const { model, playback, theme, colours } = view;
    if (!view.trails || !playback.common || !playback.shown) return;
    if (model.pinned === null && model.selected === null) return;
    for (const { item, way, pinned } of this.ways()) {
      if (!scene.frame.present[item] || !model.shows(item)) continue;
      const places = [...way.map(scene.toScreen), scene.screenOf(item)];
      if (pinned) drawWay(context, places, theme.text, 1.6, 0.8);
      else drawWay(context, places, colours[model.labels[item]], 1.1, 0.45);
    }
  }

  // Looked up once a frame, not at every drawing between two.
  ways() {
    const { model, playback } = this.view;
    const { entries, frames, player } = playback;
    const upto = Math.floor(player.head);
    const { known } = this;
    const same = known.entries === entries && known.frames === frames && known.upto === upto
      && known.pinned === model.pinned && known.selected === model.selected && known.here === frames.raw.size
      && known.turned === frames.orbit.version;
    if (same) return known.ways;
    const items = this.drawable ? firstOf(model.selected, MOST_ITEMS) : [];
    const ways = items.filter((item) => item !== model.pinned)
      .map((item) => ({ item, way: wayOf(frames, entries, upto, item, SELECTED_FRAMES) }));
    if (model.pinned !== null) {
      ways.push({ item: model.pinned, way: wayOf(frames, entries, upto, model.pinned, PINNED_FRAMES), pinned: true });
    }
    this.known = { entries, frames, upto, pinned: model.pinned, selected: model.selected, here: frames.raw.size, turned: frames.orbit.version, ways };
    return ways;
  }
}

// `clear` is the opacity of its newest piece.
function drawWay(context, places, colour, width, clear) {
  context.save();
  context.lineWidth = width;
  context.lineCap = "round";
  for (let i = 1; i < places.length; i++) {
    context.beginPath();
    context.moveTo(...places[i - 1]);
    context.lineTo(...places[i]);
    context.strokeStyle = css(colour, clear * (0.1 + (0.9 * i) / places.length));
    context.stroke();
  }
  context.restore();
}

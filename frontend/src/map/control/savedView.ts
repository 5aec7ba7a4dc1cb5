// What a person left on a map when they went to another page: eye, hidden classes and selection, for when they come back;
// of the map that was left last its frames, too.
import type { MapState } from "../data/state.ts";
import type { View } from "../math/camera.ts";
import type { Playback } from "../playback/playback.ts";
import type { Scene } from "../render/scene.ts";
import type { Selection } from "./selection.ts";

export interface SavedView {
  raw?: Map<string, ArrayBuffer>;
  /** Null where it followed the data. */
  eye: View | null;
  /** The shorter side of the stage then. */
  size: number;
  hidden: Set<number>;
  isolated: Uint8Array | null;
  selected: Uint8Array | null;
  reason: string | null;
  playing: boolean;
}

interface Parts {
  state: MapState;
  scene: Scene;
  playback: Playback;
  selection: Selection;
}

/** By what a map showed. */
const left = new Map<string, SavedView>();

const shownOn = ({ data }: MapState) => [data.run, data.view, data.begun].join("/");

/** Remember how a map is left; it is about to go. */
export function saveView({ state, scene, playback, selection }: Parts): void {
  if (!scene.frame) return;
  for (const other of left.values()) delete other.raw;
  left.set(shownOn(state), {
    raw: playback.frames?.raw,
    eye: scene.camera.automatic ? null : (scene.camera.target ?? scene.camera.view),
    size: scene.camera.size,
    hidden: state.model.hidden,
    isolated: state.model.isolated,
    selected: state.model.selected,
    reason: selection.reason,
    playing: playback.player.playing,
  });
}

/** Put back, once, what was left of what the map shows now; what that was, or null. */
export function restoreView({ state, scene, selection }: Omit<Parts, "playback">): SavedView | null {
  const saved = left.get(shownOn(state)) ?? null;
  left.delete(shownOn(state));
  if (!saved) return null;
  if (saved.eye) {
    scene.camera.view = { ...saved.eye, k: (saved.eye.k * (scene.camera.size || saved.size)) / saved.size };
    scene.camera.size ||= saved.size;
    scene.camera.automatic = false;
  }
  if (!state.data.display) {
    state.model.hidden = saved.hidden; // otherwise Python has kept them
    state.model.isolated = saved.isolated;
  }
  state.model.selected = saved.selected;
  selection.reason = saved.reason;
  return saved;
}

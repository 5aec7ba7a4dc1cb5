// @ts-nocheck
// What a person left on a map when they went to another page: eye, hidden classes and selection, for when they come back;
// of the map that was left last its frames, too.
import { page } from "../../lib/bus.ts";

const shownOn = ({ data }) => [data.run, data.view, data.begun].join("/");

/** Remember how a MapView is left; it is about to go. */
export function keep(view) {
  const { scene, model, playback, pointing } = view;
  if (!scene.frame) return;
  for (const other of page.left.values()) delete other.raw;
  page.left.set(shownOn(view), {
    raw: playback.frames?.raw,
    eye: scene.automatic ? null : (scene.target ?? scene.view),
    size: scene.size,
    hidden: model.hidden,
    selected: model.selected,
    reason: pointing.reason,
    playing: playback.player.playing,
  });
}

/** Put back, once, what was left of what the map shows now; what that was, or null. */
export function recall(view) {
  const was = page.left.get(shownOn(view)) ?? null;
  page.left.delete(shownOn(view));
  if (!was) return null;
  const { scene, model, pointing } = view;
  if (was.eye) {
    scene.view = { ...was.eye, k: (was.eye.k * (scene.size || was.size)) / was.size };
    scene.size ||= was.size;
    scene.automatic = false;
  }
  [model.hidden, model.selected, pointing.reason] = [was.hidden, was.selected, was.reason];
  return was;
}

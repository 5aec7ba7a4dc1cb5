// What a person can do to a map by a key, a button or the player, carried out.
import { nextMarkers } from "../data/markerShapes.ts";
import { SHOWN_IMAGES, type MapState } from "../data/state.ts";
import type { Playback } from "../playback/playback.ts";
import type { Scene } from "../render/scene.ts";
import type { History } from "./history.ts";
import type { Interaction } from "./interaction.ts";
import { keyAction, type Action } from "./keys.ts";
import type { MapLink } from "./linkedMaps.ts";
import type { Selection } from "./selection.ts";
import type { Subset } from "./subset.ts";

export interface ActionParts {
  state: MapState;
  root: HTMLElement;
  /** The element that has the keyboard. */
  stage: HTMLElement;
  scene: Scene;
  playback: Playback;
  interaction: Interaction;
  selection: Selection;
  history: History;
  subset: Subset;
  link: Pick<MapLink, "onAction">;
  /** Colors, or only what lies around the points, are to be shown anew. */
  repaint: () => void;
  /** Marker shapes tell something else. */
  reshape: () => void;
  changed: () => void;
}

export class MapActions {
  constructor(private parts: ActionParts) {}

  onKey(event: KeyboardEvent): void {
    const action = keyAction(event);
    if (event.target !== this.parts.stage && action?.[0] !== "clear") return;
    if (!action || event.altKey) return;
    event.preventDefault();
    event.stopPropagation(); // single letters are Streamlit's shortcuts too
    this.run(action);
  }

  run(action: Action): void {
    const { scene, interaction, selection, history, subset, playback, state, link, root, repaint, reshape, changed } =
      this.parts;
    link.onAction(action[0]);
    switch (action[0]) {
      case "mode":
        state.mode = action[1];
        break;
      case "markers":
        state.markers = nextMarkers(state);
        changed();
        return reshape();
      case "names":
        state.names = !state.names;
        break;
      case "trails":
        state.trails = !state.trails;
        break;
      case "density":
        state.density = !state.density;
        break;
      case "pictures":
        state.pictures = !state.pictures;
        break;
      case "isolate":
        if (!state.model.isolated && !state.model.selected) {
          state.trouble = "Select some images first, with the lasso or the box; X then shows them alone.";
          break;
        }
        history.record();
        state.trouble = null;
        selection.toggleIsolation();
        repaint();
        return scene.camera.goHome();
      case "subset":
        subset.project();
        break;
      case "whole":
        subset.leave();
        return repaint();
      case "undo":
      case "redo":
        if (action[0] === "undo" ? history.undo() : history.redo()) repaint();
        return;
      case "images":
        state.images = SHOWN_IMAGES[(SHOWN_IMAGES.indexOf(state.images) + 1) % SHOWN_IMAGES.length];
        state.trouble = null;
        scene.invalidate();
        break;
      case "home":
        return scene.camera.goHome();
      case "zoom":
        return scene.camera.zoom(action[1], scene.port.width / 2, scene.port.height / 2, !state.theme.still);
      case "play":
        return playback.toggle();
      case "step":
        return playback.step(action[1]);
      case "seek":
        return playback.seek(action[1]);
      case "seekStep":
        return playback.seekStep(action[1]);
      case "scrub":
        return playback.scrub(action[1]);
      case "refit":
        return playback.refit();
      case "speed":
        playback.player.cycleSpeed();
        break;
      case "walk":
        return interaction.walk(action[1]);
      case "clear":
        return interaction.clear();
      case "fullscreen":
        if (document.fullscreenElement) void document.exitFullscreen();
        else root.requestFullscreen?.().catch(() => {});
        return;
    }
    changed();
  }
}

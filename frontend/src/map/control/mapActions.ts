// Actions of a person on a map by a key, a button or the player.
import { nextMarkers } from "../data/columns.ts";
import { SHOWN_IMAGES } from "../../workbench/store.ts";
import type { Here } from "./here.ts";
import type { Interaction } from "./interaction.ts";
import { isTaken, keyAction, type Action } from "./keys.ts";
import { isHeld, SYNCED_ACTIONS, type MapLink } from "./linkedMaps.ts";
import type { MapParts } from "./parts.ts";
import type { Subset } from "./subset.ts";

type Parts = Pick<MapParts, "state" | "layout" | "scene" | "playback" | "refresh"> & {
  interaction: Interaction;
  subset: Subset;
  here: Pick<Here, "clear">;
  link: Pick<MapLink, "onAction">;
};

export class MapActions {
  constructor(private parts: Parts) {}

  onKey(event: KeyboardEvent): void {
    const action = keyAction(event);
    if (!action || event.altKey || event.defaultPrevented) return;
    const path = event.composedPath();
    const isInside = path.includes(this.parts.layout.root);
    const isOwn = path[0] === this.parts.layout.overlay || (isInside && action[0] === "clear");
    if (!isOwn && isTaken(path, action)) return;
    event.preventDefault();
    event.stopPropagation(); // single letters are Streamlit's shortcuts too
    this.run(action);
  }

  run(action: Action): void {
    const { scene, interaction, subset, playback, state, link, layout, here, refresh } = this.parts;
    const { store, model } = state;
    const { root, outline } = layout;
    if (isHeld(state) && SYNCED_ACTIONS.has(action[0])) return;
    link.onAction(action[0]);
    switch (action[0]) {
      case "mode":
        interaction.leave();
        state.mode = state.mode === "here" && action[1] === "here" ? "pan" : action[1];
        if (state.mode !== "here") here.clear();
        else if (playback.player.playing) this.run(["seek", playback.entries.length - 1]); // it is asked there alone
        break;
      case "markers":
        return store.setDisplay({ markers: nextMarkers(state) });
      case "names":
        return store.setDisplay({ names: !state.names });
      case "trails":
        return store.setDisplay({ trails: !state.trails });
      case "density":
        return store.setDisplay({ contours: !state.density });
      case "pictures":
        return store.setDisplay({ pictures: !state.pictures });
      case "isolate":
        if (!model.isolated && !model.selected) {
          state.trouble = "Select some points first, with the lasso or the box; X then shows them alone.";
          break;
        }
        store.record();
        state.trouble = null;
        model.toggleIsolation();
        return scene.camera.goHome();
      case "subset":
        subset.project();
        break;
      case "whole":
        return subset.leave();
      case "undo":
        return void store.undo();
      case "redo":
        return void store.redo();
      case "images":
        state.trouble = null;
        return store.setDisplay({
          images: SHOWN_IMAGES[(SHOWN_IMAGES.indexOf(state.images) + 1) % SHOWN_IMAGES.length],
        });
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
        interaction.clear();
        break;
      case "outline":
        return outline.open();
      case "fullscreen":
        if (document.fullscreenElement) void document.exitFullscreen();
        else root.requestFullscreen?.().catch(() => {});
        return;
      case "present":
        interaction.leave(); // what is under the pointer is another place now
        root.classList.toggle("large", !document.fullscreenElement || undefined);
        if (!document.fullscreenElement) root.requestFullscreen?.().catch(() => {});
        return;
    }
    refresh();
  }
}

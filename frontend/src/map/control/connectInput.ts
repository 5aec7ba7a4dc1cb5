// From the pointer on the stage, and from the parts beside the map, to what the map does.
import { bus } from "../../lib/bus.ts";
import { listen } from "./gestures.ts";
import type { Interaction } from "./interaction.ts";
import type { MapActions } from "./mapActions.ts";
import type { MapParts } from "./parts.ts";
import type { Selection } from "./selection.ts";

type Parts = MapParts & { interaction: Interaction; selection: Selection; actions: MapActions };

/** Listen to the pointer on the stage; returns how to stop. */
export function connectGestures({ state, scene, orbit, playback, interaction, selection, refresh }: Parts): () => void {
  return listen(scene.overlay, () => state.mode, {
    pan: (dx, dy) => {
      if (!scene.frame?.xyz) return scene.camera.pan(dx, dy);
      orbit.turn(dx, dy, Math.min(scene.port.width, scene.port.height));
      playback.rotated();
      refresh();
    },
    zoom: (factor, x, y, gliding) => scene.camera.zoom(factor, x, y, gliding && !state.theme.still),
    hover: (x, y) => interaction.hover(x, y),
    leave: () => interaction.leave(),
    click: (x, y, event) => interaction.click(x, y, event),
    home: () => scene.camera.goHome(),
    lasso: (path) => selection.lasso(path),
    lassoEnd: (path, box, event) => selection.lassoEnd(path, box, event),
  });
}

/** Listen to the parts beside the map that show the same run; returns how to stop. */
export function connectPanels({ state, interaction, selection, actions }: Parts): () => void {
  const isHere = ({ run }: { run: string }) => run === state.data.run;
  const offs = [
    bus.on(
      "hover",
      (detail) => detail.source !== state && isHere(detail) && interaction.setHovered(detail.item, { notify: false }),
    ),
    bus.on("seek", (detail) => isHere(detail) && actions.run([detail.scrub ? "scrub" : "seekStep", detail.step])),
    bus.on("select", (detail) => isHere(detail) && selection.selectItems(detail)),
    bus.on("pin-item", (detail) => isHere(detail) && interaction.pin(detail.item)),
    bus.on("play", (detail) => isHere(detail) && actions.run(["play"])),
  ];
  return () => offs.forEach((off) => off());
}

// From what a person does, on the stage, with the buttons around it and on the panels beside it, to what the map does.
import { bus } from "../../lib/bus.ts";
import type { Mode } from "../data/state.ts";
import type { LayoutHooks } from "../ui/layout.ts";
import { listen } from "./gestures.ts";
import type { Interaction } from "./interaction.ts";
import type { Action } from "./keys.ts";
import type { LayoutMover } from "./layoutMover.ts";
import type { MapActions } from "./mapActions.ts";
import type { MapParts } from "./parts.ts";
import type { PointPainter } from "./pointPainter.ts";
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

/** The map, whose parts are made after its elements. */
interface Target extends Pick<MapParts, "state" | "scene" | "layout" | "refresh"> {
  readonly actions: MapActions;
  readonly interaction: Interaction;
  readonly painter: PointPainter;
  readonly mover: LayoutMover;
  /** Color points by something else. */
  chooseColor: (name: string) => void;
  /** Send a value to the server. */
  setTriggerValue: (name: string, value: unknown) => void;
}

/** Handlers of the legend, the toolbar and the player. */
export function layoutHooks(map: Target): LayoutHooks {
  const run =
    (...action: Action) =>
    () =>
      map.actions.run(action);
  return {
    toggle: (c) => filter(map, () => map.state.model.toggleClass(c)),
    solo: (c) => filter(map, () => map.state.model.soloClass(c)),
    spotlight: (c) => {
      map.interaction.spotlight = c;
      map.painter.repaint();
    },
    pin: (item) => map.interaction.pin(item),
    ready: () => map.mover.ready(),
    set: (name, value, done) => map.mover.set(name, value, done),
    usable: () => map.scene.usable,
    leave: () => map.layout.overlay.focus(),
    tool: (name) => map.actions.run(isMode(name) ? ["mode", name] : [name]),
    refit: run("refit"),
    play: run("play"),
    speed: run("speed"),
    step: (by) => map.actions.run(["step", by]),
    seek: (index) => map.actions.run(["seek", index]),
    scrub: (step) => map.actions.run(["scrub", step]),
    remedy: (remedy) => map.setTriggerValue("remedy", remedy),
    color: (name) => {
      map.state.store.record();
      map.chooseColor(name);
    },
    refresh: () => map.refresh(),
  };
}

const isMode = (name: string): name is Mode => ["pan", "lasso", "box", "here"].includes(name);

/** Hide or show classes. */
function filter({ state, interaction }: Target, change: () => void): void {
  state.store.record();
  change();
  interaction.leave();
}

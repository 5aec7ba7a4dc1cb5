// Handlers of the legend, the toolbar and the player.
import type { Mode } from "../data/state.ts";
import type { LayoutHooks } from "../ui/layout.ts";
import type { Interaction } from "./interaction.ts";
import type { Action } from "./keys.ts";
import type { LayoutMover } from "./layoutMover.ts";
import type { MapActions } from "./mapActions.ts";
import type { MapParts } from "./parts.ts";
import type { PointPainter } from "./pointPainter.ts";

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

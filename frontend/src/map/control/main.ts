// The map as a Streamlit component (Components v2). The default export runs at every change of data or theme with the
// same parentElement: the map is made once and updated in place. What it is told and what it tells is in protocol.ts:
// state `pinned`, `selected` {count, bits}, `step` (where a person left the replay standing; null at its end), `color`;
// triggers `ended` (how a run that was running ended), `remedy`.
import { whenGone, type ComponentArguments } from "../../lib/mount.ts";
import type { MapInput } from "../data/expandProps.ts";
import { MapView } from "./mapView.ts";

const views = new WeakMap<Node, MapView>();

export default function render(component: ComponentArguments<MapInput | null>): (() => void) | undefined {
  const { parentElement, name = "map", data } = component;
  if (!data) return undefined;
  const view = views.get(parentElement) ?? new MapView(parentElement, name, data);
  views.set(parentElement, view);
  view.update({ ...component, data });
  return whenGone(parentElement, () => {
    if (views.delete(parentElement)) view.destroy();
  });
}

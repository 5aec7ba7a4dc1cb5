// The map as a Streamlit component (Components v2). The default export runs at every change of data or theme with the
// same parentElement: the map is made once and updated in place. Its props are in protocol.ts; what is looked at is in
// the store. Triggers: `rerun` (a run that was running has ended), `remedy`, `subset`, `view`.
import { whenGone } from "../../lib/mount.ts";
import type { MapInput } from "../data/expandProps.ts";
import { MapView, type MapArguments } from "./mapView.ts";

const views = new WeakMap<Node, MapView>();

type Arguments = Omit<MapArguments, "data"> & { data: MapInput | null };

export default function render(component: Arguments): (() => void) | undefined {
  const { parentElement, name = "map", data, store } = component;
  if (!data) return undefined;
  const view = views.get(parentElement) ?? new MapView(parentElement, name, data, store);
  views.set(parentElement, view);
  view.update({ ...component, data });
  return whenGone(parentElement, () => {
    if (views.delete(parentElement)) view.destroy();
  });
}

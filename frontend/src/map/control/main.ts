// The map as a Streamlit component (Components v2). The default export runs at every change of data or theme with the
// same parentElement: the map is made once and updated in place. What it is told and what it tells is in protocol.ts:
// state `pinned`, `selected` {count, bits}, `step` (where a person left the replay standing; null at its end), `color`;
// triggers `ended` (how a run that was running ended), `remedy`.
import type { ComponentArguments } from "../../lib/mount.ts";
import type { MapInput } from "../data/expandProps.ts";
import { MapView } from "./mapView.ts";

const views = new WeakMap<Node, { view: MapView; calls: number }>();

export default function render(component: ComponentArguments<MapInput | null>): (() => void) | undefined {
  const { parentElement, name = "map", data } = component;
  if (!data) return undefined;
  let mounted = views.get(parentElement);
  if (!mounted) {
    mounted = { view: new MapView(parentElement, name, data), calls: 0 };
    views.set(parentElement, mounted);
  }
  const here = mounted;
  const call = ++here.calls;
  here.view.update({ ...component, data });
  // Streamlit also calls the cleanup of a run that a newer one overtook; only the last one means the end.
  return () =>
    void setTimeout(() => {
      if (here.calls !== call || views.get(parentElement) !== here) return;
      views.delete(parentElement);
      here.view.destroy();
    }, 0);
}

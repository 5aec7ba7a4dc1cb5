// @ts-nocheck
// The map as a Streamlit component (Components v2). The default export runs at every change of data or theme with the
// same parentElement: the map is made once and updated in place.
//
// data (from Python, plain JSON):
//   run, dataset, classes, n            which run, which items; items are numbered in the official test order
//   labels_url | labels                 uint8 a test image
//   watched_url | watched               items of frames with items "watched": JSON list, {"watched": […]} or int32
//   nearest_url                         optional: int32[n] nearest neighbour in the embedding, then float32[n] distance
//   kept                                which of "watched", "nearest", "values" the server has under its usual address
//   sprites {urls, tile}
//   begun                               optional: changes when the same run is trained again
//   events_url                          the run's event stream; a projection's is derived from it, or given itself
//   frames_url                          optional, with {id}; otherwise {api}/frames/{run}[/{view}]/{id}.i16
//   api                                 optional prefix of the server's routes, "/api"
//   running                             whether Python believes that the run (or projection) is still going
//   view                                "live" or a projection's id
//   link                                optional: the name of a group of maps that do as the others do (link.js)
//   pinned, neighbours [item], distance (of the first), selected {bits}, step
//                                       taken when they differ from what Python sent before
//   query {xy | frames {frame id or step: xy} | way [[step, x, y]], neighbours}
//   colour "class" | "error", autoplay, height (pixels or "fill"), renderer ("canvas" forces the fallback)
//   fallback {events, frames {id: base64}, from}
// state: pinned, selected {count, bits}, step (where a person left the replay standing; null at its end),
//   routes ("blocked"); triggers: ended (how a run that was running ended), remedy {alarm, index}
import { MapView } from "./mapView.ts";

const views = new WeakMap();

export default function render(component) {
  const { parentElement, name, data } = component;
  if (!data) return undefined;
  let held = views.get(parentElement);
  if (!held) {
    held = { view: new MapView(parentElement, name, data), calls: 0 };
    views.set(parentElement, held);
  }
  const call = ++held.calls;
  held.view.update(component);
  // Streamlit also calls the cleanup of a run that a newer one overtook; only the last one means the end.
  return () => setTimeout(() => {
    if (held.calls !== call || views.get(parentElement) !== held) return;
    views.delete(parentElement);
    held.view.destroy();
  }, 0);
}

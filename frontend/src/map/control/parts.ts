// What the parts of a map share.
import type { MapState } from "../data/state.ts";
import type { Orbit } from "../math/orbit.ts";
import type { QueryMarker } from "../math/queryMarker.ts";
import type { Playback } from "../playback/playback.ts";
import type { Scene } from "../render/scene.ts";
import type { Layout } from "../ui/layout.ts";

export interface MapParts {
  state: MapState;
  layout: Layout;
  scene: Scene;
  playback: Playback;
  orbit: Orbit;
  marker: QueryMarker;
  /** Bring all that surrounds the points up to date. */
  refresh: () => void;
  /** Say what went wrong. */
  trouble: (text: string | null) => void;
  /** Send a value to the server, once. */
  send: (name: string, value: unknown) => void;
}

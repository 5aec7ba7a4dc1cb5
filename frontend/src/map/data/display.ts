// How a map shows its items, as Python and the address know it: only what is not as on a new map.
import type { MapDisplay } from "../../protocol.ts";
import type { Model } from "./model.ts";
import { SHOWN_IMAGES, type ShownImages } from "./state.ts";

/** What of a map's state a person sets on it. */
export interface DisplayState {
  names: boolean;
  trails: boolean;
  density: boolean;
  pictures: boolean;
  images: ShownImages;
  markers: string;
  model: Pick<Model, "hidden">;
}

/** What differs from a new map, its parts always in one order. */
export function displayOf({ names, trails, density, pictures, images, markers, model }: DisplayState): MapDisplay {
  const hidden = [...model.hidden].sort((a, b) => a - b);
  return {
    ...(names ? {} : { names }),
    ...(trails ? {} : { trails }),
    ...(density ? { contours: density } : {}),
    ...(pictures ? { pictures } : {}),
    ...(images === "test" ? {} : { images }),
    ...(markers === "plain" ? {} : { markers }),
    ...(hidden.length ? { hidden } : {}),
  };
}

/** Show the items so. */
export function setDisplay(state: DisplayState, display: MapDisplay): void {
  state.names = display.names ?? true;
  state.trails = display.trails ?? true;
  state.density = display.contours ?? false;
  state.pictures = display.pictures ?? false;
  state.images = SHOWN_IMAGES.find((images) => images === display.images) ?? "test";
  state.markers = display.markers ?? "plain";
  state.model.hidden = new Set(display.hidden);
}

/** A display as a text by which it is compared. */
export function displayText(display: MapDisplay): string {
  const state = {
    names: true,
    trails: true,
    density: false,
    pictures: false,
    images: "test" as const,
    markers: "plain",
    model: { hidden: new Set<number>() },
  };
  setDisplay(state, display);
  return JSON.stringify(displayOf(state));
}

// The six stops of the guided tour. Its script, with driver.js, is loaded when the tour starts.
import type { Stop, Tour } from "./tour.ts";
import { find, take } from "./steps.ts";

declare const TOUR_SCRIPT: string; // the file's name, which build.mjs knows

const STOPS: (Omit<Stop, "element"> & { at: string[] })[] = [
  {
    at: [".map"],
    title: "The map",
    text: "Each point is a picture. Close together means that the network finds two pictures similar. Colors are their true classes, which you can check in the legend.",
  },
  {
    at: [".map .player"],
    title: "The training, again",
    text: "Play shows how the map formed, from the first step to the last. Drag to go to any step.",
  },
  {
    at: [".st-key-train", ".st-key-train-top", "[data-bar=train]"],
    title: "Train",
    text: "Starts a training of your own, with the settings that you choose. The map moves while the network learns.",
  },
  {
    at: [".inspector"],
    before: () => take("ask"),
    title: "Ask",
    text: "Click any point. You see its picture, and the pictures that the network finds most similar. This is an example.",
  },
  {
    at: [".inspector"],
    before: () => take("draw"),
    title: "Draw",
    text: "Draw with mouse, pen or finger, and the network finds the pictures that are most like yours.",
  },
  {
    at: [".scores"],
    title: "How good is it?",
    text: "These scores are measured on test images, which the network never trained with. Learn explains each of them; Help starts this tour again.",
  },
];

/** Guide through the page; the focus returns to where it was. */
export async function startTour(): Promise<void> {
  let { activeElement: origin } = document;
  while (origin?.shadowRoot?.activeElement) origin = origin.shadowRoot.activeElement;
  const { default: tour } = (await import(new URL(TOUR_SCRIPT, import.meta.url).href)) as { default: Tour };
  const stops = STOPS.map(({ at, ...stop }) => ({ ...stop, element: () => find(at) }));
  tour(stops, () => (origin as HTMLElement | null)?.focus({ preventScroll: true }));
}

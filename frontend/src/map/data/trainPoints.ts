// Images that the run has trained on, for the map: asked for when a person wants to see them.
import { heeding } from "../../lib/boundary.ts";
import type { TrainPoints } from "../../protocol.ts";
import { messageOf } from "../../lib/format.ts";
import { fetchJson, ROUTES } from "../../lib/server.ts";
import type { MapState } from "./state.ts";

const addressOf = ({ data: { run, view, begun } }: MapState): string =>
  `${ROUTES}/runs/${run}/train-points/${view ?? "live"}.json?${begun}`;

/** Keeps the points of the run and view that are shown. */
export class TrainPointsLoader {
  private readonly heed = heeding();
  private address = "";
  private points: TrainPoints | null = null;

  constructor(
    private state: MapState,
    private onArrival: () => void,
  ) {}

  /** The points, or null while they are not here; the first call asks for them. */
  get(): TrainPoints | null {
    const address = addressOf(this.state);
    if (address !== this.address) {
      this.address = address;
      this.points = null;
      this.heed(this.load(address));
    }
    return this.points;
  }

  private async load(address: string): Promise<void> {
    try {
      const points = await fetchJson<TrainPoints>(address, "The training set");
      if (address !== this.address) return;
      // A net of NaN has no place for them: null in JSON, and nothing is drawn there.
      const places = points.places.map((at) => at.map((point) => point.map((value) => value ?? NaN)));
      this.points = { ...points, places };
    } catch (error) {
      if (address !== this.address) return;
      this.state.store.setDisplay({ images: "test" });
      this.state.trouble = messageOf(error);
      this.address = ""; // a later request asks again
    }
    this.onArrival();
  }
}

/** Positions at a step (n × dims): between two known steps in proportion. */
export function placesAt({ steps, places }: TrainPoints, step: number): number[][] {
  const after = steps.findIndex((at) => at >= step);
  if (after < 0) return places[places.length - 1];
  if (after === 0) return places[0];
  const share = (step - steps[after - 1]) / (steps[after] - steps[after - 1]);
  const next = places[after];
  return places[after - 1].map((point, i) => point.map((v, axis) => v + (next[i][axis] - v) * share));
}

// The nearest neighbors of a test image, from the server or from what stands in for it.
import type { ItemNeighbors } from "../protocol.ts";
import { bus } from "./bus.ts";
import { fetchJson, ROUTES } from "./server.ts";

const moments = new Map<string, number | null>();
bus.on("frame", ({ run, moment }) => void moments.set(run, moment));

/** Whether a map has shown a run; before its first step there are no neighbors to ask for. */
export const isOnMap = (run: string): boolean => moments.has(run);

/** The step that the map of a run shows; null at its end. */
export const momentOf = (run: string): number | null => moments.get(run) ?? null;

/** A test image and its nearest neighbors by a metric, at the step that the map shows; throws with a sentence where there are none. */
export async function fetchNeighbors(
  run: string,
  item: number,
  metric: string,
  signal?: AbortSignal,
): Promise<ItemNeighbors> {
  const step = momentOf(run);
  const query = `metric=${metric}${step === null ? "" : `&step=${step}`}`;
  const address = `${ROUTES}/runs/${run}/neighbors/${item}.json?${query}`;
  return fetchJson<ItemNeighbors>(address, "The neighbors", undefined, { signal });
}

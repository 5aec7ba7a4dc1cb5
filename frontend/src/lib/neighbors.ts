// The nearest neighbors of a test image, from the server or from what stands in for it.
import type { ItemNeighbors } from "../protocol.ts";
import { fetchServer, refusal, ROUTES } from "./server.ts";

/** A test image and its nearest neighbors by a metric; throws with a sentence where there are none. */
export async function fetchNeighbors(
  run: string,
  item: number,
  metric: string,
  signal?: AbortSignal,
): Promise<ItemNeighbors> {
  const response = await fetchServer(`${ROUTES}/runs/${run}/neighbors/${item}.json?metric=${metric}`, { signal });
  if (!response.ok) throw await refusal(response, "The neighbors could not be found");
  return (await response.json()) as ItemNeighbors;
}

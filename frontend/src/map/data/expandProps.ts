// What Python leaves unsaid because it follows from the rest: a highlight should weigh little on the wire. Pure: no DOM.
import { ROUTES, type MapProps } from "../../protocol.ts";
import type { Query } from "../math/queryMarker.ts";
import type { NeighborLink } from "./model.ts";

/** What the map goes by. The harness and the exported page give some of it themselves. */
export interface MapData extends Omit<MapProps, "neighbors" | "query" | "values" | "kept" | "distance"> {
  dataset?: string;
  frames_url?: string;
  tracked_url?: string;
  nearest_url?: string;
  /** One address with {name}, or one for each name. */
  values?: string | Record<string, string>;
  columns_url?: string;
  /** The address of a column, with {name}. */
  column_url?: string;
  renderer?: string | null;
  neighbors: NeighborLink[];
  query: Query | null;
}

/** What comes over the wire. */
export type MapInput = MapProps & Pick<MapData, "dataset" | "frames_url" | "tracked_url" | "nearest_url" | "renderer">;

const toNeighbors = (items: number[] = [], distance?: number): NeighborLink[] =>
  items.map((item, rank) => (rank ? { item } : { item, distance }));

/** `data` with the addresses of what the server keeps of the run (`kept`), and neighbors as {item, distance}. */
export function expandProps({ kept = [], distance, ...data }: MapInput): MapData {
  const { run, view, begun } = data;
  const addresses = {
    tracked: { tracked_url: `${ROUTES}/runs/${run}/layout.json?${begun}` },
    items: { tracked_url: `${ROUTES}/runs/${run}/projections/${view}/items.json?${begun}` },
    nearest: { nearest_url: `${ROUTES}/runs/${run}/nearest.bin?${begun}` },
    columns: {
      columns_url: `${ROUTES}/runs/${run}/columns.json?${begun}`,
      column_url: `${ROUTES}/runs/${run}/columns/{name}.f32?${begun}`,
    },
    values: { values: `${ROUTES}/runs/${run}/values/${view}/{name}.f32?${begun}` },
  };
  const query = data.query ? { ...data.query, neighbors: toNeighbors(data.query.neighbors) } : null;
  return Object.assign({}, ...kept.map((name) => addresses[name]), data, {
    neighbors: toNeighbors(data.neighbors, distance),
    query,
  }) as MapData;
}

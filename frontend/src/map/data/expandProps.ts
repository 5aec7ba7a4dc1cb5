// Fills in the props that Python omits because they follow from others: a highlight should be small. Pure: no DOM.
import type { LayoutSetting, MapProps } from "../../protocol.ts";
import { ROUTES } from "../../lib/server.ts";
import type { Query } from "../math/queryMarker.ts";
import type { PlacedQuery } from "../../lib/bus.ts";

/** Input of a map. The test harness and the exported page set some of it themselves. */
export interface MapData extends Omit<MapProps, "measures" | "kept"> {
  dataset?: string;
  frames_url?: string;
  tracked_url?: string;
  nearest_url?: string;
  /** The address of each measure by which points can be colored. */
  values?: Record<string, string>;
  columns_url?: string;
  /** The address of a column, with {name}. */
  column_url?: string;
  renderer?: string | null;
  /** The settings of each method by which the page projects a selection alone, where there is no server. */
  layouts?: Record<string, LayoutSetting[]>;
  query: Query | null;
}

/** The props as sent, or in an exported page, which answers queries by itself. */
export type MapInput = MapProps &
  Pick<MapData, "dataset" | "frames_url" | "tracked_url" | "nearest_url" | "renderer" | "layouts"> & {
    query?: (Omit<Query, "neighbors"> & { neighbors: number[] }) | null;
  };

/** The query of the page on a run's view; null where it has no place there. */
export function queryOn(query: PlacedQuery | null | undefined, run: string, view: string): Query | null {
  const xy = query?.run === run ? query.places.views[view] : undefined;
  if (!query || !xy) return null;
  const way = query.places.ways[view];
  const path = way ? { trajectory: way, open: query.open } : {};
  return { xy, ...path, neighbors: query.neighbors.map((item) => ({ item })) };
}

/** `data` with the addresses of what the server keeps of the run (`kept`). */
export function expandProps({ kept: names = [], measures, ...data }: MapInput): MapData {
  const { run, view, begun } = data;
  const addresses = {
    tracked: { tracked_url: `${ROUTES}/runs/${run}/tracked_items.json?${begun}` },
    items: { tracked_url: `${ROUTES}/runs/${run}/projections/${view}/items.json?${begun}` },
    nearest: { nearest_url: `${ROUTES}/runs/${run}/nearest.bin?${begun}` },
    columns: {
      columns_url: `${ROUTES}/runs/${run}/columns.json?${begun}`,
      column_url: `${ROUTES}/runs/${run}/columns/{name}.f32?${begun}`,
    },
  };
  const query = data.query ? { ...data.query, neighbors: data.query.neighbors.map((item) => ({ item })) } : null;
  const valuesOf = (name: string) => [name, `${ROUTES}/runs/${run}/values/${view}/${name}.f32?${begun}`];
  const values = measures && { values: Object.fromEntries(measures.map(valuesOf)) as Record<string, string> };
  return Object.assign({}, ...names.map((name) => addresses[name]), values, data, { query }) as MapData;
}

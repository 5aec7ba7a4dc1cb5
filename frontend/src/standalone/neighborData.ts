// Numbers that were packed into the page, and whose neighbors are whose. Pure: no DOM.
import { bytesOf, type Bytes } from "../lib/base64.ts";

const KINDS = { "<u2": Uint16Array, "<i4": Int32Array };

export type NumberKind = keyof typeof KINDS;

/** The nearest of all n items, then the second nearest of all …; distances are kept in steps of `unit`. */
export interface NeighborTable {
  k: number;
  items: ArrayLike<number>;
  distances: ArrayLike<number>;
  unit: number;
}

/** Little-endian numbers of `kind`, as every machine that has a browser keeps them; text is base64. */
export const unpackNumbers = (packed: string | Bytes, kind: NumberKind): Uint16Array | Int32Array =>
  new KINDS[kind](bytesOf(packed).buffer);

/** [item, distance] of the k nearest of `item`, nearest first. */
export function neighborsOf({ k, items, distances, unit }: NeighborTable, item: number): [number, number][] {
  const n = items.length / k;
  return Array.from({ length: k }, (_, rank) => [items[rank * n + item], distances[rank * n + item] * unit]);
}

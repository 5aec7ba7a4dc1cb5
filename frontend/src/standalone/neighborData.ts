// Numbers that were packed into the page, and whose neighbors are whose. Pure: no DOM.
import { decodeBase64 } from "../lib/base64.ts";

const KINDS = { "<u2": Uint16Array, "<i4": Int32Array };

export type NumberKind = keyof typeof KINDS;

/** The k nearest of each item, nearest first; distances are kept in steps of `unit`. */
export interface NeighborTable {
  k: number;
  items: ArrayLike<number>;
  distances: ArrayLike<number>;
  unit: number;
}

/** Base64 of little-endian numbers of `kind`, as every machine that has a browser keeps them. */
export const unpackNumbers = (text: string, kind: NumberKind): Uint16Array | Int32Array =>
  new KINDS[kind](decodeBase64(text).buffer);

/** [item, distance] of the k nearest of `item`, nearest first. */
export function neighborsOf({ k, items, distances, unit }: NeighborTable, item: number): [number, number][] {
  return Array.from({ length: k }, (_, rank) => [items[item * k + rank], distances[item * k + rank] * unit]);
}

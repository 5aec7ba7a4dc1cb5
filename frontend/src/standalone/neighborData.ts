// @ts-nocheck
// Numbers that were packed into the page, and whose neighbours are whose. Pure: no DOM.

const KINDS = { "<u2": Uint16Array, "<i4": Int32Array };

/** The bytes of base64 text. */
export function bytesOf(text) {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

/** Base64 of little-endian numbers of `kind`, as every machine that has a browser keeps them. */
export const numbers = (text, kind) => new KINDS[kind](bytesOf(text).buffer);

/** [item, distance] of the k nearest of `item`, nearest first; distances are kept in steps of `unit`. */
export function neighboursOf({ k, items, distances, unit }, item) {
  return Array.from({ length: k }, (_, rank) => [items[item * k + rank], distances[item * k + rank] * unit]);
}

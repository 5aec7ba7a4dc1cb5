// A selection as bits: bit i of byte i >> 3 (little-endian bits) says whether item i is in it. NumPy reads it with
// np.unpackbits(bytes, bitorder="little").
import { decodeBase64, encodeBase64 } from "./base64.ts";

/** Pack a mask (a byte an item, non-zero is in) into bytes. */
export function packBytes(mask: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array((mask.length + 7) >> 3);
  for (let i = 0; i < mask.length; i++) if (mask[i]) bytes[i >> 3] |= 1 << (i & 7);
  return bytes;
}

/** Unpack bytes into a mask of `n` items; items beyond their end are out. */
export function unpackBytes(bytes: Uint8Array, n: number): Uint8Array {
  const mask = new Uint8Array(n);
  for (let i = 0; i < Math.min(n, bytes.length * 8); i++) mask[i] = (bytes[i >> 3] >> (i & 7)) & 1;
  return mask;
}

/** Pack a mask as base64. */
export const packBits = (mask: Uint8Array): string => encodeBase64(packBytes(mask));

/** Unpack base64 into a mask of `n` items. */
export const unpackBits = (bits: string, n: number): Uint8Array => unpackBytes(decodeBase64(bits), n);

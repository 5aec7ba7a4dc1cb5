// A selection as a small string: bit i of byte i >> 3 (little-endian bits) says whether item i is in it, base64 around it.
// NumPy reads it with np.unpackbits(np.frombuffer(base64.b64decode(bits), np.uint8), bitorder="little").
import { decodeBase64, encodeBase64 } from "./base64.ts";

/** Pack a mask (a byte an item, non-zero is in) as {count, bits}. */
export function packBits(mask: Uint8Array): { count: number; bits: string } {
  const bytes = new Uint8Array((mask.length + 7) >> 3);
  let count = 0;
  for (let i = 0; i < mask.length; i++) {
    if (!mask[i]) continue;
    bytes[i >> 3] |= 1 << (i & 7);
    count++;
  }
  return { count, bits: encodeBase64(bytes) };
}

/** Unpack `bits` into a mask of `n` bytes; items beyond its end are out. */
export function unpackBits(bits: string, n: number): Uint8Array {
  const bytes = decodeBase64(bits);
  const mask = new Uint8Array(n);
  for (let i = 0; i < Math.min(n, bytes.length * 8); i++) mask[i] = (bytes[i >> 3] >> (i & 7)) & 1;
  return mask;
}

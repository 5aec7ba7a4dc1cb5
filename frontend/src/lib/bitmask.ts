// @ts-nocheck
// A selection as a small string: bit i of byte i >> 3 (little-endian bits) says whether item i is in it, base64 around it.
// NumPy reads it with np.unpackbits(np.frombuffer(base64.b64decode(bits), np.uint8), bitorder="little").

/** Pack a mask (a byte an item, non-zero is in) as {count, bits}. */
export function packBits(mask) {
  const bytes = new Uint8Array((mask.length + 7) >> 3);
  let count = 0;
  for (let i = 0; i < mask.length; i++) {
    if (!mask[i]) continue;
    bytes[i >> 3] |= 1 << (i & 7);
    count++;
  }
  let text = "";
  for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
  return { count, bits: btoa(text) };
}

/** Unpack `bits` into a mask of `n` bytes; items beyond its end are out. */
export function unpackBits(bits, n) {
  const text = atob(bits);
  const mask = new Uint8Array(n);
  for (let i = 0; i < Math.min(n, text.length * 8); i++) mask[i] = (text.charCodeAt(i >> 3) >> (i & 7)) & 1;
  return mask;
}

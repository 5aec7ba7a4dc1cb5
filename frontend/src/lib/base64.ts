// Bytes as base64 text, and back. Pure: no DOM.

export type Bytes = Uint8Array<ArrayBuffer>;

/** The bytes of base64 text. */
export const decodeBase64 = (text: string): Bytes => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

/** Decode base64 text; bytes are returned as they are. */
export const bytesOf = (text: string | Bytes): Bytes => (typeof text === "string" ? decodeBase64(text) : text);

/** Bytes as base64, a piece at a time: a call takes only so many arguments. */
export function encodeBase64(bytes: Uint8Array): string {
  let text = "";
  // eslint-disable-next-line no-restricted-syntax -- of 8,192 bytes
  for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
  return btoa(text);
}

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

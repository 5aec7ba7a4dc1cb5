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

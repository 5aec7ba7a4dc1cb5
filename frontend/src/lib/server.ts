// Where the server's routes are: behind the base of the page, which a proxy may have put anywhere.
import { ROUTES } from "../protocol.ts";

// Streamlit serves this script from below the base, whichever page is open. Elsewhere there is no such part.
const BASE = baseOf(import.meta.url);

/** The base of the page, from the address of its script; "" where the script comes from somewhere else. */
export function baseOf(script: string): string {
  return /^(.*\/)_stcore\//.exec(script)?.[1] ?? "";
}

/** The full address of a route, which Python names from the base on; any other address stays as it is. */
export const serverUrl = (address: string): string => (address.startsWith(`${ROUTES}/`) ? BASE + address : address);

/** As the browser's own `fetch`, for an address of a route. */
export const fetchServer = (address: string, init?: RequestInit): Promise<Response> =>
  globalThis.fetch(serverUrl(address), init);

// The server's routes, behind the base of the page, which a proxy may have put anywhere; answers that are none.
import { LIVE_STATES, type Routes, type WorkStatus } from "../protocol.ts";

/** The first part of the address of every route. */
export const ROUTES: Routes = "dmlviz";

// Streamlit serves this script from below the base, whichever page is open. Elsewhere there is no such part.
export const BASE = baseOf(import.meta.url);

/** The base of the page, from the address of its script; "" where the script comes from somewhere else. */
export function baseOf(script: string): string {
  return /^(.*\/)_stcore\//.exec(script)?.[1] ?? "";
}

/** The full address of a route, which Python names from the base on; any other address stays as it is. */
export const serverUrl = (address: string): string => (address.startsWith(`${ROUTES}/`) ? BASE + address : address);

/** Answers the routes of a run: `path` is the part of an address below that of the run. */
export interface RunSource {
  fetch(path: string): Promise<Response>;
}

const sources = new Map<string, RunSource>();

/** Have a source answer the routes of a run in place of the server, until the returned function is called. */
export function answerInPlace(run: string, source: RunSource): () => void {
  sources.set(run, source);
  return () => {
    if (sources.get(run) === source) sources.delete(run);
  };
}

/** As the browser's own `fetch`, for an address of a route. */
export function fetchServer(address: string, init?: RequestInit): Promise<Response> {
  const [, run, path] = /^dmlviz\/runs\/([^/]+)\/(.*)$/.exec(address) ?? [];
  return sources.get(run)?.fetch(path) ?? globalThis.fetch(serverUrl(address), init);
}

/** The answer at an address; an error with a sentence where there is none. `what` was asked for. */
export async function fetchAnswer(address: string, what: string, init?: RequestInit): Promise<Response> {
  const response = await fetchServer(address, init).catch((error: unknown) => {
    if (init?.signal?.aborted) throw error;
    throw new Error(`${what}: the server cannot be reached; try again in a moment.`);
  });
  if (response.ok) return response;
  const json = (await Promise.resolve(response.json?.()).catch(() => null)) as { error?: string } | null;
  throw new Error(json?.error ?? `${what}: the server answered ${response.status}.`);
}

/**
 * The JSON at an address, posted `body` where there is one; as `fetchAnswer`. With `keepalive` the browser sends it even where
 * the page is left or loaded anew; browsers take up to 64 kB so.
 */
export async function fetchJson<T>(address: string, what: string, body?: unknown, init?: RequestInit): Promise<T> {
  const post = body === undefined ? undefined : { method: "POST", body: JSON.stringify(body) };
  return (await (await fetchAnswer(address, what, { ...post, ...init })).json()) as T;
}

const RETRY_MS = 3000; // after an answer that did not come, and for work that has not begun yet

/** True of a state in which work waits or is under way. */
export const isLive = (state = ""): boolean => LIVE_STATES.includes(state);

/** Wait until a piece of work is over, or the server does not know it; return how it ended. */
export async function workOver(id: string): Promise<WorkStatus | null> {
  while (true) {
    const response = await fetchServer(`${ROUTES}/work/${id}?wait=1`).catch(() => null);
    const status = response?.ok ? ((await response.json()) as WorkStatus) : null;
    if (status && !status.live) return status;
    if (!status) await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    if (response && !status) return null;
  }
}

/** Stop a piece of work, also where the page is left at once; raises the server's sentence where it goes on. */
export async function stopWork(id = ""): Promise<void> {
  await fetchAnswer(`${ROUTES}/work/${id}`, "The work", { method: "DELETE", keepalive: true });
}

// Data that a map needs before the first frame: labels, tracked items, nearest neighbors.

import type { ColumnInfo, MethodInfo } from "../../protocol.ts";
import { fetchAnswer, ROUTES } from "../../lib/server.ts";
import { workOver } from "../../lib/server.ts";
import type { Accuracy, Nearest } from "./model.ts";

/** Addresses of the items' data, or the data themselves. */
export interface ItemSources {
  labels?: number[];
  labels_url?: string;
  tracked?: number[] | null;
  tracked_url?: string;
  nearest_url?: string;
}

const BEING_COMPUTED = 202; // HTTP status
const cache = new Map<string, Promise<ArrayBuffer>>();
const watchedAt = new Map<string, Int32Array>(); // by address; a run that has begun watches the same items to its end

/** Fetch once a page. */
function bytes(url: string): Promise<ArrayBuffer> {
  let wait = cache.get(url);
  if (!wait) {
    wait = poll(url);
    wait.catch(() => cache.delete(url));
    cache.set(url, wait);
  }
  return wait;
}

// A result that the server still computes is requested again when that work is over.
async function poll(url: string): Promise<ArrayBuffer> {
  const response = await fetchAnswer(url, "The points");
  if (response.status === BEING_COMPUTED) {
    await workOver(((await response.json()) as { work: string }).work);
    return poll(url);
  }
  return response.arrayBuffer();
}

// After the numbers of all items, where an index found the neighbors.
function accuracyAfter(buffer: ArrayBuffer, end: number): Accuracy | null {
  if (buffer.byteLength < end + 8) return null;
  const [recall, measured] = new Float32Array(buffer, end, 2);
  return { recall, measured };
}

/** Labels, 16 bits an item. */
export async function loadLabels(data: ItemSources): Promise<Uint16Array> {
  if (Array.isArray(data.labels)) return Uint16Array.from(data.labels);
  return new Uint16Array(data.labels_url ? await bytes(data.labels_url) : new ArrayBuffer(0));
}

/**
 * Tracked items: a list, or an address of JSON (the list, or an object with `tracked`) or of int32. Null when
 * they are not known (yet).
 */
export async function loadWatched(data: ItemSources): Promise<Int32Array | null> {
  if (Array.isArray(data.tracked)) return Int32Array.from(data.tracked);
  if (!data.tracked_url) return null;
  const items = watchedAt.get(data.tracked_url);
  if (items) return items;
  // Not known before the run starts.
  const response = await fetchAnswer(data.tracked_url, "The points", { cache: "no-store" });
  const indices = itemsOf(await response.arrayBuffer());
  if (indices) watchedAt.set(data.tracked_url, indices);
  return indices;
}

function itemsOf(buffer: ArrayBuffer): Int32Array | null {
  const first = new TextDecoder().decode(buffer.slice(0, 1));
  if (first !== "{" && first !== "[") return new Int32Array(buffer);
  const json = JSON.parse(new TextDecoder().decode(buffer)) as number[] | { tracked: number[] | null };
  const indices = Array.isArray(json) ? json : json.tracked;
  return indices ? Int32Array.from(indices) : null;
}

/** Nearest neighbor of every item in the embedding: int32 items, then float32 distances. Null when not known. */
export async function loadNearest(data: ItemSources, n: number): Promise<Nearest | null> {
  if (!data.nearest_url) return null;
  const buffer = await bytes(data.nearest_url);
  if (!buffer.byteLength) return null;
  return {
    items: new Int32Array(buffer, 0, n),
    distances: new Float32Array(buffer, 4 * n, n),
    accuracy: accuracyAfter(buffer, 8 * n),
  };
}

/** Title and caution of every projection, by name. */
export async function loadMethods(): Promise<Record<string, MethodInfo>> {
  return JSON.parse(new TextDecoder().decode(await bytes(`${ROUTES}/methods.json`))) as Record<string, MethodInfo>;
}

/** The columns that a map can be colored by, beside what it knows itself. */
export async function loadColumns(url: string | undefined): Promise<ColumnInfo[]> {
  return url ? (JSON.parse(new TextDecoder().decode(await bytes(url))) as ColumnInfo[]) : [];
}

/** A number for each of `n` items, NaN where there is none. */
export async function loadNumbers(url: string, n: number): Promise<Float32Array> {
  return new Float32Array(await bytes(url), 0, n);
}

/** As `loadNumbers`, with the accuracy of the neighbors that they rest on. */
export async function loadMeasured(
  url: string,
  n: number,
): Promise<{ numbers: Float32Array; accuracy: Accuracy | null }> {
  const buffer = await bytes(url);
  return { numbers: new Float32Array(buffer, 0, n), accuracy: accuracyAfter(buffer, 4 * n) };
}

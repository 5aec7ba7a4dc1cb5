// Frames of a run: int16 places fetched by hash, decoded, kept while there is room.
import type { FrameMeta } from "../../protocol.ts";
import { fetchAnswer } from "../../lib/server.ts";
import type { Bounds, Point } from "../math/camera.ts";
import type { PlacedFrame } from "../math/tween.ts";
import { Orbit, place3d, rotated, type PlacedFrame3d } from "../math/orbit.ts";

const CACHE_BYTES = 48e6;
const MAX_DECODED = 10;
const MISSING = -32768; // of an item that has no place
const RETRY_MS = 2000; // milliseconds before a frame that could not be had is asked for again

/** Read raw little-endian int16 places of `frame` as world x, y pairs. */
export function dequantize(buffer: ArrayBuffer, frame: FrameMeta): Float32Array {
  const { n, dims, center, scale } = frame;
  if (buffer.byteLength !== n * dims * 2) {
    throw new Error(`frame ${frame.id} has ${buffer.byteLength} bytes; ${n} × ${dims} places need ${n * dims * 2}`);
  }
  const raw = new DataView(buffer);
  const xy = new Float32Array(2 * n);
  for (let i = 0; i < n; i++) {
    xy[2 * i] = center[0] + (raw.getInt16(2 * dims * i, true) / 32767) * scale;
    xy[2 * i + 1] = dims > 1 ? center[1] + (raw.getInt16(2 * dims * i + 2, true) / 32767) * scale : 0;
  }
  return xy;
}

/** Write world x, y pairs as `dequantize` reads them. */
export function quantize(xy: Float32Array, center: readonly number[], scale: number): ArrayBuffer {
  const view = new DataView(new ArrayBuffer(xy.length * 2));
  xy.forEach((v, j) => {
    const q = Math.round(((v - center[j % 2]) / scale) * 32767);
    view.setInt16(2 * j, Math.max(-32767, Math.min(32767, q)), true);
  });
  return view.buffer;
}

/** Give every item of `total` its place: row j of the frame is item tracked[j], or item j when the frame holds all. */
export function placeItems(xy: Float32Array, frame: FrameMeta, tracked: Int32Array | null, total: number): PlacedFrame {
  if (frame.items !== "tracked" && frame.n === total) {
    return { xy, present: new Uint8Array(total).fill(1), count: total, bounds: boundsOf(xy), outside: frame.outside };
  }
  if (tracked?.length !== frame.n) {
    throw new Error(`frame ${frame.id} holds ${frame.n} tracked items; the run watches ${tracked?.length ?? 0}`);
  }
  const result = {
    xy: new Float32Array(2 * total),
    present: new Uint8Array(total),
    count: frame.n,
    bounds: boundsOf(xy),
    outside: frame.outside,
  };
  tracked.forEach((item, j) => {
    result.xy[2 * item] = xy[2 * j];
    result.xy[2 * item + 1] = xy[2 * j + 1];
    result.present[item] = 1;
  });
  return result;
}

/** The box around x, y pairs (those that `usable` admits) ; null when there are none. */
export function boundsOf(xy: Float32Array, usable: Uint8Array | null = null): Bounds | null {
  const box: Bounds = [Infinity, Infinity, -Infinity, -Infinity];
  for (let j = 0; j < xy.length; j += 2) {
    if (usable && !usable[j >> 1]) continue;
    if (xy[j] < box[0]) box[0] = xy[j];
    if (xy[j] > box[2]) box[2] = xy[j];
    if (xy[j + 1] < box[1]) box[1] = xy[j + 1];
    if (xy[j + 1] > box[3]) box[3] = xy[j + 1];
  }
  return box[0] > box[2] ? null : box;
}

export interface FrameSource {
  /** With {id}; null where frames come another way only. */
  url: string | null;
  /** Resolves to the tracked items, or null while they are not known: a run names them when it starts. */
  tracked: () => Promise<Int32Array | null>;
  total: number;
  orbit?: Orbit;
  /** Pivot of frames of three dimensions, if that is not their center. */
  pivot?: readonly number[];
  /** Gives bytes that came another way. */
  fed?: (id: string) => ArrayBuffer | undefined;
  /** Bytes that an earlier Frames of the same address has fetched, by id. */
  raw?: Map<string, ArrayBuffer>;
}

interface Surroundings {
  fetch?: typeof fetchAnswer;
  now?: () => number;
}

/** Fetches frames by address and hands them out placed. */
export class Frames {
  readonly orbit: Orbit;
  readonly raw: Map<string, ArrayBuffer>;
  private indices: Int32Array | null = null;
  private asking: Promise<Int32Array | null> | null = null; // for them
  private rows: Map<number, number> | null = null;
  private failures = new Map<string, { error: unknown; until: number }>();
  private cache = new Map<string, PlacedFrame>();
  private waiting = new Map<string, Promise<void>>();
  private bytes: number;
  private url: string | null;
  private tracked: () => Promise<Int32Array | null>;
  private total: number;
  private pivot: readonly number[] | undefined;
  private fed: (id: string) => ArrayBuffer | undefined;
  private fetch: typeof fetchAnswer;
  private now: () => number;

  constructor({
    url,
    tracked,
    total,
    orbit = new Orbit(),
    pivot,
    fed = () => undefined,
    raw = new Map(),
    fetch = fetchAnswer,
    now = Date.now,
  }: FrameSource & Surroundings) {
    this.url = url;
    this.tracked = tracked;
    this.total = total;
    this.orbit = orbit;
    this.pivot = pivot;
    this.fed = fed;
    this.raw = raw;
    this.fetch = fetch;
    this.now = now;
    this.bytes = [...raw.values()].reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  /** True if `get` would return it. */
  has(frame: FrameMeta): boolean {
    if (frame.items === "tracked" && !this.indices) return false;
    return this.cache.has(frame.id) || this.raw.has(frame.id) || this.fed(frame.id) !== undefined;
  }

  /** The placed frame if it is here, else null. */
  get(frame: FrameMeta): PlacedFrame | null {
    const before = this.cache.get(frame.id);
    if (before) {
      this.cache.delete(frame.id);
      this.cache.set(frame.id, before); // most recently used last
      return before.xyz ? rotated(before as PlacedFrame3d, this.orbit) : before;
    }
    const buffer = this.has(frame) ? (this.raw.get(frame.id) ?? this.fed(frame.id)) : undefined;
    if (!buffer) return null;
    const placed =
      frame.dims === 3
        ? rotated(place3d(buffer, frame, this.indices, this.total, this.pivot), this.orbit)
        : placeItems(this.orbit.turnFlat(dequantize(buffer, frame)), frame, this.indices, this.total);
    this.cache.set(frame.id, placed);
    if (this.cache.size > MAX_DECODED) this.cache.delete(this.cache.keys().next().value as string);
    return placed;
  }

  /** Position of one item in a frame, [x, y]; null if it has none, or if the frame is not loaded. */
  at(frame: FrameMeta, item: number): Point | null {
    const buffer = this.raw.get(frame.id) ?? this.fed(frame.id);
    const row = frame.items === "tracked" && frame.n !== this.total ? this.rowOf(item) : item;
    if (!buffer || row === undefined || row >= frame.n) return null;
    const { dims, center, scale } = frame;
    const raw = new DataView(buffer);
    const [x, y, z] = [0, 1, 2].map((axis) => (axis < dims ? raw.getInt16(2 * (dims * row + axis), true) : 0));
    if (x === MISSING) return null;
    const place = [x, y, z].map((q, axis) => (axis < dims ? center[axis] + (q / 32767) * scale : 0));
    return this.orbit.toPlane(dims === 3 ? place : place.slice(0, 2), this.pivot ?? center);
  }

  private rowOf(item: number): number | undefined {
    if (!this.rows && this.indices) this.rows = new Map([...this.indices].map((item, row) => [item, row]));
    return this.rows?.get(item);
  }

  /** Fetch a frame unless it is here; resolves to it placed, rejects when it cannot be had. */
  async load(frame: FrameMeta): Promise<PlacedFrame | null> {
    await this.prefetch(frame);
    return this.get(frame);
  }

  /** As load, without placing it yet. */
  async prefetch(frame: FrameMeta): Promise<void> {
    if (this.has(frame)) return;
    if (!this.waiting.has(frame.id)) {
      const before = this.failures.get(frame.id);
      if (before && this.now() < before.until) throw before.error;
      const wait = this.download(frame).finally(() => this.waiting.delete(frame.id));
      wait.catch((error: unknown) => this.failures.set(frame.id, { error, until: this.now() + RETRY_MS }));
      this.waiting.set(frame.id, wait);
    }
    await this.waiting.get(frame.id);
  }

  private async download(frame: FrameMeta): Promise<void> {
    const [buffer] = await Promise.all([this.bytesOf(frame), this.knowTracked(frame)]);
    if (!buffer) return;
    this.raw.set(frame.id, buffer);
    this.bytes += buffer.byteLength;
    for (const [id, old] of this.raw) {
      if (this.bytes <= CACHE_BYTES || id === frame.id) break;
      this.raw.delete(id);
      this.bytes -= old.byteLength;
    }
  }

  private async bytesOf(frame: FrameMeta): Promise<ArrayBuffer | null> {
    if (this.fed(frame.id) || !this.url) return null;
    const response = await this.fetch(this.url.replace("{id}", frame.id), "This step of the map");
    return response.arrayBuffer();
  }

  /** Ask once which items are tracked; where they are not known yet, the next frame asks again. */
  private async knowTracked(frame: FrameMeta): Promise<void> {
    if (frame.items !== "tracked" || this.indices) return;
    this.asking ??= this.tracked().finally(() => (this.asking = null));
    this.indices = await this.asking;
  }
}

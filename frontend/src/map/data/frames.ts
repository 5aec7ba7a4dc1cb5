// @ts-nocheck
// Frames of a run: int16 places fetched by hash, decoded, kept while there is room.
import { Orbit, solid, turned } from "../math/orbit.ts";

const KEPT_BYTES = 48e6;
const KEPT_PLACED = 10;
const NOWHERE = -32768;
const PATIENCE = 2000; // milliseconds before a frame that could not be had is asked for again

/** Read raw little-endian int16 places of `frame` ({n, dims, centre, scale}) as world x, y pairs. */
export function dequantise(buffer, frame) {
  const { n, dims, centre, scale } = frame;
  if (buffer.byteLength !== n * dims * 2) {
    throw new Error(`frame ${frame.id} has ${buffer.byteLength} bytes; ${n} × ${dims} places need ${n * dims * 2}`);
  }
  const raw = new DataView(buffer);
  const xy = new Float32Array(2 * n);
  for (let i = 0; i < n; i++) {
    xy[2 * i] = centre[0] + (raw.getInt16(2 * dims * i, true) / 32767) * scale;
    xy[2 * i + 1] = dims > 1 ? centre[1] + (raw.getInt16(2 * dims * i + 2, true) / 32767) * scale : 0;
  }
  return xy;
}

/** Write world x, y pairs as `dequantise` reads them. */
export function quantise(xy, centre, scale) {
  const view = new DataView(new ArrayBuffer(xy.length * 2));
  xy.forEach((v, j) => {
    const q = Math.round(((v - centre[j % 2]) / scale) * 32767);
    view.setInt16(2 * j, Math.max(-32767, Math.min(32767, q)), true);
  });
  return view.buffer;
}

/** Give every item of `total` its place: row j of the frame is item watched[j], or item j when the frame holds all. */
export function place(xy, frame, watched, total) {
  if (frame.items !== "watched" && frame.n === total) {
    return { xy, present: new Uint8Array(total).fill(1), count: total, bounds: boundsOf(xy) };
  }
  if (!watched || watched.length !== frame.n) {
    throw new Error(`frame ${frame.id} holds ${frame.n} watched items; the run watches ${watched?.length ?? 0}`);
  }
  const placed = { xy: new Float32Array(2 * total), present: new Uint8Array(total), count: frame.n, bounds: boundsOf(xy) };
  watched.forEach((item, j) => {
    placed.xy[2 * item] = xy[2 * j];
    placed.xy[2 * item + 1] = xy[2 * j + 1];
    placed.present[item] = 1;
  });
  return placed;
}

/** The box around x, y pairs (those that `usable` admits) as [x0, y0, x1, y1]; null when there are none. */
export function boundsOf(xy, usable = null) {
  const box = [Infinity, Infinity, -Infinity, -Infinity];
  for (let j = 0; j < xy.length; j += 2) {
    if (usable && !usable[j >> 1]) continue;
    if (xy[j] < box[0]) box[0] = xy[j];
    if (xy[j] > box[2]) box[2] = xy[j];
    if (xy[j + 1] < box[1]) box[1] = xy[j + 1];
    if (xy[j + 1] > box[3]) box[3] = xy[j + 1];
  }
  return box[0] > box[2] ? null : box;
}

/**
 * Fetches frames by address and hands them out placed. `watched()` resolves to the watched items, or null while they are
 * not known (a run names them when it starts); `fed(id)` gives bytes that came another way, the only
 * way where `url` is null; `raw` are bytes that an earlier Frames of the same address has fetched, by id.
 */
export class Frames {
  constructor({ url, watched, total, orbit = new Orbit(), pivot, fed = () => undefined, raw = new Map(), fetch = globalThis.fetch.bind(globalThis), now = Date.now }) {
    Object.assign(this, { url, watched, total, orbit, pivot, fed, raw, fetch, now });
    this.indices = null;
    this.failed = new Map();
    this.placed = new Map();
    this.waiting = new Map();
    this.bytes = [...raw.values()].reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  /** Whether `have` would give it. */
  has(frame) {
    if (frame.items === "watched" && !this.indices) return false;
    return this.placed.has(frame.id) || this.raw.has(frame.id) || this.fed(frame.id) !== undefined;
  }

  /** The placed frame if it is here, else null. */
  have(frame) {
    const known = this.placed.get(frame.id);
    if (known) {
      this.placed.delete(frame.id);
      this.placed.set(frame.id, known); // most recently used last
      return known.xyz ? turned(known, this.orbit) : known;
    }
    if (!this.has(frame)) return null;
    const buffer = this.raw.get(frame.id) ?? this.fed(frame.id);
    const placed = frame.dims === 3
      ? turned(solid(buffer, frame, this.indices, this.total, this.pivot), this.orbit)
      : place(dequantise(buffer, frame), frame, this.indices, this.total);
    this.placed.set(frame.id, placed);
    if (this.placed.size > KEPT_PLACED) this.placed.delete(this.placed.keys().next().value);
    return placed;
  }

  /** Where one item is in a frame, [x, y]; null where it has no place there, or the frame is not here. */
  at(frame, item) {
    const buffer = this.raw.get(frame.id) ?? this.fed(frame.id);
    const row = frame.items === "watched" && frame.n !== this.total ? this.rowOf(item) : item;
    if (!buffer || row === undefined || row >= frame.n) return null;
    const { dims, centre, scale } = frame;
    const raw = new DataView(buffer);
    const [x, y, z] = [0, 1, 2].map((axis) => (axis < dims ? raw.getInt16(2 * (dims * row + axis), true) : 0));
    if (x === NOWHERE) return null;
    const place = [x, y, z].map((q, axis) => (axis < dims ? centre[axis] + (q / 32767) * scale : 0));
    return (dims === 3 ? this.orbit.see(place, this.pivot ?? centre) : place).slice(0, 2);
  }

  rowOf(item) {
    if (!this.rows && this.indices) this.rows = new Map([...this.indices].map((watched, row) => [watched, row]));
    return this.rows?.get(item);
  }

  /** Fetch a frame unless it is here; resolves to it placed, rejects when it cannot be had. */
  async load(frame) {
    await this.fetchOnly(frame);
    return this.have(frame);
  }

  /** As load, without placing it yet. */
  async fetchOnly(frame) {
    if (this.has(frame)) return;
    if (!this.waiting.has(frame.id)) {
      const before = this.failed.get(frame.id);
      if (before && this.now() < before.until) throw before.error;
      const wait = this.download(frame).finally(() => this.waiting.delete(frame.id));
      wait.catch((error) => this.failed.set(frame.id, { error, until: this.now() + PATIENCE }));
      this.waiting.set(frame.id, wait);
    }
    await this.waiting.get(frame.id);
  }

  async download(frame) {
    if (frame.items === "watched" && !this.indices) this.indices = await this.watched();
    if (this.fed(frame.id) || !this.url) return;
    const response = await this.fetch(this.url.replace("{id}", frame.id));
    if (!response.ok) throw new Error(`frame ${frame.id}: the server answered ${response.status}`);
    const buffer = await response.arrayBuffer();
    this.raw.set(frame.id, buffer);
    this.bytes += buffer.byteLength;
    for (const [id, old] of this.raw) {
      if (this.bytes <= KEPT_BYTES || id === frame.id) break;
      this.raw.delete(id);
      this.bytes -= old.byteLength;
    }
  }
}

// The query on the map: a star that has its own place in every frame.
import { carry, type Point, type View } from "./camera.ts";

/** Two coordinates, or three. */
type Place = readonly number[];
/** A step and the place there. */
type Station = readonly number[];

/** A moment of the play, as far as a query is concerned (see `Entry` in data/timeline.ts). */
interface Moment {
  step: number;
  frame: { id: string };
  provisional?: boolean;
  own?: boolean;
}

/** A query as the map takes it. */
export interface Query {
  xy?: Place;
  trajectory?: Station[];
  /** It stays at its last station until a newer one is known. */
  open?: boolean;
  frames?: Record<string, Place>;
  neighbors?: { item: number; distance?: number }[];
}

// Between two nets that were kept, straight on; null before the first.
function onTrajectory({ trajectory = [], open }: Query, step: number): Place | null {
  const next = trajectory.findIndex(([at]) => at >= step);
  if (next < 0) return (open && trajectory.at(-1)?.slice(1)) || null;
  if (next === 0 && trajectory[0][0] > step) return null;
  const [to, ...after] = trajectory[next];
  if (to === step) return after;
  const [from, ...before] = trajectory[next - 1];
  const share = (step - from) / (to - from);
  return after.map((there, axis) => before[axis] + (there - before[axis]) * share);
}

/**
 * Position of the query at a timeline entry: by frame, by step, on its `trajectory` ([step, x, y] in order), or one place
 * for all final entries; null elsewhere.
 */
export function placeAt(query: Query | null, entry: Moment | null): Place | null {
  if (!query || entry?.own) return null;
  if (query.trajectory && entry) return onTrajectory(query, entry.step);
  const place = entry && (query.frames?.[entry.frame.id] ?? query.frames?.[entry.step]);
  return place ?? (entry?.provisional ? null : query.xy) ?? null;
}

/** Follows a query through the frames; `at(t)` goes with the scene's tween. */
export class QueryMarker {
  query: Query | null = null;
  from: Place | null = null;
  to: Place | null = null;
  age = 1; // 0 when it has just landed, 1 from a third of a second later
  private even = false; // whether it moves with a play, at an even pace

  /** `toPlane(place)` gives the two coordinates of a place that may have three. */
  constructor(private toPlane: (place: Place) => Point = ([x, y]) => [x, y]) {}

  set(query: Query | null, entry: Moment | null, still: boolean): boolean {
    const placesOf = (query: Query | null) => JSON.stringify(query?.trajectory ?? query?.frames ?? query?.xy);
    const isNew = placesOf(query) !== placesOf(this.query);
    const goesOn = Boolean(query?.open && this.query?.open && this.to);
    this.query = query;
    if (!isNew) return false;
    const before = this.to;
    this.to = placeAt(query, entry);
    this.from = goesOn ? before : this.to;
    if (!goesOn) this.age = still ? 1 : 0;
    return !goesOn;
  }

  /** The scene starts to move from one entry to another (the same one: to it, from wherever the star is). */
  move(a: Moment, b: Moment, t: number): void {
    const position = this.between(t);
    this.to = placeAt(this.query, b);
    this.from = a === b ? (position ?? this.to) : placeAt(this.query, a);
    this.even = a !== b;
  }

  /** Its start position, in the world of another view. */
  carry(from: View, to: View): void {
    if (this.from?.length === 2) this.from = [...carry(Float32Array.from(this.from), from, to)];
  }

  /** Its screen position, [x, y], or null. */
  at(t: number): Point | null {
    const place = this.between(t);
    return place && this.toPlane(place);
  }

  private between(t: number): Place | null {
    const { from, to } = this;
    if (!to || from?.length !== to.length) return to;
    const share = this.even ? t : t * t * (3 - 2 * t);
    return to.map((there, axis) => from[axis] + (there - from[axis]) * share);
  }

  /** The places it took up to an entry, oldest first. */
  trail(entries: Moment[], until: Moment | null): Point[] {
    if (!this.query?.frames && !this.query?.trajectory) return [];
    const places: Point[] = [];
    for (const entry of entries) {
      const place = placeAt(this.query, entry);
      if (place) places.push(this.toPlane(place));
      if (entry === until) break;
    }
    return places;
  }
}

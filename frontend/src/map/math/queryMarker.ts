// @ts-nocheck
// The query on the map: a star that has its own place in every frame.

import { carry } from "./camera.ts";

// Between two nets that were kept, straight on; null before the first.
function onTheWay(way, step) {
  const next = way.findIndex(([at]) => at >= step);
  if (next < 0 || (next === 0 && way[0][0] > step)) return null;
  const [to, x, y] = way[next];
  if (to === step) return [x, y];
  const [from, ...before] = way[next - 1];
  const share = (step - from) / (to - from);
  return [before[0] + (x - before[0]) * share, before[1] + (y - before[1]) * share];
}

/**
 * Where the query lies at a timeline entry: by frame, by step, on its `way` ([step, x, y] in order), or one place for all
 * that are final; null elsewhere.
 */
export function placeAt(query, entry) {
  if (!query || entry?.own) return null;
  if (query.way && entry) return onTheWay(query.way, entry.step);
  const known = entry && (query.frames?.[entry.frame.id] ?? query.frames?.[entry.step]);
  return known ?? (entry?.provisional ? null : query.xy) ?? null;
}

/** Follows a query through the frames; `at(t)` goes with the scene's tween. */
export class QueryStar {
  query = null;
  from = null;
  to = null;
  /** `flat(place)` gives the two coordinates of a place that may have three. */
  constructor(flat = (place) => place) {
    this.flat = flat;
  }

  age = 1; // 0 when it has just landed, 1 from a third of a second later

  set(query, entry, still) {
    const placesOf = (asked) => JSON.stringify(asked?.way ?? asked?.frames ?? asked?.xy);
    const isNew = placesOf(query) !== placesOf(this.query);
    this.query = query;
    if (!isNew) return false;
    this.from = this.to = placeAt(query, entry);
    this.age = still ? 1 : 0;
    return true;
  }

  /** The scene starts to move from one entry to another (the same one: to it, from wherever the star is). */
  move(a, b, t) {
    const here = this.between(t);
    this.to = placeAt(this.query, b);
    this.from = a === b ? (here ?? this.to) : placeAt(this.query, a);
    this.even = a !== b;
  }

  /** Where it comes from, in the world of another view. */
  carry(from, to) {
    if (this.from?.length === 2) this.from = carry(this.from, from, to);
  }

  /** Where it is seen, [x, y], or null. */
  at(t) {
    const place = this.between(t);
    return place && this.flat(place);
  }

  between(t) {
    if (!this.from || this.from.length !== this.to?.length) return this.to;
    const share = this.even ? t : t * t * (3 - 2 * t);
    return this.to.map((there, axis) => this.from[axis] + (there - this.from[axis]) * share);
  }

  /** The places it took up to an entry, oldest first. */
  trail(entries, until) {
    if (!this.query?.frames && !this.query?.way) return [];
    const places = [];
    for (const entry of entries) {
      const place = placeAt(this.query, entry);
      if (place) places.push(this.flat(place));
      if (entry === until) break;
    }
    return places;
  }
}

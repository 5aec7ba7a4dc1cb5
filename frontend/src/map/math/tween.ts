// Motion between frames. Each point runs on a cubic from p0 to p1 with the tangents m0 and m1 (per whole tween), so
// that neither a new frame in mid-motion nor the passage from one snapshot to the next makes a kink.
import { carry, type Bounds, type Point, type View } from "./camera.ts";

/** Positions of all items in a frame; present is 0 for those without one. */
export interface PlacedFrame {
  xy: Float32Array;
  present: Uint8Array;
  count: number;
  bounds: Bounds | null;
  /** The number of those that are far from all others, and stand at the edge. */
  outside?: number;
  /** Of three dimensions: the places in space, what they turn about, how far they reach, and what lies in front. */
  xyz?: Float32Array;
  pivot?: readonly number[];
  reach?: number;
  shade?: Uint8Array;
}

/** Input of a tween, from a placed frame: items without a place have present 0. */
export type Stop = Pick<PlacedFrame, "xy" | "present" | "count" | "shade">;

type Weights = [number, number, number, number];

/** Weights of p0, p1, m0, m1 at t (cubic Hermite). */
export function hermite(t: number): Weights {
  const s = 1 - t;
  return [(1 + 2 * t) * s * s, t * t * (3 - 2 * t), t * s * s, -t * t * s];
}

// Derivatives of the weights by t.
function slopes(t: number): Weights {
  return [6 * t * t - 6 * t, 6 * t - 6 * t * t, 1 - 4 * t + 3 * t * t, 3 * t * t - 2 * t];
}

/** Motion of n points; `fade` holds opacity at the start and at the end for each, 0 or 255 (or between, when interrupted). */
export class Tween {
  p0: Float32Array;
  p1: Float32Array;
  m0: Float32Array;
  m1: Float32Array;
  fade: Uint8Array;
  counts: Point = [0, 0];
  moves = false;

  constructor(public n: number) {
    this.p0 = new Float32Array(2 * n);
    this.p1 = new Float32Array(2 * n);
    this.m0 = new Float32Array(2 * n);
    this.m1 = new Float32Array(2 * n);
    this.fade = new Uint8Array(2 * n);
  }

  /** Stand still at a frame. */
  static rest(frame: Stop): Tween {
    const tween = new Tween(frame.present.length);
    tween.p0.set(frame.xy);
    tween.p1.set(frame.xy);
    for (let i = 0; i < tween.n; i++) tween.fade[2 * i] = tween.fade[2 * i + 1] = shadeOf(frame, i);
    tween.counts = [frame.count, frame.count];
    return tween;
  }

  /**
   * Go from wherever `from` is at `t` to `frame` and come to rest there. `ratio` is the new duration over the old one,
   * which keeps each point's speed. Points that appear fade in at their new place; points that leave fade out at theirs.
   */
  static ease(from: Tween, t: number, frame: Stop, ratio = 1): Tween {
    const tween = new Tween(frame.present.length);
    const { p0, p1, m0, fade } = tween;
    const sample = from.sample(t);
    const speed = from.moves && t < 1 ? from.velocity(t) : null;
    for (let i = 0; i < tween.n; i++) {
      const alpha = from.opacity(i, t);
      const there = frame.present[i];
      fade[2 * i] = alpha;
      fade[2 * i + 1] = shadeOf(frame, i);
      for (let c = 2 * i; c < 2 * i + 2; c++) {
        p0[c] = alpha ? sample[c] : frame.xy[c];
        p1[c] = there ? frame.xy[c] : p0[c];
        m0[c] = alpha && there && speed ? speed[c] * ratio : 0;
      }
    }
    tween.counts = [from.visibleCount(t), frame.count];
    tween.moves = true;
    return tween;
  }

  /**
   * The stretch from frame `a` to frame `b` of a longer motion through `before`, a, b, `after` (either end may be
   * null). Tangents are limited as in Fritsch and Carlson (1980), so that no coordinate overshoots a frame.
   */
  static stretch(before: Stop | null, a: Stop, b: Stop, after: Stop | null): Tween {
    const tween = new Tween(a.present.length);
    const { p0, p1, m0, m1, fade } = tween;
    for (let i = 0; i < tween.n; i++) {
      const [atStart, atEnd] = [a.present[i], b.present[i]];
      fade[2 * i] = shadeOf(a, i);
      fade[2 * i + 1] = shadeOf(b, i);
      for (let c = 2 * i; c < 2 * i + 2; c++) {
        p0[c] = atStart ? a.xy[c] : b.xy[c];
        p1[c] = atEnd ? b.xy[c] : p0[c];
        const step = p1[c] - p0[c];
        if (before?.present[i] && atStart) m0[c] = tangent(p0[c] - before.xy[c], step);
        if (after?.present[i] && atEnd) m1[c] = tangent(step, after.xy[c] - p1[c]);
      }
    }
    tween.counts = [a.count, b.count];
    tween.moves = true;
    return tween;
  }

  /** The same motion on the screen, in the world of another view. */
  rebased(from: View, to: View): Tween {
    const tween = Object.assign(new Tween(0), this);
    for (const name of ["p0", "p1"] as const) tween[name] = carry(this[name], from, to);
    for (const name of ["m0", "m1"] as const) tween[name] = carry(this[name], from, to, false);
    return tween;
  }

  /** World position of item i at t. */
  at(i: number, t: number): Point {
    const [a, b, c, d] = hermite(t);
    const mix = (j: number) => a * this.p0[j] + b * this.p1[j] + c * this.m0[j] + d * this.m1[j];
    return [mix(2 * i), mix(2 * i + 1)];
  }

  /** World positions of all items at t, into `out`. */
  sample(t: number, out = new Float32Array(2 * this.n)): Float32Array {
    if (!this.moves || t >= 1) {
      out.set(this.p1);
      return out;
    }
    const [a, b, c, d] = hermite(t);
    const { p0, p1, m0, m1 } = this;
    for (let j = 0; j < out.length; j++) out[j] = a * p0[j] + b * p1[j] + c * m0[j] + d * m1[j];
    return out;
  }

  /** Rate of change of all positions at t, per whole tween. */
  velocity(t: number): Float32Array {
    const [a, b, c, d] = slopes(t);
    const { p0, p1, m0, m1 } = this;
    return Float32Array.from(p0, (_, j) => a * p0[j] + b * p1[j] + c * m0[j] + d * m1[j]);
  }

  /** Opacity of item i at t, 0 to 255. */
  opacity(i: number, t: number): number {
    const share = this.moves ? Math.min(1, Math.max(0, t)) : 1;
    return Math.round(this.fade[2 * i] + (this.fade[2 * i + 1] - this.fade[2 * i]) * share);
  }

  /** Number of visible points at t, for sizes that change without a jump. */
  visibleCount(t: number): number {
    return this.counts[0] + (this.counts[1] - this.counts[0]) * (this.moves ? Math.min(1, t) : 1);
  }
}

function tangent(one: number, two: number): number {
  return one * two <= 0 ? 0 : (2 * one * two) / (one + two);
}

// The opacity that item i has in a frame: 0 where it has no place, less towards the back of three dimensions.
const shadeOf = ({ present, shade }: Stop, i: number): number => (present[i] ? (shade?.[i] ?? 255) : 0);

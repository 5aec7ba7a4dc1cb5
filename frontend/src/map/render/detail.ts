// How many of the points are drawn while they move. Where no graphics card does the work, 250,000 of them take a quarter
// of a second each time: then a pan shows every eighth or so, and all are drawn once it ends.

const FEW = 20_000; // points that are always all drawn
const SLOW_MS = 60; // from a drawing to the next frame: fewer points from here on
const GOAL_MS = 35;
const QUICK_MS = 20; // more points again
const REST_MS = 120; // without motion, after which all are drawn
const MOST = 16; // every sixteenth point at least

export class Detail {
  private every = 1; // how-manieth point is drawn in motion
  private moving = false;
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** `rested()` is called when nothing has moved for a moment, and asks for all points. */
  constructor(private rested: () => void) {}

  /** Every how-manieth of `count` points to draw now. */
  next(count: number, moving: boolean): number {
    clearTimeout(this.timer);
    this.moving = moving && count > FEW;
    if (!this.moving) return 1;
    this.timer = setTimeout(this.rested, REST_MS);
    return this.every;
  }

  /** The points were drawn just now: learn from how long the browser's next frame takes. */
  measure(): void {
    if (!this.moving) return;
    const began = performance.now();
    requestAnimationFrame(() => this.note(performance.now() - began));
  }

  /** A drawing in motion took so many milliseconds. */
  note(ms: number): void {
    if (ms > SLOW_MS) this.every = Math.min(MOST, Math.ceil((this.every * ms) / GOAL_MS));
    else if (ms < QUICK_MS) this.every = Math.max(1, this.every - 1);
  }

  stop(): void {
    clearTimeout(this.timer);
  }
}

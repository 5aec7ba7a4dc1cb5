// How many of the points are drawn while they move. Where no graphics card does the work, 250,000 of them take 100 to 200
// milliseconds each time: then a pan shows every eighth or so, and all are drawn once it ends.

const FEW = 20_000; // points that are always all drawn
const SLOW_MS = 60; // for one drawing: fewer points from here on
const GOAL_MS = 35;
const QUICK_MS = 20; // more points again
const REST_MS = 120; // without motion, after which all are drawn
const MOST = 16; // every sixteenth point at least

export class Detail {
  /** True if the last drawing in motion took long. */
  slow = false;
  private every = 1; // how-manieth point is drawn in motion
  private moving = false;
  private measuring = false;
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** `rested()` is called when nothing has moved for a moment, and asks for all points. */
  constructor(private onRest: () => void) {}

  /** Every how-manieth of `count` points to draw now. */
  next(count: number, moving: boolean): number {
    clearTimeout(this.timer);
    this.moving = moving && count > FEW;
    if (!this.moving) {
      this.slow = false;
      return 1;
    }
    this.timer = setTimeout(this.onRest, REST_MS);
    return this.every;
  }

  /** A drawing has begun at that time of the page: learn from how long it takes. */
  measure(began: number, busy: () => boolean): void {
    if (!this.moving || this.measuring) return;
    this.measuring = true;
    const look = () => {
      if (busy()) return void requestAnimationFrame(look);
      this.measuring = false;
      this.note(performance.now() - began);
    };
    requestAnimationFrame(look);
  }

  /** A drawing in motion took so many milliseconds. */
  note(ms: number): void {
    this.slow = ms > SLOW_MS;
    if (ms > SLOW_MS) this.every = Math.min(MOST, Math.ceil((this.every * ms) / GOAL_MS));
    else if (ms < QUICK_MS) this.every = Math.max(1, this.every - 1);
  }

  stop(): void {
    clearTimeout(this.timer);
  }
}

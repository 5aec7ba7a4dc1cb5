// Time between the frames of a live run, and so the duration of the points' motion to each.
const BOUNDS_S: [number, number] = [0.3, 0.45]; // a motion takes as long as frames take to come, within this
const LONGEST_S = 2; // that a wait counts for

export class LiveInterval {
  private mean = BOUNDS_S[1];
  private arrival = 0;

  /** A frame has come. */
  record(): void {
    const now = performance.now() / 1000;
    if (this.arrival) this.mean += 0.4 * (Math.min(LONGEST_S, now - this.arrival) - this.mean);
    this.arrival = now;
  }

  /** Seconds to take for the way to a new frame. */
  get motion(): number {
    return Math.min(BOUNDS_S[1], Math.max(BOUNDS_S[0], this.mean * 1.1));
  }
}

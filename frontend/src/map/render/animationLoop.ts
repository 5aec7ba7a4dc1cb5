// A clock that runs only while something changes.
import { guarded } from "../../lib/boundary.ts";

const FIRST_S = 1 / 60; // that the first frame after a rest counts for
export const LONGEST_S = 0.1; // that any frame counts for: after a stall the motion goes on, it does not jump

export class AnimationLoop {
  private request = 0;
  private last = 0;

  /** `frame(seconds)` is called once a frame, `seconds` after the last one; it says whether another must follow. */
  constructor(private frame: (seconds: number) => boolean) {}

  /** True if a frame is to come. */
  get pending(): boolean {
    return this.request !== 0;
  }

  /** Ask for a frame, once. */
  start(): void {
    if (!this.request) this.request = requestAnimationFrame(this.tick);
  }

  private tick = guarded((now: number): void => {
    this.request = 0;
    const seconds = Math.min(LONGEST_S, this.last ? (now - this.last) / 1000 : FIRST_S);
    this.last = now;
    if (this.frame(seconds)) this.start();
    else if (!this.request) this.last = 0;
  });

  stop(): void {
    cancelAnimationFrame(this.request);
  }
}

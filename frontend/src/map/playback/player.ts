// The playhead: a place between frames, moved by time. No drawing and no clock of its own.

export const SPEEDS = [0.5, 1, 2, 4];
const PLAY_DURATION_S = 11; // seconds that a whole play takes at speed 1, within the bounds below
const MIN_RATE = 1.6; // frames a second
const MAX_RATE = 6;

/** Frames a second at speed 1 for so many frames. */
export const frameRate = (count: number): number => Math.min(MAX_RATE, Math.max(MIN_RATE, count / PLAY_DURATION_S));

/** `position` is a frame index with its fraction; `following` says that new frames are shown as they come. */
export class Player {
  position = 0;
  playing = false;
  following = true;
  speed = 1;
  stopAt: number | null = null;

  /** Start playing; from the beginning when at the end. Returns whether that rewound. */
  play(count: number): boolean {
    if (count < 2) return false;
    const rewound = this.position >= count - 1;
    if (rewound) this.position = 0;
    this.playing = true;
    this.following = false;
    this.stopAt = null;
    return rewound;
  }

  /** Stop at the next frame, so that what stands still is a frame and nothing between two. */
  pause() {
    if (this.playing) this.stopAt = Math.ceil(this.position);
  }

  /** Go to a frame at once; the newest one of an open run is followed from then on. */
  seek(index: number, count: number, open: boolean): void {
    this.position = Math.max(0, Math.min(count - 1, Math.round(index)));
    this.playing = false;
    this.stopAt = null;
    this.following = open && this.position === count - 1;
  }

  /**
   * Move on by `seconds`; not past a frame that `here(index)` says has not arrived yet. At the last frame an open run is
   * followed and a closed one stands still.
   */
  advance(seconds: number, count: number, here: (index: number) => boolean, open: boolean): void {
    if (!this.playing) return;
    const limit = this.stopAt ?? count - 1;
    let position = Math.min(limit, this.position + seconds * this.speed * frameRate(count));
    for (let next = Math.floor(this.position) + 1; next <= Math.ceil(position); next++) {
      if (!here(next)) position = Math.min(position, next - 1);
    }
    this.position = Math.max(position, this.position);
    if (this.position < limit) return;
    this.playing = false;
    this.following = open && this.position === count - 1;
    this.stopAt = null;
  }

  /** The next speed in turn. */
  cycleSpeed(): void {
    this.speed = SPEEDS[(SPEEDS.indexOf(this.speed) + 1) % SPEEDS.length];
  }
}

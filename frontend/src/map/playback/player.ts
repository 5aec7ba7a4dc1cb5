// @ts-nocheck
// The playhead: a place between frames, moved by time. No drawing and no clock of its own.

export const SPEEDS = [0.5, 1, 2, 4];
const WHOLE_PLAY = 11; // seconds that a whole play takes at speed 1, within the bounds below
const SLOWEST = 1.6;
const FASTEST = 6;

/** Frames a second at speed 1 for so many frames. */
export const frameRate = (count) => Math.min(FASTEST, Math.max(SLOWEST, count / WHOLE_PLAY));

/** `head` is a frame index with its fraction; `following` says that new frames are shown as they come. */
export class Player {
  head = 0;
  playing = false;
  following = true;
  speed = 1;
  stopAt = null;

  /** Start playing; from the beginning when at the end. Returns whether that rewound. */
  play(count) {
    if (count < 2) return false;
    const rewound = this.head >= count - 1;
    if (rewound) this.head = 0;
    this.playing = true;
    this.following = false;
    this.stopAt = null;
    return rewound;
  }

  /** Stop at the next frame, so that what stands still is a frame and nothing between two. */
  pause() {
    if (this.playing) this.stopAt = Math.ceil(this.head);
  }

  /** Go to a frame at once; the newest one of an open run is followed from then on. */
  seek(index, count, open) {
    this.head = Math.max(0, Math.min(count - 1, Math.round(index)));
    this.playing = false;
    this.stopAt = null;
    this.following = open && this.head === count - 1;
  }

  /**
   * Move on by `seconds`; not past a frame that `here(index)` says has not arrived yet. At the last frame an open run is
   * followed and a closed one stands still.
   */
  advance(seconds, count, here, open) {
    if (!this.playing) return;
    const limit = this.stopAt ?? count - 1;
    let head = Math.min(limit, this.head + seconds * this.speed * frameRate(count));
    for (let next = Math.floor(this.head) + 1; next <= Math.ceil(head); next++) {
      if (!here(next)) head = Math.min(head, next - 1);
    }
    this.head = Math.max(head, this.head);
    if (this.head < limit) return;
    this.playing = false;
    this.following = open && this.head === count - 1;
    this.stopAt = null;
  }

  /** The next speed in turn. */
  faster() {
    this.speed = SPEEDS[(SPEEDS.indexOf(this.speed) + 1) % SPEEDS.length];
  }
}

// Undo and redo of what a person chose on a map: selection, pin, hidden classes, isolated points, color, view, subset.

/** What was chosen at one moment. Masks and sets are never changed after they are recorded. */
export interface Choice {
  selected: Uint8Array | null;
  reason: string | null;
  pinned: number | null;
  hidden: ReadonlySet<number>;
  isolated: Uint8Array | null;
  /** What points are colored by. */
  color: string;
  /** "live", or the ID of a projection, be it of all images or of some; null where there is no other. */
  view: string | null;
}

const MAX_STEPS = 100;

export class History {
  private past: Choice[] = [];
  private future: Choice[] = [];

  /** `read` returns what is chosen now; `restore` brings back what was chosen. */
  constructor(
    private read: () => Choice,
    private restore: (choice: Choice) => void,
  ) {}

  /** Call it before the person's change. */
  record(): void {
    this.past.push(this.read());
    if (this.past.length > MAX_STEPS) this.past.shift();
    this.future = [];
  }

  /** Other images are on the map: nothing of before can be brought back. */
  clear(): void {
    this.past = [];
    this.future = [];
  }

  get canUndo(): boolean {
    return this.past.length > 0;
  }

  get canRedo(): boolean {
    return this.future.length > 0;
  }

  /** Take back the last change; false where there is none. */
  undo(): boolean {
    return this.move(this.past, this.future);
  }

  /** Repeat what was taken back; false where there is nothing. */
  redo(): boolean {
    return this.move(this.future, this.past);
  }

  private move(from: Choice[], to: Choice[]): boolean {
    const choice = from.pop();
    if (!choice) return false;
    to.push(this.read());
    this.restore(choice);
    return true;
  }
}

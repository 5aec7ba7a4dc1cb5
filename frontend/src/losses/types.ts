// What the batch explorer needs of the losses in JavaScript, whose own files are not typed: Python is to give their values.

/** Few points as a loss sees them. */
export interface LossBatch {
  points: ArrayLike<number>[];
  /** What the loss learns itself. */
  own: { weight?: ArrayLike<number>[] };
  d(i: number, j: number, kind?: string): number;
  s(i: number, j: number): number;
}

/** What a loss has one term for. */
export interface TermDomain {
  noun: string;
  /** Whether a comparison is made of such items. */
  compared?: boolean;
  every(batch: LossBatch): number[][];
  of(batch: LossBatch, row: number[]): number[][];
}

/** A loss of a batch; a loss that does not tell its terms has no `text`. */
export interface Formula {
  over?: TermDomain;
  term?: (...images: number[]) => number;
  text?: (...images: number[]) => string;
  note?: (...images: number[]) => string;
  margins?: [number, number, number];
}

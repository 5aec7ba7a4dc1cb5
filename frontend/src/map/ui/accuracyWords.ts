// How far neighbors that an index found can be relied on, in words.
import { grouped } from "../../lib/format.ts";
import type { Accuracy } from "../data/model.ts";

/** The share that is right in percent; rounded down, so that 100 means all. */
export const percentRight = ({ recall }: Accuracy): string => `${Math.floor(recall * 1000 + 1e-4) / 10} %`;

/** One sentence, for beside a scale. */
export const accuracyWords = (accuracy: Accuracy, noun: string): string =>
  `Neighbors by an index: ${percentRight(accuracy)} of the ten nearest are right, measured on ${grouped(accuracy.measured)} ${noun}s.`;

// The rows of a review sheet: of one kind, with what was decided about each. Pure: no DOM.
import { counted, grouped } from "../../lib/format.ts";
import type { Decision, ReviewAction, ReviewAnswer, ReviewRow } from "../../protocol.ts";

export type Kind = ReviewRow["kind"];

const TRAINING_IMAGE = "training image";

/** A text on images; where the training data are points of the plane, on points. */
export const said = (text: string, noun = TRAINING_IMAGE): string =>
  noun === "training point"
    ? text.replace(/\ban image/g, "a point").replace(/([Ii])mage/g, (_, i) => (i === "I" ? "Point" : "point"))
    : text;

export const KINDS: { kind: Kind; title: string; meaning: string; ofVectors: string }[] = [
  {
    kind: "suspect",
    title: "Suspect labels",
    meaning:
      "Images whose neighbors, over the training, mostly carry one other label; those with the fewest of their own first.",
    ofVectors: "Those whose neighbors mostly carry one other label; those with the fewest of their own first.",
  },
  {
    kind: "ambiguous",
    title: "Ambiguous",
    meaning: "Images that the nets of the training saw differently; those that changed most first.",
    ofVectors: "",
  },
  {
    kind: "duplicate",
    title: "Near duplicates",
    meaning: "Training images that are nearly the same, in pairs.",
    ofVectors: "Pairs with nearly the same vector.",
  },
  {
    kind: "leak",
    title: "Leaks",
    meaning: "Training images that are nearly the same as a test image.",
    ofVectors: "",
  },
  {
    kind: "outlier",
    title: "Outliers",
    meaning: "At most 1% of the images: those that are farthest from all others, the farthest first.",
    ofVectors: "At most 1% of them: those that are farthest from all others, the farthest first.",
  },
];

/** True if own vectors were looked through, in place of training images. */
export const isOfVectors = ({ noun = TRAINING_IMAGE }: Partial<ReviewAnswer>): boolean => !noun.startsWith("training ");

/** What was found may be: in own vectors there are no leaks, since there are no test images. */
export const kindsOf = (answer: Partial<ReviewAnswer>): typeof KINDS =>
  answer.part === 1 ? KINDS.slice(0, 1) : KINDS.filter(({ ofVectors }) => ofVectors || !isOfVectors(answer));

/** Number of images searched, and for suspect labels the number that could not be compared. */
export function looked(kind: Kind, answer: Partial<ReviewAnswer>): string {
  const { images = 0, uncompared = 0, steps = [], recall = 1, part, noun = TRAINING_IMAGE, notes = [] } = answer;
  const right = recall < 1 ? ` At least ${Math.floor(100 * recall)}% of the neighbors found are the nearest.` : "";
  const at = steps.length ? ` of step ${grouped(steps.at(-1)!)}` : "";
  const embedded = isOfVectors(answer) ? `by their own vectors${at}` : `embedded by ${steps.length} nets of the run`;
  const first = `A first look at ${grouped(images)} of the ${noun}s; the list of all of them follows.`;
  const all = part === 1 ? first : [`${counted(images, noun)}, ${embedded}.${right}`, ...notes].join(" ");
  if (kind !== "suspect" || !uncompared) return all;
  const items = counted(uncompared, noun.replace("training ", ""));
  const few = uncompared === 1 ? `The label of ${items} was` : `The labels of ${items} were`;
  return `${all} ${few} not compared: a class of 1 or 2 has too few neighbors of its own.`;
}

/** The buttons of a row: the key that does the same, the verb, and the name of the class that it is about. */
export function buttonsOf({ label, suggestion }: ReviewRow, classes: string[]): [string, string, string?][] {
  const change: [string, string, string?][] = suggestion === null ? [] : [["r", "Change to", classes[suggestion]]];
  return [["c", "Keep", classes[label]], ...change, ["x", "Exclude"], ["u", "Undo"]];
}

/** The decision of a key about a row; null for other keys. */
export function decisionOf(key: string, row: ReviewRow, classes: string[]): ReviewAction | null {
  const { image, suggestion } = row;
  const plain = { image, label: null, tag: null };
  if (key === "c") return { ...plain, action: "confirm" };
  if (key === "x") return { ...plain, action: "exclude" };
  if (key === "u" || key === "Backspace") return { ...plain, action: "undo" };
  if (key === "r" && suggestion !== null) return { ...plain, action: "relabel", label: suggestion };
  // Digits choose a class by its name where the classes are digits, else by its number.
  const label = /^\d$/.test(key) ? (classes.includes(key) ? classes.indexOf(key) : Number(key)) : -1;
  return label >= 0 && label < classes.length ? { ...plain, action: "relabel", label } : null;
}

/** The decision that an action leads to, before the server has answered. */
export function applied(before: Decision | undefined, { action, label, tag }: ReviewAction): Decision | undefined {
  if (action === "undo") return undefined;
  const words = tag ?? before?.tag ?? "";
  if (action === "tag" && before) return { ...before, tag: words };
  return { action, label: action === "relabel" ? label : null, tag: words };
}

/** A decision in words. */
export function decisionText(decision: Decision | undefined, classes: string[]): string {
  if (!decision) return "";
  const { action, label, tag } = decision;
  const words = {
    confirm: "label confirmed",
    exclude: "excluded",
    relabel: `is ${label === null ? "?" : classes[label]}`,
    tag: "",
  }[action];
  return [words, tag && `“${tag}”`].filter(Boolean).join(" · ");
}

/** The next row after `from` about which nothing is decided; the one after `from` where there is none. */
export function nextRow(rows: ReviewRow[], decisions: Record<string, Decision | undefined>, from: number): number {
  const open = rows.findIndex(({ image }, i) => i > from && !decisions[image]);
  return open < 0 ? Math.min(from + 1, rows.length - 1) : open;
}

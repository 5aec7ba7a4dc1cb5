// The sentences of the inspector. Pure: no DOM.
import { grouped } from "../../lib/format.ts";

import type { ClassGroup, Selection } from "../../lib/selection.ts";
import type { InspectorProps, Subject } from "../../protocol.ts";

/** A neighbor of the image in question. */
export interface InspectedNeighbor {
  item: number;
  label: number;
  distance: number;
}

/** What is asked about, and who is near it. */
export interface Inspected extends Omit<InspectorProps, "near"> {
  neighbors: InspectedNeighbor[];
}

/** There is an image in question. */
export type WithSubject = Inspected & { subject: Subject };

export const classOf = ({ classes }: Pick<Inspected, "classes">, label: number | null | undefined): string =>
  classes?.[String(label)] ?? "";

const NEAR_RANK_FACTOR = 3; // a neighbor among the k nearest is near on the map when it is among the 3 k nearest there

/** How many of the neighbors agree, with the image's class or, for a query, with each other. */
export function summaryOf({ subject, neighbors, vote, classes }: WithSubject): string {
  if (!neighbors.length) return "";
  const truth = subject.label ?? vote?.label;
  const same = neighbors.filter((neighbor) => neighbor.label === truth).length;
  if (subject.label !== undefined)
    return `${same} of its ${neighbors.length} nearest neighbors are of class ${classOf({ classes }, truth)}`;
  return `${same} of the ${neighbors.length} nearest neighbors are of class ${classOf({ classes }, truth)}`;
}

/** What its way on the map rests on; "" for what has none. */
export function trajectoryCaption({ subject, way }: Pick<Inspected, "subject" | "way">): string {
  if (!subject || subject.item !== undefined || way === undefined) return "";
  if (!way) return "No trajectory: only the final model was saved.";
  return `Trajectory from ${way} checkpoints, linearly interpolated.`;
}

/** Of which image, and nearest among which, when. */
export function captionOf({ subject, among }: Pick<WithSubject, "subject" | "among">): string {
  const where = among
    ? `${grouped(among)} test images, at the end of the run`
    : "the tracked test images, at the last snapshot";
  const near = `nearest neighbors in the embedding, among ${where}`;
  return subject.item === undefined
    ? near[0].toUpperCase() + near.slice(1)
    : `Test image ${grouped(subject.item)}; ${near}`;
}

/** How many of a class are selected, of how many. */
export const countOf = ({ items, of }: Pick<ClassGroup, "items" | "of">): string =>
  `${grouped(items.length)} of ${grouped(of)}`;

/** Why these are selected, in a sentence; a lasso needs none but how to go on. */
export const selectionReason = ({ reason }: Pick<Selection, "reason">): string =>
  reason ?? "Manual selection. Click an image to pin it.";

/** Where a neighbor lies on the map: {near, words} from its rank there among all points; null where it is not drawn. */
export function mapRankCaption(rank: number | null | undefined, k: number): { near: boolean; words: string } | null {
  if (rank === null || rank === undefined) return null;
  const near = rank <= NEAR_RANK_FACTOR * k;
  return { near, words: `${near ? "Also near on the map" : "Far on the map"}: neighbor number ${grouped(rank)} there` };
}

// The sentences of the inspector. Pure: no DOM.
import { grouped, ITEM } from "../../lib/format.ts";
import { UNLABELED } from "../../lib/palette.ts";

import type { ClassGroup, Selection } from "../../lib/selection.ts";
import type { Metric } from "../store.ts";
import type { InspectorProps, ItemNeighbors, OcclusionMaps, QueryAnswer, Subject } from "../../protocol.ts";

/** A neighbor of the image in question. */
export interface InspectedNeighbor {
  item: number;
  label: number;
  distance: number;
}

/** Asks which parts of a test image and of the subject, another one or a picture, hold them together for the final net. */
export type AskParts = (item: number, subject?: number) => Promise<OcclusionMaps>;

/** The inspected image and its neighbors. */
export interface Inspected extends Omit<InspectorProps, "near"> {
  neighbors: InspectedNeighbor[];
  values?: ItemNeighbors["values"];
  known?: ItemNeighbors["known"];
  /** The snapshot that was searched; undefined for the end of the run. */
  step?: ItemNeighbors["step"];
  /** The distance by which they are nearest, where the person chooses it. */
  metric?: Metric;
  /** The kept pictures among the nearest: ID, name, distance. */
  kept?: QueryAnswer["kept"];
  /** Of a page without a server. */
  parts?: AskParts;
  /** The image with which this one is compared. */
  partner?: number | null;
}

/** There is an image in question. */
export type WithSubject = Inspected & { subject: Subject };

export const classOf = ({ classes }: Pick<Inspected, "classes">, label: number | null | undefined): string =>
  classes?.[String(label)] ?? "";

/** Whether a neighbor is of another class than an image: one without a label is of none. */
export function differs({ classes }: Pick<Inspected, "classes">, label: number, own: number | undefined): boolean {
  return label !== own && ![label, own].some((one) => classOf({ classes }, one) === UNLABELED);
}

/** An answer, and while a net trains those that its earlier snapshots gave. */
export type Answered = QueryAnswer & { earlier?: QueryAnswer[] };

/**
 * The answer to a query as it was at a moment: by the kept net of a finished run that comes before it, among the tracked
 * images, or while a net trains the one given by then; the whole answer at the end (null).
 */
export function answerAt(answer: Answered, moment: number | null): QueryAnswer {
  const { history, earlier = [], step } = answer;
  if (moment === null || (!history && (step ?? 0) <= moment)) return answer;
  if (!history) return earlier.findLast((one) => (one.step ?? 0) <= moment) ?? earlier[0] ?? answer;
  const at = Math.max(
    0,
    history.steps.findLastIndex((step) => step <= moment),
  );
  const near = history.near[at].map(([item, distance]): [number, number, number] => [
    item,
    history.labels[item],
    distance,
  ]);
  const labels = near.map(([, label]) => label);
  const count = (label: number) => labels.filter((other) => other === label).length;
  const label = labels.reduce((best, other) => (count(other) > count(best) ? other : best));
  return {
    ...answer,
    near,
    kept: [],
    vote: { label },
    title: answer.classes[label],
    far: null,
    basis: "",
    among: history.among,
    step: history.steps[at],
  };
}

const NEAR_RANK_FACTOR = 3; // a neighbor among the k nearest is near on the map when it is among the 3 k nearest there

/** Number of neighbors that agree with the image's class or, for a query, with each other. */
export function summaryOf({ subject, neighbors, vote, classes }: WithSubject): string {
  const label = subject.label ?? vote?.label;
  if (!neighbors.length || classOf({ classes }, label) === UNLABELED) return "";
  const agreeing = neighbors.filter((neighbor) => neighbor.label === label).length;
  return `${agreeing} of ${neighbors.length} neighbors are of class ${classOf({ classes }, label)}`;
}

/** Explanation of the trajectory_length on the map; "" without one. */
export function trajectoryCaption({
  subject,
  trajectory_length,
  step,
}: Pick<Inspected, "subject" | "trajectory_length" | "step">): string {
  if (!subject || subject.item !== undefined) return "";
  if (trajectory_length === undefined)
    return step === undefined ? "" : "While the net trains, it is asked again at each snapshot.";
  if (!trajectory_length) return "No trajectory: only the final model was saved.";
  return `Trajectory from ${trajectory_length} checkpoints, linearly interpolated.`;
}

/** Nearest where, among which images, and when. */
export const captionOf = ({
  among,
  noun = ITEM,
  given,
  step,
  vote,
}: Pick<Inspected, "among" | "noun" | "given" | "step" | "vote">): string =>
  among && step === undefined
    ? `Nearest in the embedding, of ${grouped(among)} ${noun}s${given ? "" : ", at the end of the run"}`
    : `Nearest in the embedding, of the ${vote && among ? `${grouped(among)} ` : ""}tracked ${noun}s, at ${step === undefined ? "the last snapshot" : `step ${grouped(step)}`}`;

/** Number of selected items of a class, of all. */
export const countOf = ({ items, of }: Pick<ClassGroup, "items" | "of">): string =>
  `${grouped(items.length)} of ${grouped(of)}`;

/** Why these are selected, in a sentence; a lasso needs none but how to go on. */
export const selectionReason = ({ reason }: Pick<Selection, "reason">, noun = ITEM): string =>
  reason ?? `Manual selection. Click ${noun === ITEM || noun === "image" ? "an image" : `a ${noun}`} to pin it.`;

/** Caption of a neighbor's rank on the map among all points; null if it is not drawn. */
export function mapRankCaption(rank: number | null | undefined, k: number): { near: boolean; words: string } | null {
  if (rank === null || rank === undefined) return null;
  const near = rank <= NEAR_RANK_FACTOR * k;
  return { near, words: `${near ? "Also near on the map" : "Far on the map"}: neighbor number ${grouped(rank)} there` };
}

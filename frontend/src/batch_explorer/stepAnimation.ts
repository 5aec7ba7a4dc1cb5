// Slow motion: what happens to a batch in one step, in six moments, each with its sentence. Pure: no DOM.
import { maxOf } from "../lib/extent.ts";
import { digits, grouped as whole, percent as share } from "../lib/format.ts";
import type { LoadedBatch } from "./batch.ts";

/** Mean distances within classes and between them. */
export interface MeanDistances {
  same: number;
  different: number;
}

/** The visible parts at a moment: distances, lines (or active ones only), arrows, and the progress of the images. */
export interface Visible {
  distances: boolean;
  lines: boolean;
  active: boolean;
  arrows: boolean;
  gone: number;
}

export const MOMENTS = ["Batch", "Distances", "Compared", "Loss", "Gradient", "Moved"];
export const GRADIENT_MOMENT = 4;
export const UPDATE_MOMENT = 5;
export const MOMENT_MS = 3200; // milliseconds that a moment stays while playing

const aOf = (noun: string): string => `${noun === "image" ? "an" : "a"} ${noun}`;

const MEASURES = { euclidean: "distance", sqeuclidean: "squared distance", cosine: "1 − cosine" };

/** The sentence of a moment, with this batch's numbers. `means` are those of `meanDistances`. */
export function momentText(b: LoadedBatch, moment: number, means: MeanDistances): string {
  const classes = new Set(b.labels).size;
  const seen = { head: ", as they leave the projection head", neck: ", as they enter the BNNeck" };
  const space = seen[b.seen as keyof typeof seen] ?? ", as embedded";
  switch (moment) {
    case 0:
      if (b.copy_of) {
        const images = new Set(b.copy_of).size;
        return `${whole(b.n)} augmented views of ${whole(images)} training ${b.noun}s${space} before step ${whole(b.step)}. Labels are unused: the positives of ${aOf(b.noun)} are its other views.`;
      }
      return `${whole(b.n)} training ${b.noun}s of ${classes} classes${space} before step ${whole(b.step)}.`;
    case 1:
      if (b.tuples.kind === "classes" && b.centers && b.centers.meaning !== "mean") {
        return `Each ${b.noun} is compared with ${whole(b.centers.labels.length)} class vectors (◆), not against other ${b.noun}s. Those of one class are ${digits(means.same)} apart, of two ${digits(means.different)}.`;
      }
      return `Every ${b.noun} is compared with every other: ${whole((b.n * (b.n - 1)) / 2)} pairs. Mean ${MEASURES[b.thresholds.measure]} ${b.copy_of ? `of two views of ${aOf(b.noun)}` : "within a class"} ${digits(means.same)}, ${b.copy_of ? `of two ${b.noun}s` : "between classes"} ${digits(means.different)}.`;
    case 2:
      return selectionText(b);
    case 3: {
      const of = b.terms?.count ?? "";
      const how =
        b.mean_of === "sum" ? "sum" : b.mean_of === "nonzero" ? "mean of the terms that are not zero, of" : "mean of";
      const rest =
        b.active > 0.9995
          ? "All of its terms are active."
          : `${share(b.active)} of its terms are active; the rest have zero loss.`;
      return `The loss is ${digits(b.loss)}${of ? `, the ${how} ${of}` : ""}. ${rest}`;
    }
    case 4: {
      const most = maxOf(b.force);
      const still = b.force.filter((force) => force < 1e-3 * most || force === 0).length;
      const note = still
        ? `${whole(still)} of ${whole(b.n)} ${b.noun}s have a near-zero gradient`
        : `every ${b.noun} has a gradient`;
      return `Arrows show the negative gradient of the loss at each ${b.noun}. The longest is ${digits(most)}; ${note}.`;
    }
    default:
      return movementText(b);
  }
}

function movementText(b: LoadedBatch): string {
  const by = magnification(b);
  if (by === null) return "The update moved nothing: the learning rate is near zero.";
  const note = by > 1 ? ` Movement enlarged ${whole(by)}×.` : "";
  return `The same ${b.noun}s after one update. Weights are shared, so they do not move exactly along their gradients.${note}`;
}

/** Factor by which the movement of a step is enlarged to be visible; null if there is no movement. */
export function magnification({ n, places, moved: later }: Pick<LoadedBatch, "n" | "places" | "moved">): number | null {
  const box = [Infinity, Infinity, -Infinity, -Infinity];
  let way = 0;
  for (let i = 0; i < n; i++) {
    const [x, y] = [places[2 * i], places[2 * i + 1]];
    [box[0], box[1], box[2], box[3]] = [
      Math.min(box[0], x),
      Math.min(box[1], y),
      Math.max(box[2], x),
      Math.max(box[3], y),
    ];
    way += Math.hypot(later[2 * i] - x, later[2 * i + 1] - y) / n;
  }
  const part = way / Math.max(box[2] - box[0], box[3] - box[1], 1e-30);
  if (!(part > 2e-5)) return null;
  return [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((factor) => factor * part >= 0.02) ?? 1000;
}

function selectionText(b: LoadedBatch): string {
  const total = b.tuples.counts.reduce((sum, count) => sum + count, 0);
  const noun = b.tuples.kind === "classes" ? `${b.noun}s` : b.tuples.kind;
  switch (b.tuples.by) {
    case "selection":
      return `${b.selected_by} selected ${whole(total)} ${noun}; the loss uses nothing else of the batch.`;
    case "all":
      return `No miner: the loss uses all ${whole(total)} ${noun} of the batch.`;
    case "nearest":
      return `No miner: each of ${whole(total)} positive pairs is compared with all negatives of its anchor. The lines show the nearest negative, which weighs most.`;
    case "classes":
      return `Each ${b.noun} should match its own class rather than any other. The lines show its own class and the strongest other.`;
    default:
      return `This loss weighs all pairs of ${aOf(b.noun)} together. The lines show its farthest positive and nearest negative.`;
  }
}

/** Mean distances within and between classes, out of a batch's matrix. */
export function meanDistances({ groups, n }: Pick<LoadedBatch, "groups" | "n">, matrix: Float32Array): MeanDistances {
  const [sums, counts] = [
    [0, 0],
    [0, 0],
  ];
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < i; j++) {
      const side = groups[i] === groups[j] ? 0 : 1;
      sums[side] += matrix[i * n + j];
      counts[side] += 1;
    }
  }
  return { same: sums[0] / Math.max(1, counts[0]), different: sums[1] / Math.max(1, counts[1]) };
}

/** The visible parts of a moment, so many milliseconds into it. */
export function visible(moment: number, time = Infinity): Visible {
  const gone = moment < UPDATE_MOMENT ? 0 : ease(Math.min(1, Math.max(0, (time - 300) / 1500)));
  return {
    distances: moment >= 1,
    lines: moment >= 2 && moment < UPDATE_MOMENT,
    active: moment >= 3,
    arrows: moment === GRADIENT_MOMENT,
    gone,
  };
}

const ease = (t: number) => (t < 0.5 ? 2 * t * t : 1 - (2 - 2 * t) ** 2 / 2);

/** Meanings of the kinds for this loss, for the legend. */
export function difficultyLabels(b: Pick<LoadedBatch, "tuples" | "thresholds">): string[] {
  if (b.tuples.kind === "classes") {
    return ["right, its term below 0.01", "right, but not by enough", "another class wins"];
  }
  if (b.tuples.kind === "pairs" && b.thresholds.decision_boundary !== null) {
    return [
      b.thresholds.is_hinge ? "zero loss" : "near-zero gradient",
      `right side of ${digits(b.thresholds.decision_boundary)} but with a gradient`,
      `wrong side of ${digits(b.thresholds.decision_boundary)}`,
    ];
  }
  const reach = b.thresholds.margin > 0 ? `farther by less than ${digits(b.thresholds.margin)}` : "there is no margin";
  return [
    "negative far enough",
    `negative ${b.thresholds.margin > 0 ? reach : `farther; ${reach}`}`,
    "negative nearer than positive",
  ];
}

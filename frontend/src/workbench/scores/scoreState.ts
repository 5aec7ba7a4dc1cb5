// The scores of a run at the step that is shown, from its events. Pure: no DOM.
import { counted, grouped, ITEM } from "../../lib/format.ts";

import type { StreamEvent } from "../../lib/eventStream.ts";

type Metrics = Record<string, number>;

export interface Reading {
  step: number;
  metrics: Metrics;
}

const GAP = { key: "map_at_r", label: "MAP@R" }; // the score whose gap between training and validation is shown

/** Scores of a run as its events report them. */
export interface ScoreState {
  /** What one of the points is that are no test images, as in "row". */
  noun?: string;
  whole?: number; // all dimensions, of which the scores are, where the map beside them is drawn from fewer
  steps: number | null;
  /** Number of test images on the map. */
  tracked: number | null;
  tests: number | null;
  /** Number of images held out of training; with 0 the snapshots score the tracked test images. */
  validation: number;
  /** Number of images that a snapshot scores. */
  scored: number | null;
  unseen: string[];
  series: Reading[];
  /** The scores of training images, of as many as are scored of the validation images; now and then. */
  train: Reading[];
  /** The scores of all test images, at the end. */
  final: Reading | null;
  /** The scores of all validation images, at the end. */
  finalValidation: Metrics;
  /** True if no further scores come. */
  ended: boolean;
  /** The scores of the images as they are, no net between, on those that snapshots score. */
  pixels: Metrics | null;
}

/** A score at a step. */
export interface Score {
  key: string;
  label: string;
  title: string;
  value: number | null;
  /** Since the untrained net. */
  change: number | null;
  course: { step: number; value: number }[];
  untrained: number | null;
  pixels: number | null;
  /** True if it is measured at the end only. */
  later: boolean;
  /** True if this run has no such score. */
  absent: boolean;
  /** The images that `untrained`, `pixels` and `change` are measured on. */
  images: string;
  /** Those of seen and unseen classes, where there are any, and at the end those of validation images. */
  apart: { group: string; value: number }[];
}

// Only losses with weights of classes have the first; the others are the readout of training without labels, at its end.
const PROBES = ["knn_probe_accuracy", "linear_probe_accuracy"];
const BY_CLASS = ["macro_precision_at_1", "macro_map_at_r"]; // which older runs lack
const SOME_RUNS = ["head_accuracy", ...PROBES, ...BY_CLASS];

/** Key, short name, and what the score is, of points that ITEM names ("image"). */
export const SCORES = [
  ["precision_at_1", "P@1", "Share of ITEMs whose nearest neighbor is of their own class"],
  ["recall_at_5", "R@5", "Share of ITEMs with one of their own class among the 5 nearest neighbors"],
  ["map_at_r", "MAP@R", "Mean average precision at R, where R is the number of other ITEMs of the class"],
  ["r_precision", "R-precision", "Share of the first R results that are of the ITEM's class"],
  [
    "macro_precision_at_1",
    "P@1, classes",
    "P@1 of each class, averaged: a rare class counts as much as a frequent one",
  ],
  ["macro_map_at_r", "MAP@R, classes", "MAP@R of each class, averaged: a rare class counts as much as a frequent one"],
  ["nmi", "NMI", "How well k-means clusters agree with the classes"],
  ["knn_accuracy", "kNN", "Accuracy of a vote among the nearest of the other ITEMs"],
  [
    "head_accuracy",
    "Head",
    "Head accuracy: share of ITEMs whose own class has the highest of the class scores that the loss learned",
  ],
  ["knn_probe_accuracy", "kNN probe", "Accuracy of a vote among the nearest training ITEMs"],
  [
    "linear_probe_accuracy",
    "Linear probe",
    "Accuracy of a logistic regression on the embeddings, fitted to training ITEMs; the net stays as it is",
  ],
].map(([key, label, title]) => ({ key, label, title }));

// Where classes were kept out of training, the scores of both kinds, each among themselves, come with these prefixes.
const GROUPS = ["seen", "unseen"];

export const emptyScores = (noun?: string): ScoreState => ({
  noun,
  steps: null,
  tracked: null,
  tests: null,
  validation: 0,
  scored: null,
  unseen: [],
  series: [],
  train: [],
  final: null,
  finalValidation: {},
  ended: false,
  pixels: null,
});

/** Take one event in, in place; says whether anything shown may have changed. */
export function reduceScores(readings: ScoreState, event: StreamEvent): boolean {
  switch (event.event) {
    case "started":
      if (!("steps" in event)) return false;
      Object.assign(readings, emptyScores(readings.noun), {
        steps: event.steps,
        tracked: event.tracked,
        tests: event.test_images,
      });
      readings.validation = event.validation_images;
      readings.scored = event.scored_images;
      readings.unseen = event.unseen ?? [];
      return true;
    case "snapshot":
      readings.series.push({ step: event.step, metrics: numbers(event.metrics) });
      if (event.train_metrics) readings.train.push({ step: event.step, metrics: numbers(event.train_metrics) });
      return true;
    case "end":
      readings.ended = true;
      return true;
    case "finished":
    case "stopped":
      if (!("test_images" in event) || !event.metrics || !Object.keys(event.metrics).length) return false;
      readings.final = { step: event.step, metrics: numbers(event.metrics) };
      readings.finalValidation = numbers(event.validation_metrics);
      if (Object.keys(event.train_metrics ?? {}).length)
        readings.train.push({ step: event.step, metrics: numbers(event.train_metrics) });
      readings.tests = event.test_images ?? readings.tests;
      return true;
    default:
      return false;
  }
}

/** Scores as numbers: one that is none is null in JSON. */
const numbers = (scores: Record<string, number | null> = {}): Metrics =>
  Object.fromEntries(Object.entries(scores).map(([name, value]) => [name, value ?? NaN]));

/** Scores at `step` (null: the newest). */
export function scoresAt(readings: ScoreState, step: number | null = null): Score[] {
  const { noun } = readings;
  const at = indexAt(readings, step);
  const whole = isFinal(readings, step);
  return SCORES.map(({ key, label, title }) => {
    const course = readings.series
      .filter(({ metrics }) => Number.isFinite(metrics[key]))
      .map(({ step, metrics }) => ({ step, value: metrics[key] }));
    const now = readings.series[at]?.metrics[key];
    const first = readings.series[0]?.metrics[key];
    const metrics: Metrics = (whole ? readings.final : readings.series[at])?.metrics ?? {};
    const value = metrics[key];
    const apart = GROUPS.map((group) => ({ group, value: metrics[`${group}/${key}`] }));
    if (whole) apart.push({ group: "validation", value: readings.finalValidation[key] });
    // Compared on the same images: a score of the test images is not the successor of one of the validation images.
    const change = at > 0 && Number.isFinite(now) && Number.isFinite(first) ? now - first : null;
    const untrained = readings.series[0]?.step === 0 && Number.isFinite(first) ? first : null;
    const pixels = readings.pixels?.[key] ?? null;
    // k-means takes long, so it is left for the end.
    const absent = SOME_RUNS.includes(key) && now === undefined && readings.final?.metrics[key] === undefined;
    const later = !absent && readings.final === null && now === undefined && readings.series.length > 0;
    return {
      key,
      label,
      title: title.replaceAll("ITEM", noun ?? "image"),
      value: Number.isFinite(value) ? value : null,
      change,
      course,
      untrained,
      pixels,
      later,
      absent,
      images: scoredImages(readings),
      apart: apart.filter(({ value }) => Number.isFinite(value)),
    };
  });
}

/** Name of the images that snapshots score. */
export const scoredImages = (readings: ScoreState): string =>
  readings.validation ? validationItems(readings) : `tracked ${testItems(readings)}`;

/** Name of the points that the scores of the end are of. */
const testItems = ({ noun = ITEM }: ScoreState): string => `${noun}s`;

const items = ({ noun = "image" }: Pick<ScoreState, "noun">): string => `${noun}s`;
const validationItems = (readings: ScoreState): string => `validation ${items(readings)}`;

/** The first score in words: how many of 100 images, or of all, have a neighbor of their own class; "" before there is a score. */
export function scoreInWords(readings: ScoreState, step: number | null, brief = false): string {
  const end = isFinal(readings, step);
  const metrics = (end ? readings.final : readings.series[indexAt(readings, step)])?.metrics;
  const value = metrics?.[SCORES[0].key];
  if (value === undefined || !Number.isFinite(value)) return "";
  const queries = (end ? metrics?.queries : readings.scored) ?? 100;
  const unused = readings.steps === 0 ? (readings.tests ?? 0) - queries : metrics?.queries_left_out; // rows, images
  const without = (end && metrics?.queries && unused) || 0;
  const by = readings.whole ? `, by all ${grouped(readings.whole)} dimensions` : "";
  const of = queries > 0 && queries < 100 ? queries : 100; // where there are fewer, these are counted
  const share = of * value;
  const right = of === 100 && Math.round(share) === 100 && value < 1 ? Math.floor(10 * share) / 10 : Math.round(share);
  if (brief) {
    const at = readings.steps === 0 ? "" : `Step ${grouped(stepAt(readings, step) ?? 0)}: `; // without a training there is none
    const images = isFinal(readings, step) ? testItems(readings) : scoredImages(readings);
    return `${at}${right} of ${of} ${images} have a right neighbor${by}${without ? `; ${grouped(without)} left out` : ""}`;
  }
  const but = without
    ? `; ${grouped(without)} without a label, or alone with it, ${without === 1 ? "is" : "are"} left out`
    : "";
  return `${right} of ${of} ${items(readings)} have a nearest neighbor of their own class${by}${but}`;
}

/** Why some test images are selected: what they fail, among which test images, after which step. */
export function reasonAt(readings: ScoreState, step: number | null, words: string): string {
  const reading = readings.series[indexAt(readings, step)];
  if (isFinal(readings, step) || !reading) return `${words}. ${captionAt(readings, step)}.`;
  const which = readings.tracked === readings.tests ? "all " : "";
  return `${words}. Of ${which}${count(readings.tracked)} ${testItems(readings)} (each against the others), ${when(reading)}.`;
}

/** The images and the step that the scores belong to, with notes on held-out classes, probes and the training gap. */
export function captionAt(readings: ScoreState, step: number | null = null): string {
  const { final } = readings;
  if (final && isFinal(readings, step)) {
    const given = readings.steps === 0; // ready, without a training
    const after = given ? "" : `, after ${steps(final.step)}`;
    const number = scoredAtEnd(readings);
    const which = number === null ? "all" : `${grouped(number)} of the`;
    const validation = number === null ? readings.validation : (readings.scored ?? 0);
    const note = Object.keys(readings.finalValidation).length
      ? `; validation: ${grouped(validation)} ${items(readings)}`
      : "";
    return `On ${which} ${count(readings.tests)} ${testItems(readings)}${after}${note}${unseenClassesNote(readings)}${probesNote(readings)}${gapNote(readings, step)}`;
  }
  const reading = readings.series[indexAt(readings, step)];
  if (!reading) return readings.ended ? "No scores of this run" : "Scores appear with the first snapshot";
  const all = readings.scored === (readings.validation || readings.tests) ? "all " : "";
  const which = `${all}${count(readings.scored)} ${readings.validation ? validationItems(readings) : testItems(readings)}`;
  return `On ${which} (each against the others), ${when(reading)}${unseenClassesNote(readings)}${gapNote(readings, step)}`;
}

/** The caption for a small screen: images, step and training gap only. */
export function shortCaptionAt(readings: ScoreState, step: number | null = null): string {
  const at = stepAt(readings, step);
  if (at === null) return captionAt(readings, step);
  const gap = trainingGap(readings, step);
  return `${scoredOn(readings, step).words}${readings.steps === 0 ? "" : `, step ${grouped(at)}`}${gap ? `; ${gap} training` : ""}`;
}

/** How many images the scores of a step are of, null where unknown, and which. */
export function scoredOn(readings: ScoreState, step: number | null): { n: number | null; words: string } {
  const end = isFinal(readings, step);
  const part = end ? scoredAtEnd(readings) : null;
  const n = end ? readings.tests : readings.scored;
  const images = end || !readings.validation ? testItems(readings) : validationItems(readings);
  const all = n === null ? images : `${grouped(n)} ${images}`;
  return { n: part ?? n, words: part === null ? all : `${grouped(part)} of ${all}` };
}

/** Number of test images scored at the end; null for all. After Stop only a part, to end soon. */
function scoredAtEnd({ final, tests }: ScoreState): number | null {
  const { queries = NaN, queries_left_out: without = 0 } = final?.metrics ?? {};
  return queries + without < (tests ?? 0) ? queries + without : null;
}

const when = ({ step }: Reading): string => (step === 0 ? "before training" : `after ${steps(step)}`);

/** The difference between the scores of validation and training images of the same classes; "" if unknown. */
export function gapNote(readings: ScoreState, step: number | null): string {
  const gap = trainingGap(readings, step);
  return gap && `; ${gap} that in training`;
}

/** That difference as in "MAP@R 0.010 below", at the last step for which both are known. */
function trainingGap(readings: ScoreState, step: number | null): string {
  const train = readings.train.findLast((reading) => step === null || reading.step <= step);
  if (!train || !readings.validation) return "";
  const whole = isFinal(readings, step) && train === readings.train.at(-1);
  const others = whole ? readings.finalValidation : readings.series.find(({ step: at }) => at === train.step)?.metrics;
  const validation = others?.[`seen/${GAP.key}`] ?? others?.[GAP.key];
  const own = train.metrics[`seen/${GAP.key}`] ?? train.metrics[GAP.key];
  if (!Number.isFinite(own) || validation === undefined || !Number.isFinite(validation)) return "";
  const than = own < validation ? "above" : "below";
  return `${GAP.label} ${Math.abs(own - validation).toFixed(3)} ${than}`;
}

const unseenClassesNote = ({ unseen }: ScoreState): string =>
  unseen.length ? `; classes held out of training (${unseen.join(", ")}) are scored separately` : "";

/** Note on the labels of the probes and the images left out; after Stop there are no probes. */
function probesNote({ final, unseen, noun }: ScoreState): string {
  const values = PROBES.map((key) => final?.metrics[key]).filter((value) => value !== undefined);
  if (!values.length) return "";
  if (!values.some(Number.isFinite)) return "; probes: not computed after Stop";
  return `; probes: by the labels of training ${items({ noun })}${unseen.length ? ", seen classes only" : ""}`;
}

/** The step that `step` stands for: that of the last reading not after it. */
export function stepAt(readings: ScoreState, step: number | null = null): number | null {
  return (isFinal(readings, step) ? readings.final : readings.series[indexAt(readings, step)])?.step ?? null;
}

/** True if `step` (null: the newest) is the end, which is measured on all test images. */
export const isFinal = ({ final }: ScoreState, step: number | null): boolean =>
  final !== null && (step === null || step >= final.step);

function indexAt({ series }: ScoreState, step: number | null): number {
  if (step === null) return series.length - 1;
  return series.findLastIndex((reading) => reading.step <= step);
}

const count = (n: number | null): string => (n === null ? "the" : grouped(n));
const steps = (n: number): string => counted(n, "step");

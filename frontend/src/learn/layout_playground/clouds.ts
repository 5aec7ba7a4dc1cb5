// Points to play with, and what people get wrong about maps of them. Pure: no DOM.
import { randomNumbers } from "../../lib/random.ts";

/** Points (n × d), with their classes. */
export interface Cloud {
  rows: Float32Array;
  d: number;
  labels: number[];
  classes: string[];
}

/** A question about the map of a cloud, before it is drawn. */
export interface Question {
  asks: string;
  choices: string[];
  right: number;
  why: string;
}

export interface MadeCloud {
  title: string;
  make: () => Cloud;
  question: Question;
  /** What to compare on the map with the same in the space. */
  measure?: { what: string; of: (rows: Float32Array, d: number, labels: number[]) => number };
}

type Place = number[];

/** A place drawn by chance from a normal distribution around `center`. */
function around(center: Place, spread: number, random: () => number): Place {
  return center.map((x) => {
    const radius = Math.sqrt(-2 * Math.log(1 - random()));
    return x + spread * radius * Math.cos(2 * Math.PI * random());
  });
}

/** Some points of each class, by the number of the point in its class. */
function cloud(
  classes: Record<string, number>,
  place: (label: number, i: number, random: () => number) => Place,
): Cloud {
  const random = randomNumbers(1);
  const labels = Object.values(classes).flatMap((count, label) => Array<number>(count).fill(label));
  let [i, before] = [0, -1];
  const places = labels.map((label) => {
    i = label === before ? i + 1 : 0;
    before = label;
    return place(label, i, random);
  });
  return { rows: Float32Array.from(places.flat()), d: places[0].length, labels, classes: Object.keys(classes) };
}

const origin = (d: number, x = 0): Place => Array.from({ length: d }, (_, q) => (q === 0 ? x : 0));

/** Mean place of a class, and the points' root mean square distance from it. */
function classSize(rows: Float32Array, d: number, labels: number[], label: number): { mean: Place; size: number } {
  const own = labels.flatMap((other, i) => (other === label ? [i] : []));
  const mean = origin(d).map((_, q) => own.reduce((sum, i) => sum + rows[i * d + q], 0) / own.length);
  const squares = own.reduce((sum, i) => sum + mean.reduce((all, x, q) => all + (rows[i * d + q] - x) ** 2, 0), 0);
  return { mean, size: Math.sqrt(squares / own.length) };
}

/** How many times wider class 1 is than class 0. */
const width = (rows: Float32Array, d: number, labels: number[]): number =>
  classSize(rows, d, labels, 1).size / classSize(rows, d, labels, 0).size;

/** How many times farther class 2 is from class 0 than class 1 is. */
function gap(rows: Float32Array, d: number, labels: number[]): number {
  const [a, b, c] = [0, 1, 2].map((label) => classSize(rows, d, labels, label).mean);
  const between = (p: Place, q: Place) => Math.sqrt(p.reduce((sum, x, i) => sum + (x - q[i]) ** 2, 0));
  return between(a, c) / between(a, b);
}

/** How many times longer the longest step from a point to the next of its class is than the median. */
function longestStep(rows: Float32Array, d: number, labels: number[]): number {
  const steps = labels
    .slice(1)
    .flatMap((label, i) =>
      label === labels[i]
        ? [Math.sqrt(origin(d).reduce((sum, _, q) => sum + (rows[(i + 1) * d + q] - rows[i * d + q]) ** 2, 0))]
        : [],
    )
    .sort((a, b) => a - b);
  return steps[steps.length - 1] / steps[steps.length >> 1];
}

export const CLOUDS: MadeCloud[] = [
  {
    title: "Two sizes",
    make: () =>
      cloud({ tight: 100, wide: 100 }, (label, _, random) => around(origin(10, 30 * label), 1 + 9 * label, random)),
    question: {
      asks: "The wide cluster is ten times as wide as the tight one. How much wider is it on the map?",
      choices: ["About ten times", "Much less than that"],
      right: 1,
      why: "Each point measures distances by those to its own neighbors, so tight clusters grow and wide ones shrink. The size of a cluster on the map says little.",
    },
    measure: { what: "The wide cluster is wider by", of: width },
  },
  {
    title: "Two gaps",
    make: () => cloud({ A: 70, B: 70, C: 70 }, (label, _, random) => around(origin(10, [0, 10, 60][label]), 1, random)),
    question: {
      asks: "C is six times as far from A as B is. How far is it on the map?",
      choices: ["About six times as far", "The map does not show it"],
      right: 1,
      why: "Only neighbors hold points together. Far clusters only push each other away, and that hardly depends on how far they were: read no distances between clusters.",
    },
    measure: { what: "C is farther from A than B is by", of: gap },
  },
  {
    title: "Noise",
    make: () => cloud({ noise: 200 }, (_, __, random) => around(origin(50), 1, random)),
    question: {
      asks: "These points are pure chance. Will the map show clusters?",
      choices: ["No: there are none", "It can, with few neighbors"],
      right: 1,
      why: "With few neighbors (perplexity 2 to 5) the map breaks chance into clumps. Look at several settings: what is there in all of them is in the data.",
    },
  },
  {
    title: "Nested",
    make: () =>
      cloud({ inner: 60, outer: 140 }, (label, _, random) => around(origin(10), label === 0 ? 0.3 : 3, random)),
    question: {
      asks: "A tight cluster lies in the middle of one that is ten times as wide. How wide does it look on the map?",
      choices: ["A tenth as wide", "A third, or more"],
      right: 1,
      why: "Its points hold each other as firmly as those of the wide one do, so a small dense group takes much room.",
    },
    measure: { what: "The outer cluster is wider by", of: width },
  },
  {
    title: "A line",
    make: () =>
      cloud({ "first half": 80, "second half": 80 }, (label, i, random) =>
        around(origin(5, 80 * label + i), 0.1, random),
      ),
    question: {
      asks: "160 points stand in a line, all steps alike. Will the map show gaps?",
      choices: ["No: there are none", "It can, with few neighbors"],
      right: 1,
      why: "With few neighbors (3 or 4) the line breaks wherever chance left a weak link. A gap on a map need not be one in the data: try more neighbors.",
    },
    measure: { what: "The longest step is longer than the usual one by", of: longestStep },
  },
  {
    title: "Two rings",
    make: () =>
      cloud({ "one ring": 80, "the other": 80 }, (label, i, random) => {
        const [x, y] = [13 * Math.cos((Math.PI * i) / 40), 13 * Math.sin((Math.PI * i) / 40)];
        return around(label === 0 ? [x, y, 0] : [13 + x, 0, y], 0.1, random);
      }),
    question: {
      asks: "Two rings run through each other, like links of a chain. Are they linked on the map?",
      choices: ["Yes: it keeps neighbors", "No: it cannot show that"],
      right: 1,
      why: "In the plane rings cannot be linked. With few neighbors they lie apart, and t-SNE with a perplexity of 50 tears both. What looks simple on a map may be entangled in the space.",
    },
    measure: { what: "The longest step is longer than the usual one by", of: longestStep },
  },
];

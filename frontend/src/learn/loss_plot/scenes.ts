// @ts-nocheck
// What moves in the plot of a loss: a few points on a line or a circle, two curves. Pure: no DOM.
import { Batch } from "../../losses/batch.ts";
import { lossOf } from "../../losses/index.ts";
import { cos, mul, sin, sqrt, square, sub, withSlopes } from "../../losses/autodiff.ts";

const DEGREE = Math.PI / 180;

const onLine = (t) => [t];
const onCircle = (t, length = 1) => [mul(length, cos(t)), mul(length, sin(t))];
const turned = (t) => onCircle(mul(-1, t));

/** Axes: the name of what moves, from where to where, and how its values are written. */
const AXES = {
  distance: { title: "distance", low: 0, high: 2, unit: 1, suffix: "" },
  angle: { title: "angle", low: 0, high: Math.PI, unit: DEGREE, suffix: "°" },
  ratio: { title: "variance of the difference over variance of the anchor", low: 0.001, high: 4, unit: 1, suffix: "" },
  score: { title: "score of the decision net", low: -2, high: 2, unit: 1, suffix: "" },
};

const PAIR = ["same class", "other class"];
const TRIPLE = ["positive moves", "negative moves"];
const PROXY = ["own proxy moves", "another proxy moves"];

const distanceKnob = (name, label, value) => ({ name, label, default: value, low: 0, high: 2, step: 0.05 });
const angleKnob = (name, label, value) => ({ name, label, default: value, low: 0, high: 180, step: 5 });
const LENGTH = (value) => ({
  name: "length",
  label: "Length of the embedding",
  default: value,
  low: 0.5,
  high: 20,
  step: 0.5,
});
const OTHERS = { name: "others", label: "Other classes", default: 9, low: 1, high: 99, step: 1 };

/** Two images: `place` puts the second at t from the first. */
const pair = (axis, place, more = {}) => ({
  axis,
  names: PAIR,
  held: [],
  curve: (near, own) => (t) => [[place(0), place(t)], [0, near ? 0 : 1], { own }],
  ...more,
});

/** Anchor, positive and negative, on either side of the anchor; `only` takes the one triplet and not the batch. */
const triple = (circle, only, { labels = [0, 0, 1], order = (points) => points, side = -1 } = {}) => ({
  axis: circle ? "angle" : "distance",
  names: TRIPLE,
  held: circle
    ? [angleKnob("p", "Positive held at, degrees", 40), angleKnob("n", "Negative held at, degrees", 60)]
    : [distanceKnob("p", "Positive held at", 0.6), distanceKnob("n", "Negative held at", 0.8)],
  curve: (near, held) => (t) => {
    const unit = circle ? DEGREE : 1;
    const [p, n] = near ? [t, held.n * unit] : [held.p * unit, t];
    const points = circle ? [onCircle(0), onCircle(p), turned(n)] : [onLine(0), onLine(p), onLine(mul(side, n))];
    return [order(points), labels, only ? { triplets: [[0, 1, 2]] } : {}];
  },
});

/** An image with its own proxy, one other that moves, and more at right angles to it and to each other. */
const proxies = (length = null) => ({
  axis: "angle",
  names: PROXY,
  held: [
    angleKnob("p", "Own proxy held at, degrees", 30),
    angleKnob("n", "The other held at, degrees", 90),
    OTHERS,
    ...(length === null ? [] : [LENGTH(length)]),
  ],
  curve: (near, held, params) => (t) => {
    const [p, n] = near ? [t, held.n * DEGREE] : [held.p * DEGREE, t];
    const own = [cos(p), sin(p), 0, 0];
    const other = [cos(n), 0, sin(n), 0];
    const aside = [0, 0, 0, 1];
    const r = held.length ?? 1;
    const each = params.centers ?? 1;
    const classes = [own, other, ...Array(held.others - 1).fill(aside)];
    const weight = classes.flatMap((first) => [first, ...Array(each - 1).fill(aside)]);
    const centers = classes.map((center) => center.map((x) => mul(r, x)));
    return [[[r, 0, 0, 0]], [0], { own: { weight, centers } }];
  },
});

const ratio = (t) => {
  const c = sub(1, mul(0.5, t));
  const s = sqrt(sub(1, square(c)));
  const [e, f] = [[Math.SQRT1_2, -Math.SQRT1_2, 0], [1, 1, -2].map((x) => x / Math.sqrt(6))];
  return e.map((x, k) => sub(mul(c, x), mul(-f[k], s)));
};

const PROTOTYPE_FIRST = ([a, p, n]) => [p, a, n];
const BESIDE = { side: 1 }; // beyond the anchor no negative would ever come near the mean of anchor and positive

const SCENES = {
  contrastive: () => pair("distance", onLine),
  contrastive_linear: ({ distance }) => (distance === "cosine" ? pair("angle", onCircle) : pair("distance", onLine)),
  contrastive_double: () => pair("distance", onLine),
  contrastive_no_margin: () => pair("distance", onLine),
  distance_logistic: () => pair("distance", onLine),
  margin: () => pair("distance", onLine),
  cosine_pair: () => pair("angle", onCircle),
  multi_similarity: () => pair("angle", onCircle),
  logistic_pair: () =>
    pair("angle", onCircle, {
      held: [
        { name: "gain", label: "Gain (learned)", default: 10, low: 0, high: 30, step: 0.5 },
        { name: "bias", label: "Bias (learned)", default: -5, low: -15, high: 5, step: 0.5 },
      ],
    }),
  snr_contrastive: () => pair("ratio", ratio),
  hinge_pair: () => ({
    axis: "score",
    names: PAIR,
    held: [],
    curve: (near) => (t) => [[[0], [1]], [0, near ? 0 : 1], { own: { score: t } }],
  }),
  triplet: ({ distance }) => triple(distance === "cosine", true),
  triplet_ratio: ({ distance }) => triple(distance === "cosine", true),
  triplet_soft: ({ distance }) => triple(distance === "cosine", true),
  angular: () => triple(true, true),
  hierarchical_triplet: () => triple(true, true),
  batch_hard: ({ distance }) => triple(distance === "cosine", false),
  coupled_clusters: () => triple(false, false, BESIDE),
  hard_cluster: () => triple(false, false, BESIDE),
  prototypical: ({ distance }) => triple(distance === "cosine", false, { order: PROTOTYPE_FIRST }),
  n_pairs: () => ({
    ...triple(true, false),
    held: [...triple(true, false).held, LENGTH(2)],
    curve: (near, held) => (t) => {
      const [p, n] = near ? [t, held.n * DEGREE] : [held.p * DEGREE, t];
      const others = onCircle(mul(-1, n), held.length);
      return [
        [onCircle(0, held.length), onCircle(p, held.length), others, others],
        [0, 0, 1, 1],
      ];
    },
  }),
  softmax: () => proxies(5),
  center: () => proxies(5),
  large_margin_softmax: () => proxies(5),
  sphereface: () => proxies(5),
};
const CIRCLE = ["circle", "nt_xent", "tuple_hinge", "tuplet_margin", "fastap"];
const PROXIES = ["normalized_softmax", "cosface", "arcface", "combined_margin", "proxy_nca", "soft_triple"];

/** What moves for the loss `name` with these parameters. */
export function sceneOf(name, params) {
  const made = SCENES[name]?.(params) ?? (PROXIES.includes(name) ? proxies() : triple(CIRCLE.includes(name), false));
  return { ...made, axis: AXES[made.axis] };
}

/** Distances that the parameters name, to be marked on the axis. */
export function marksOf(name, params) {
  switch (name) {
    case "contrastive":
    case "contrastive_linear":
      if ((params.distance ?? "euclidean") !== "euclidean") return [];
      return [
        { x: params.margin, label: "m" },
        ...(params.pos_margin > 0 ? [{ x: params.pos_margin, label: "m⁺" }] : []),
      ];
    case "contrastive_double":
      return [
        { x: Math.sqrt(params.margin), label: "√m₂" },
        { x: Math.sqrt(params.pos_margin), label: "√m₁" },
      ];
    case "margin":
      return [
        { x: params.beta - params.alpha, label: "β−α" },
        { x: params.beta, label: "β" },
        { x: params.beta + params.alpha, label: "β+α" },
      ].filter(({ x }) => x > 0);
    case "distance_logistic":
      return [{ x: params.margin, label: "m" }];
    default:
      return [];
  }
}

/** Loss and slope at one place of a curve: `near` is that of the positive. */
export function at(name, params, held, near, x) {
  const place = sceneOf(name, params).curve(near, held, params);
  return withSlopes(([t]) => lossOf(name, params, new Batch(...place(t))), [x]);
}

/** Both curves: points {x, loss, slope} over the axis. */
export function curves(name, params, held, samples = 160) {
  const { axis } = sceneOf(name, params);
  const high = Math.max(axis.high, ...marksOf(name, params).map(({ x }) => x * 1.25));
  // Not from the very end: where two images coincide no direction leads away, and every slope is 0.
  const xs = Array.from(
    { length: samples + 1 },
    (_, i) => axis.low + ((high - axis.low) * Math.max(i, 0.01)) / samples,
  );
  const curve = (near) =>
    xs.map((x) => {
      const { value, slopes } = at(name, params, held, near, x);
      return { x, loss: value, slope: slopes[0] };
    });
  return { low: axis.low, high, near: curve(true), far: curve(false) };
}

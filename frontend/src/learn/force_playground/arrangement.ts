// @ts-nocheck
// The points on the plane, and what is made of the forces that the library tells. Pure: no DOM.

export const EXTENT = 1.35; // the plane goes from −EXTENT to EXTENT
const LONGEST = 0.55; // of an arrow
const FARTHEST = 0.1; // that one step moves a point

/** Ways to begin, as [x, y, class]. */
export const PRESETS = {
  triplet: {
    title: "One triplet",
    points: [
      [-0.35, -0.25, 0],
      [0.55, 0.35, 0],
      [0.2, -0.55, 1],
    ],
  },
  batch: {
    title: "Three classes",
    points: [
      [-0.7, 0.15, 0],
      [-0.2, 0.6, 0],
      [0.35, 0.25, 0],
      [-0.5, -0.5, 1],
      [0.1, -0.25, 1],
      [0.45, 0.75, 1],
      [0.75, -0.2, 2],
      [0.55, -0.7, 2],
      [-0.1, 0.15, 2],
    ],
  },
};

/** Places of the proxies, one for each class. */
const PROXIES = [
  [-0.8, 0.7],
  [-0.1, -1],
  [1, 0.2],
];
const ROLES = ["Anchor", "Positive", "Negative"];
const LETTERS = "ABC";

/** An arrangement: points with labels, proxies where the loss has some, held on the circle or free. */
export function arranged(preset, { proxies = false, circle = false } = {}) {
  const points = PRESETS[preset].points;
  const made = {
    preset,
    circle,
    points: points.map(([x, y]) => [x, y]),
    labels: points.map(([, , label]) => label),
    weights: proxies ? PROXIES.map((place) => [...place]) : [],
  };
  return circle ? held(made) : made;
}

/** Every point (and proxy) on the unit circle. */
export function held(arrangement) {
  return {
    ...arrangement,
    circle: true,
    points: arrangement.points.map(toCircle),
    weights: arrangement.weights.map(toCircle),
  };
}

export function toCircle([x, y]) {
  const length = Math.hypot(x, y);
  return length < 1e-9 ? [1, 0] : [x / length, y / length];
}

/** Points first, proxies after them, counted through. */
export const places = ({ points, weights }) => [...points, ...weights];

/** The arrangement with place `index` moved. */
export function moved(arrangement, index, place) {
  const clipped = place.map((x) => Math.max(-EXTENT, Math.min(EXTENT, x)));
  const to = arrangement.circle ? toCircle(clipped) : clipped;
  const put = (list, from) => list.map((old, i) => (i + from === index ? to : old));
  return {
    ...arrangement,
    points: put(arrangement.points, 0),
    weights: put(arrangement.weights, arrangement.points.length),
  };
}

/** What place `index` is, for ear and eye. */
export function nameOf({ preset, points, labels }, index) {
  if (index >= points.length) return `Proxy ${LETTERS[index - points.length]}`;
  return preset === "triplet" ? ROLES[index] : `${LETTERS[labels[index]]}${1 + (index % 3)}`;
}

/** What the server is asked about an arrangement. */
export const questionOf = ({ preset, points, labels, weights }, params) => ({
  params,
  points,
  labels,
  weights,
  triplet: preset === "triplet",
});

/** The forces as the arrangement lets them act, and the longest of them. */
export function pulls(arrangement, { loss, active, forces, on_weights: onWeights }) {
  const all = [...forces, ...onWeights];
  const along = arrangement.circle ? all.map((force, i) => tangential(force, places(arrangement)[i])) : all;
  return { loss, active, forces: along, longest: Math.max(...along.map(([x, y]) => Math.hypot(x, y))) };
}

/** On the circle a point can only move along it. */
function tangential([fx, fy], [x, y]) {
  const along = fx * -y + fy * x;
  return [along * -y, along * x];
}

/** Where each arrow ends: in proportion to its force, the longest no longer than LONGEST. */
export function arrowTips(arrangement, { forces: all, longest }) {
  const factor = LONGEST / Math.max(longest, 1);
  return places(arrangement).map(([x, y], i) => [x + all[i][0] * factor, y + all[i][1] * factor]);
}

/** One step of gradient descent; no point moves farther than FARTHEST. */
export function stepped(arrangement, { forces: all, longest }, rate) {
  const factor = Math.min(rate, FARTHEST / Math.max(longest, 1e-9));
  return places(arrangement).reduce(
    (now, [x, y], i) => moved(now, i, [x + all[i][0] * factor, y + all[i][1] * factor]),
    arrangement,
  );
}

/** Places for the ground: `count` × `count` from the top left, each in the middle of its cell. */
export function grid(count) {
  const cell = (2 * EXTENT) / count;
  return Array.from({ length: count * count }, (_, i) => [
    ((i % count) + 0.5) * cell - EXTENT,
    EXTENT - (Math.floor(i / count) + 0.5) * cell,
  ]);
}

/** The same around the circle, counter-clockwise from the right. */
export const ring = (count) =>
  Array.from({ length: count }, (_, i) => {
    const angle = (2 * Math.PI * i) / count;
    return [Math.cos(angle), Math.sin(angle)];
  });

/** A square of values (row after row) `by` times as fine, linear between the cells; null where one is no number. */
export function refined(values, by) {
  const count = Math.sqrt(values.length);
  const fine = count * by;
  const between = Array.from({ length: fine }, (_, i) => {
    const at = Math.max(0, Math.min(count - 1, (i + 0.5) / by - 0.5));
    const from = Math.min(count - 2, Math.floor(at));
    return [from, at - from];
  });
  return between.flatMap(([row, down]) =>
    between.map(([column, right]) => {
      const at = row * count + column;
      const four = [values[at], values[at + 1], values[at + count], values[at + count + 1]];
      if (four.includes(null)) return null;
      const [top, base] = [four[0] + (four[1] - four[0]) * right, four[2] + (four[3] - four[2]) * right];
      return top + (base - top) * down;
    }),
  );
}

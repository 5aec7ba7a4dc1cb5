// @ts-nocheck
// What the plot of each loss shows, in a sentence.

const PAIR =
  "Two images at a distance: one of the same class is pulled where the loss rises, one of another class is pushed where it falls.";
const CIRCLE_PAIR =
  "Two images at an angle, since only directions count: the loss of a pair of one class, and of a pair of two.";
const TRIPLET =
  "Anchor, positive and negative in a line. One curve moves the positive while the negative stays, the other moves the negative.";
const CIRCLE_TRIPLET =
  "Anchor, positive and negative on a circle, since only directions count. One curve moves the positive while the negative stays, the other moves the negative.";
const BATCH = " The three are the whole batch, so the positive is an anchor too.";
const PROXY =
  "No pair of images: the angle of one image to its own class's proxy, or to another's. The other classes' proxies stand at right angles.";

const NOTES = {
  contrastive: PAIR,
  contrastive_linear: PAIR,
  contrastive_double: PAIR,
  contrastive_no_margin: "Two images at a distance. The other class's curve falls for ever: no distance is far enough.",
  distance_logistic: PAIR,
  margin: `${PAIR} β is learned; it stands here where it starts.`,
  cosine_pair: CIRCLE_PAIR,
  multi_similarity: `${CIRCLE_PAIR} Alone, as here, a pair has no others to be weighed against.`,
  circle: `${CIRCLE_TRIPLET + BATCH} The slope is the one that training follows, with the weights held constant.`,
  logistic_pair: "Two images of length 1 at an angle. Gain and bias are learned; the sliders start where they start.",
  snr_contrastive:
    "Not the distance decides but the variance of the difference over that of the anchor: two images of mean zero and equal variance.",
  hinge_pair:
    "A distance decides nothing here: a small second net gives each pair a score, above 0 for the same class. This is the loss of that score.",
  triplet: TRIPLET,
  triplet_ratio: TRIPLET,
  triplet_soft: TRIPLET,
  batch_hard: TRIPLET + BATCH,
  angular: CIRCLE_TRIPLET,
  coupled_clusters:
    "Anchor, positive and negative in a line, the negative on the positive's side: distances count from the mean of the class, halfway between anchor and positive.",
  hard_cluster:
    "Anchor, positive and negative in a line, the negative on the positive's side: the class is a ball about its mean, halfway between anchor and positive.",
  hierarchical_triplet: `${CIRCLE_TRIPLET} The class tree is that of these three images, so the margin itself changes as they move; the slope is the one that training follows, with the margin held constant.`,
  nt_xent: CIRCLE_TRIPLET + BATCH,
  tuple_hinge: CIRCLE_TRIPLET + BATCH,
  tuplet_margin: CIRCLE_TRIPLET + BATCH,
  fastap: `${CIRCLE_TRIPLET + BATCH} The corners are the edges of the bins.`,
  lifted: TRIPLET + BATCH,
  lifted_hard: TRIPLET + BATCH,
  generalized_lifted: TRIPLET + BATCH,
  nca: TRIPLET + BATCH,
  n_pairs: "One pair of each of two classes, by inner product: anchor and positive, and the other pair in one place.",
  prototypical: "A query, the prototype of its class and that of another, in a line.",
  soft_triple: `${PROXY} Of each class's centers only the first moves.`,
  arcface: `${PROXY} Beyond 180° − m the margin would make the cosine rise again; there it goes on as cos θ − m sin m, and the step is ArcFace's own.`,
  center: `${PROXY} The center of each class lies on its proxy, as far out as the image.`,
};

/** The sentence for the loss `name`. */
export const noteOf = (name) => NOTES[name] ?? PROXY;

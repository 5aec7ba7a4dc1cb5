// @ts-nocheck
// What a loss has one term for: `every` one of a batch, and those `of` a comparison, a pair or a triplet of images.

export const PAIRS = {
  noun: "pairs",
  compared: true, // a comparison is made of such items, while others have a term whoever is compared
  every: (batch) => batch.pairs(),
  of: (_, [a, p, n]) =>
    n === undefined
      ? [[a, p]]
      : [
          [a, p],
          [a, n],
        ],
};
export const DIRECTED_PAIRS = { ...PAIRS, every: (batch) => batch.pairs(true) };

export const TRIPLETS = {
  noun: "triplets",
  compared: true,
  every: (batch) => batch.triples(),
  of: (_, triplet) => [triplet],
};

export const IMAGES = { noun: "images", every: (batch) => batch.all.map((a) => [a]), of: (_, [a]) => [[a]] };
export const ANCHORS = { ...IMAGES, noun: "anchors" };
export const WITH_POSITIVE = { ...ANCHORS, every: (batch) => anchors(batch, ["positives"]) };
export const WITH_BOTH = { ...ANCHORS, every: (batch) => anchors(batch, ["positives", "negatives"]) };

export const POSITIVES = {
  noun: "positive pairs",
  every: (batch) => batch.positivePairs(),
  of: (batch, [a, p]) => (batch.same(a, p) ? [[a, p]] : []),
};
export const POSITIVES_ONCE = {
  ...POSITIVES,
  every: (batch) => batch.positivePairs().filter(([i, j]) => batch.anchored || i < j),
};

const anchors = (batch, sides) => batch.all.filter((a) => sides.every((side) => batch[side](a).length)).map((a) => [a]);

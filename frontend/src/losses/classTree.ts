// @ts-nocheck
// The class tree of the hierarchical triplet loss, of plain numbers: margins are no part of the gradient.
import { direction, mean } from "./batch.ts";
import { dot, number } from "./autodiff.ts";

/** A function (class of the anchor, class of the negative) -> what the margin has beyond β. */
export function classTree(batch, levels) {
  const points = batch.points.map((point) => direction(point.map(number)));
  const classes = batch.classes();
  const means = classes.map(({ members }) => mean(members.map((i) => points[i])));
  const spread = classes.map(({ members: { length } }, c) =>
    length > 1 ? (Math.max(2 * (1 - dot(means[c], means[c])), 0) * length) / (length - 1) : 0,
  );
  const several = spread.filter((_, c) => classes[c].members.length > 1);
  const start = several.length ? several.reduce((a, b) => a + b) / several.length : 0;

  // The least threshold above which two classes are linked through a chain of classes.
  const height = means.map((a) => means.map((b) => 2 - 2 * dot(a, b)));
  classes.forEach((_, k) =>
    classes.forEach((_, i) =>
      classes.forEach((_, j) => {
        height[i][j] = Math.min(height[i][j], Math.max(height[i][k], height[k][j]));
      }),
    ),
  );
  const threshold = (between) => {
    const level = Math.floor(((between - start) * levels) / (4 - start)) + 1;
    return start + ((4 - start) * Math.min(Math.max(level, 1), levels)) / levels;
  };
  return (a, n) => {
    const [i, j] = [a, n].map((label) => classes.findIndex((own) => own.label === label));
    return threshold(height[i][j]) - spread[i];
  };
}

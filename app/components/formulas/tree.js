// The class tree of the hierarchical triplet loss, of plain numbers: margins are no part of the gradient.
import { number } from "./tape.js";

/** A function (class of the anchor, class of the negative) -> what the margin has beyond β. */
export function classTree(batch, levels) {
  const names = [...new Set(batch.labels)];
  const members = names.map((name) =>
    batch.all.filter((i) => batch.labels[i] === name).map((i) => direction(batch.points[i].map(number))));
  const means = members.map((points) => points[0].map((_, k) => points.reduce((sum, p) => sum + p[k], 0) / points.length));
  const inner = (a, b) => a.reduce((sum, x, k) => sum + x * b[k], 0);
  const spread = members.map(({ length }, c) =>
    length > 1 ? (Math.max(2 * (1 - inner(means[c], means[c])), 0) * length) / (length - 1) : 0);
  const several = spread.filter((_, c) => members[c].length > 1);
  const start = several.length ? several.reduce((a, b) => a + b) / several.length : 0;

  // The least threshold above which two classes are linked through a chain of classes.
  const height = means.map((a) => means.map((b) => 2 - 2 * inner(a, b)));
  names.forEach((_, k) => names.forEach((_, i) => names.forEach((_, j) => {
    height[i][j] = Math.min(height[i][j], Math.max(height[i][k], height[k][j]));
  })));
  const threshold = (between) => {
    const level = Math.floor(((between - start) * levels) / (4 - start)) + 1;
    return start + ((4 - start) * Math.min(Math.max(level, 1), levels)) / levels;
  };
  return (a, n) => {
    const [i, j] = [names.indexOf(a), names.indexOf(n)];
    return threshold(height[i][j]) - spread[i];
  };
}

function direction(point) {
  const length = Math.hypot(...point);
  return length ? point.map((x) => x / length) : point;
}

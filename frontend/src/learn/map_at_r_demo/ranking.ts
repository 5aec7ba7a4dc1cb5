// Who is near whom in a small space, and what R@1, R-precision and MAP@R make of it. Pure: no DOM.

import type { SmallSpace } from "../../protocol.ts";
import { countRight, scoreRanking } from "../ranking_toy/scores.ts";

/** The others by distance, nearest first; at equal distance those of another class first, as the library ranks. */
export function rankNeighbors({ points, classes }: Pick<SmallSpace, "points" | "classes">, query: number): number[] {
  const far = (i: number) => Math.hypot(points[i][0] - points[query][0], points[i][1] - points[query][1]);
  const right = (i: number) => Number(classes[i] === classes[query]);
  return points
    .map((_, i) => i)
    .filter((i) => i !== query)
    .sort((i, j) => far(i) - far(j) || right(i) - right(j));
}

/** The R nearest of a query (R: how many others are of its class), which of them are right, and the scores. */
export function scoreQuery(space: Pick<SmallSpace, "points" | "classes">, query: number) {
  const relevant = space.classes.filter((label) => label === space.classes[query]).length - 1;
  const found = rankNeighbors(space, query).slice(0, relevant);
  const hits = found.map((i) => space.classes[i] === space.classes[query]);
  const scores = scoreRanking({ hits, relevant });
  return { found, hits, relevant, first: hits[0], precision: countRight(hits) / relevant, average: scores.map_at_r };
}

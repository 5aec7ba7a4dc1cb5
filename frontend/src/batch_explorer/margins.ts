// Margins as circles in a plane: what a chosen comparison asks for. Pure: no DOM.
import type { LoadedBatch, Row } from "./batch.ts";

export interface Ring {
  radius: number;
  what: "positive" | "near" | "margin";
}

/**
 * Rings around the first image of a comparison, in the distances of the loss. Only in a plane that is
 * the space itself, where a circle is what lies so far away.
 */
export function rings(b: LoadedBatch, row: Row | null): Ring[] {
  const { measure, margin: gap, positive_threshold: near, negative_threshold: far } = b.thresholds;
  if (b.view !== "plane" || measure === "cosine" || !row || b.tuples.kind === "classes") return [];
  const radius = (value: number) => (measure === "sqeuclidean" ? Math.sqrt(Math.max(0, value)) : value);
  if (b.tuples.kind === "triplets") {
    const positive = b.space.distance(row[0], row[1], measure);
    const found: Ring[] = [{ radius: radius(positive), what: "positive" }];
    return gap > 0 ? [...found, { radius: radius(positive + gap), what: "margin" }] : found;
  }
  return (
    [
      [near, "near"],
      [far, "margin"],
    ] as const
  ).flatMap(([value, what]) => (value !== null && value > 0 ? [{ radius: radius(value), what }] : []));
}

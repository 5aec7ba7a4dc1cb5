// Margins as places in a plane: what a chosen comparison asks for, and the arcs that class weights leave to each class.
import { withMargin } from "../losses/proxies.ts";
import type { LoadedBatch, Row } from "./batch.ts";

export interface Ring {
  radius: number;
  what: "positive" | "near" | "margin";
}

/** From where to where a class wins, in radians. */
export interface Arc {
  row: number;
  from: number;
  to: number;
}

/**
 * Rings around the first image of a comparison, in the distances of the loss. Only in a plane that is
 * the space itself, where a circle is what lies so far away.
 */
export function rings(b: LoadedBatch, row: Row | null): Ring[] {
  const { measure, margin: gap, positive_threshold: near, negative_threshold: far } = b.reach;
  if (b.view !== "plane" || measure === "cosine" || !row || b.seen.kind === "classes") return [];
  const radius = (value: number) => (measure === "sqeuclidean" ? Math.sqrt(Math.max(0, value)) : value);
  if (b.seen.kind === "triplets") {
    const positive = b.batch.d(row[0], row[1], measure);
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

/**
 * Arcs of directions in which a class wins although its margin counts against it, for
 * losses on angles in a plane. What no arc covers is the gap that the margin keeps.
 */
export function arcs(b: Pick<LoadedBatch, "batch" | "formula" | "view">, samples = 720): Arc[] {
  const {
    batch,
    formula: { margins },
  } = b;
  if (!margins || b.view !== "plane" || batch.points[0].length !== 2) return [];
  const angles = (batch.own.weight ?? []).map((weight) => Math.atan2(weight[1], weight[0]));
  const winner = (angle: number) => {
    const cosines = angles.map((own) => Math.cos(angle - own));
    const best = cosines.indexOf(Math.max(...cosines));
    const next = Math.max(...cosines.filter((_, c) => c !== best));
    return withMargin(cosines[best], ...margins) > next ? best : -1;
  };
  const step = (2 * Math.PI) / samples;
  const won = Array.from({ length: samples }, (_, i) => winner((i + 0.5) * step));
  const found: { row: number; start: number; end: number }[] = [];
  won.forEach((row, i) => {
    const last = found.at(-1);
    if (row < 0) return;
    if (last?.row === row && last.end === i) last.end = i + 1;
    else found.push({ row, start: i, end: i + 1 });
  });
  return found.map(({ row, start, end }) => ({ row, from: start * step, to: end * step }));
}

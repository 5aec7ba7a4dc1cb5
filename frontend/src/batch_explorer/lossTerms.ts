// The terms of a loss with the numbers of this batch, for losses that tell them; of others only distances are shown.
import { grouped } from "../lib/format.ts";
import { figure } from "../losses/format.ts";
import type { LoadedBatch, Row } from "./batch.ts";

/** A term: what comes out, the formula with the numbers in it, and a sentence about it. */
export interface Term {
  value: number;
  latex: string;
  note: string;
}

/** The terms that a comparison takes part in; none for a loss that does not tell them. */
export function termsOf(
  { batch, formula: { over, term, text, note } }: Pick<LoadedBatch, "batch" | "formula">,
  row: Row,
): Term[] {
  if (!over || !term || !text) return [];
  return over.of(batch, row).map((images) => {
    const value = term(...images);
    return { value, latex: `${text(...images)} = ${figure(value)}`, note: note?.(...images) ?? "" };
  });
}

/** The values of the terms that row `index` takes part in: as the server told them, else out of the page's formula. */
export const termValues = (b: Pick<LoadedBatch, "batch" | "formula" | "rows" | "terms">, index: number): number[] =>
  b.terms?.[index] ?? termsOf(b, b.rows[index]).map(({ value }) => value);

/** The mean of what? A phrase for the number of terms, or "" where they are not all known. */
export function countOf({ batch, formula: { over, text }, rows, seen }: LoadedBatch): string {
  const total = seen.counts.reduce((sum, count) => sum + count, 0);
  if (!over || !text || (over.compared && rows.length < total)) return "";
  const items = over.compared ? rows.flatMap((row) => over.of(batch, row)) : over.every(batch);
  return `${grouped(items.length)} ${over.noun}`;
}

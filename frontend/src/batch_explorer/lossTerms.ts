// @ts-nocheck
// The terms of a loss with the numbers of this batch, for losses that tell them; of others only distances are shown.
import { figure } from "../losses/format.ts";

/**
 * The terms that a comparison takes part in: [{value, latex, note}], `latex` being the formula, the numbers in it, and
 * what comes out. Empty for a loss that does not tell them.
 */
export function termsOf({ batch, formula: { over, term, text, note } }, row) {
  if (!text) return [];
  return over.of(batch, row).map((images) => {
    const value = term(...images);
    return { value, latex: `${text(...images)} = ${figure(value)}`, note: note?.(...images) ?? "" };
  });
}

/** The mean of what? A phrase for the number of terms, or "" where they are not all known. */
export function countOf({ batch, formula: { over, text }, rows, seen }) {
  const total = seen.counts.reduce((sum, count) => sum + count, 0);
  if (!text || (over.compared && rows.length < total)) return "";
  const items = over.compared ? rows.flatMap((row) => over.of(batch, row)) : over.every(batch);
  return `${items.length.toLocaleString("en")} ${over.noun}`;
}

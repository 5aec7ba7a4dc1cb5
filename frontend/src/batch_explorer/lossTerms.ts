// The terms of a loss with the numbers of this batch, as Python gives them. Pure: no DOM.
import type { LoadedBatch } from "./batch.ts";
import { formulasOf, sentenceOf } from "./termFormula.ts";

/** A term: what comes out, the formulas with the numbers in them, and a sentence about it. */
export interface Term {
  value: number;
  formulas: string[];
  note: string;
}

/** The terms that comparison `index` takes part in; a loss that declares no formula of a term has no `formulas`. */
export function termsOf({ terms: all }: Pick<LoadedBatch, "terms">, index: number): Term[] {
  if (!all) return [];
  return all.terms[index].map(([value, negative, ...varying]) => {
    const own = Object.fromEntries(all.symbols.map((symbol, k) => [symbol, varying[k]]));
    const numbers = { ...all.constants, ...own };
    const template = negative && all.negative_formula ? all.negative_formula : all.formula;
    const formulas = template ? formulasOf(template, numbers, value) : [];
    return { value, formulas, note: sentenceOf(all.note, numbers) };
  });
}

/** The values of the terms that comparison `index` takes part in; none until they are known. */
export const termValues = ({ terms: all }: Pick<LoadedBatch, "terms">, index: number): number[] =>
  all?.terms[index].map(([value]) => value) ?? [];

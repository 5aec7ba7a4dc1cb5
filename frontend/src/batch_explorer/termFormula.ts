// The terms of a loss, and their formulas with the numbers of a batch in them; dmlviz/catalog/parameters.py explains the
// templates. Pure: no DOM.
import { digits } from "../lib/format.ts";
import type { LoadedBatch } from "./batch.ts";

const NUMBER = /<([^<>]*?)(°?)>/g; // a symbol in angle brackets, with the unit that only its number has
const OPERATOR = /(?:[-+*/]|\\cdot)\s*$/; // a negative number after one needs brackets
const NO_NUMBER = 1e30; // what stands for infinity in Python is far beyond it

/** A number in a formula: three significant digits, no exponent unless it needs one; more digits just below 1. */
export function figure(value: number): string {
  const size = Math.abs(value);
  if (!(size < NO_NUMBER)) return value < 0 ? "-\\infty" : "\\infty";
  if (size >= 1e5 || (size > 0 && size < 1e-4)) {
    const [digits, power] = value.toExponential(1).split("e");
    return `${digits}\\cdot 10^{${Number(power)}}`;
  }
  if (Number.isInteger(value)) return String(value);
  if (size > 0.99 && size < 1) return String(Number(value.toFixed(5)));
  const text = value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : size >= 0.1 ? 2 : 4);
  return Number(text) === 0 ? "0" : text;
}

/**
 * The formulas of a template as LaTeX, each as "symbols = numbers = what comes out"; `value` is what the last one comes
 * to, the others name theirs.
 */
export function formulasOf(template: string, numbers: Record<string, number>, value: number): string[] {
  const steps = template.split(",\\quad ");
  return steps.map((step, k) => {
    if (k === steps.length - 1) return equation([withSymbols(step), withNumbers(step, numbers), figure(value)]);
    const at = step.indexOf(" = ");
    const [symbol, formula] = [step.slice(0, at), step.slice(at + 3)];
    return equation([symbol, withSymbols(formula), withNumbers(formula, numbers), figure(numbers[symbol])]);
  });
}

/** A sentence with numbers in the place of their names. */
export const sentenceOf = (template: string, numbers: Record<string, number>): string =>
  template.replace(NUMBER, (_, symbol: string, unit: string) => digits(numbers[symbol]) + unit);

const withSymbols = (formula: string): string => formula.replace(NUMBER, "$1");

function withNumbers(formula: string, numbers: Record<string, number>): string {
  return formula.replace(NUMBER, (name: string, symbol: string, unit: string, at: number) => {
    const text = figure(numbers[symbol]) + unit;
    const isBase = formula[at + name.length] === "^";
    return numbers[symbol] < 0 && (isBase || OPERATOR.test(formula.slice(0, at))) ? `(${text})` : text;
  });
}

/** The sides that differ from the one before. */
const equation = (sides: string[]): string => sides.filter((side, k) => side !== sides[k - 1]).join(" = ");

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

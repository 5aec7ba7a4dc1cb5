// @ts-nocheck
// Two runs' scores at the steps that are shown, and the words beside them. Pure: no DOM.
import { captionAt, scoresAt } from "../scores/scoreState.ts";

export const CELLS = ["both", "first", "second", "neither"];

/** The scores of two readings, row by row: {key, label, title, a, b, difference}; null where one is not known. */
export function rowsOf([a, b], [stepA, stepB]) {
  const others = scoresAt(b, stepB);
  return scoresAt(a, stepA).map(({ key, label, title, value }, i) => {
    const other = others[i].value;
    return { key, label, title, a: value, b: other, difference: value === null || other === null ? null : other - value };
  });
}

/** On which images both were measured and when; where that differs it is said of each. */
export function captionOf([a, b], [stepA, stepB]) {
  const [one, other] = [captionAt(a, stepA), captionAt(b, stepB)];
  return one === other ? `Both: ${one.charAt(0).toLowerCase()}${one.slice(1)}.` : `First: ${lower(one)}. Second: ${lower(other)}.`;
}

const lower = (text) => text.charAt(0).toLowerCase() + text.slice(1);

/** What a cell of the table holds, as the reason of a selection. */
export function reasonOf(cell, [a, b]) {
  const images = "Their nearest test image is of their own class";
  return {
    both: `${images} in both runs`,
    first: `${images} in “${a}” but not in “${b}”`,
    second: `${images} in “${b}” but not in “${a}”`,
    neither: "Their nearest test image is of another class in both runs",
  }[cell];
}

/** A difference of shares with its sign. */
export const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(3)}`;

// Two runs' scores at the steps that are shown, and the words beside them. Pure: no DOM.
import { captionAt, scoresAt, type ScoreState } from "../scores/scoreState.ts";

export interface ScoreRow {
  key: string;
  label: string;
  title: string;
  a: number | null;
  b: number | null;
  difference: number | null;
}

/** Of two runs. */
type Both<T> = readonly [T, T];

export const AGREEMENT_CELLS = ["both", "first", "second", "neither"] as const;
export type AgreementName = (typeof AGREEMENT_CELLS)[number];

/** The scores of two readings, row by row; null where one is not known. */
export function scoreRows([a, b]: Both<ScoreState>, [stepA, stepB]: Both<number | null>): ScoreRow[] {
  const others = scoresAt(b, stepB);
  const rows = scoresAt(a, stepA).map((score, i) => ({ ...score, other: others[i] }));
  return rows
    .filter(({ absent, other }) => !absent || !other.absent)
    .map(({ key, label, title, value, other: { value: second } }) => {
      return {
        key,
        label,
        title,
        a: value,
        b: second,
        difference: value === null || second === null ? null : second - value,
      };
    });
}

/** On which images both were measured and when; where that differs it is said of each. */
export function captionOf([a, b]: Both<ScoreState>, [stepA, stepB]: Both<number | null>): string {
  const [one, other] = [captionAt(a, stepA), captionAt(b, stepB)];
  return one === other
    ? `Both: ${one.charAt(0).toLowerCase()}${one.slice(1)}.`
    : `First: ${lowerFirst(one)}. Second: ${lowerFirst(other)}.`;
}

const lowerFirst = (text: string) => text.charAt(0).toLowerCase() + text.slice(1);

/** What a cell of the table holds, as the reason of a selection. */
export function agreementReason(cell: AgreementName, [a, b]: Both<string>): string {
  const images = "Their nearest test image is of their own class";
  return {
    both: `${images} in both runs`,
    first: `${images} in “${a}” but not in “${b}”`,
    second: `${images} in “${b}” but not in “${a}”`,
    neither: "Their nearest test image is of a different class in both runs",
  }[cell];
}

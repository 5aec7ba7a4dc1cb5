// Who leads by a score, and who cannot be told from the leader. Pure: no DOM.

/** The ends of an interval. */
export type Range = readonly [number, number];

const Z = 1.96; // of 95%

/** The 95% interval of a share of `n` (Wilson 1927). That of a mean of `n` values between 0 and 1 is no wider. */
export function interval(share: number, n: number): Range {
  const weight = Z ** 2 / n;
  const center = (share + weight / 2) / (1 + weight);
  const half = (Z / (1 + weight)) * Math.sqrt((share * (1 - share)) / n + weight / (4 * n));
  return [Math.max(0, center - half), Math.min(1, center + half)];
}

/** The place of each: 1 for the best and for those whose interval overlaps with its own; null where nothing is known. */
export const places = (ranges: (Range | null)[]): (number | null)[] =>
  ranges.map((own) => own && 1 + ranges.filter((other) => other && other[0] > own[1]).length);

const MOST = 4; // names in a line

/** Who leads of `all`, or who ties, without its first capital. */
export function leadersText(names: string[], all: number): string {
  if (!names.length || all < 2) return "";
  if (names.length === 1) return `leads: ${names[0]}.`;
  return `tie: ${names.length > MOST ? `${names.length} of ${all} runs` : names.join(", ")}.`;
}

/** The interval in words; "" where it has no width. */
export const rangeText = ([low, high]: Range): string =>
  low < high ? `95% interval: ${low.toFixed(3)} to ${high.toFixed(3)}` : "";

// A column of the table that points are colored by: numbers as grades on a scale, categories as groups with a legend.
import { NO_VALUE } from "../../lib/palette.ts";
import type { ColumnInfo } from "../../protocol.ts";
import { loadNumbers } from "./fetchItems.ts";
import type { Grades, Grouping } from "./model.ts";

/** Before the name of a column, where others are "class", "error", … */
export const COLUMN = "column.";

/** Fetch a column of `n` items: numbers to be graded by, or categories to be grouped by. */
export async function loadColumn(
  { name, values }: ColumnInfo,
  column_url: string,
  n: number,
): Promise<{ grades: Grades | null; grouping: Grouping | null }> {
  const url = column_url.replace("{name}", encodeURIComponent(name));
  const numbers = await loadNumbers(url, n);
  if (values) return { grades: null, grouping: groupingOf(url, values, numbers) };
  const [low, high] = middleRange(numbers);
  return { grades: { url, numbers, low, high, alarming: (share) => share }, grouping: null };
}

/** The categories with their items; those without a value are a group of their own, the last. */
export function groupingOf(url: string, values: string[], numbers: Float32Array): Grouping {
  const ids = Uint16Array.from(numbers, (number) => (Number.isFinite(number) ? number : values.length));
  return { url, names: ids.includes(values.length) ? [...values, NO_VALUE] : values, ids };
}

/** From what 1 of 100 stay below to what 99 of 100 stay below, so that single outliers do not take the whole scale. */
export function middleRange(numbers: Float32Array): [number, number] {
  const finite = numbers.filter(Number.isFinite).sort();
  if (!finite.length) return [0, 1];
  const at = (share: number) => finite[Math.round(share * (finite.length - 1))];
  const [low, high] = [at(0.01), at(0.99)];
  return low < high ? [low, high] : [low, low + 1];
}

const DAY_MS = 86_400_000;
const FEW_DAYS = 3; // within which the time of the day matters

/** A number of a column in words: four digits, or the date that it stands for. */
export function columnText({ start, low, high }: ColumnInfo, value: number): string {
  if (start === null) return String(Number(value.toPrecision(4)));
  const time = new Date(start + value * DAY_MS).toISOString();
  return (high ?? 0) - (low ?? 0) > FEW_DAYS ? time.slice(0, 10) : time.slice(0, 16).replace("T", " ");
}

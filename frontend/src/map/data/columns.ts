// What a column of the table means on the map: numbers as grades on a scale, categories as groups with a legend; few categories
// as marker shapes, which may stand for the class, too.
import { NO_VALUE } from "../../lib/palette.ts";
import type { ColumnInfo } from "../../protocol.ts";
import { loadNumbers } from "./fetchItems.ts";
import type { Grades, Grouping, Model } from "./model.ts";

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

export const NUM_SHAPES = 10; // that render/canvas.ts and render/shaders.ts draw

/** "plain", "class", or a column: "column.camera". */
export type Markers = string;

/** The columns of no more categories than there are shapes. */
export function shapeColumns(columns: ColumnInfo[]): ColumnInfo[] {
  return columns.filter(({ values }) => values && values.length <= NUM_SHAPES);
}

/** The part of a map's state about shapes. */
interface ShapeState {
  markers: Markers;
  shapeColumns: ColumnInfo[];
  model: Model;
  data: { columns_url?: string; column_url?: string };
}

/** The meaning of shapes after the next click: each choice in turn. */
export function nextMarkers({ markers, shapeColumns, data }: Omit<ShapeState, "model">): Markers {
  const columns = data.columns_url ? shapeColumns.map(({ name }) => COLUMN + name) : [];
  const choices = ["plain", "class", ...columns];
  return choices[(Math.max(0, choices.indexOf(markers)) + 1) % choices.length];
}

/** A choice in words. */
export function markersInWords(markers: Markers): string {
  if (markers === "plain") return "plain points";
  return markers === "class" ? "class" : markers.slice(COLUMN.length);
}

/** The number of each item's shape; null where all are discs. */
export function shapeIds({ markers, model }: Pick<ShapeState, "markers" | "model">): Uint16Array | null {
  if (markers === "plain") return null;
  return markers === "class" ? model.groupIds : (model.marking?.ids ?? null);
}

/** Bring the categories that shapes stand for into the model. */
export async function loadMarking(state: ShapeState): Promise<void> {
  const { model, markers, data } = state;
  const column = state.shapeColumns.find(({ name }) => COLUMN + name === markers);
  if (!column || !data.column_url) {
    model.marking = null;
    return;
  }
  const { grouping } = await loadColumn(column, data.column_url, model.n);
  if (grouping && grouping.names.length > NUM_SHAPES)
    throw new Error(
      `there are ${NUM_SHAPES} marker shapes; ${column.name} has ${NUM_SHAPES} values and images without one`,
    );
  if (state.markers === markers) model.marking = grouping;
}

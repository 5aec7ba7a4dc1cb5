// Meaning of marker shapes: none, the class, or the value of a column that has few, such as the camera.
import type { ColumnInfo } from "../../protocol.ts";
import { COLUMN, loadColumn } from "./columnColors.ts";
import type { Model } from "./model.ts";

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

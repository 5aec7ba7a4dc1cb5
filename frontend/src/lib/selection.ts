// The selection on the map. Pure: no DOM.
import type { SpriteSheets } from "../protocol.ts";

export interface Selection {
  run: string;
  /** Ascending item indices. */
  items: number[];
  /** Class index of each item. */
  labels: ArrayLike<number>;
  /** Names. */
  classes: string[];
  /** A byte an item: whether the frame has it. */
  present?: Uint8Array;
  sprites: SpriteSheets | null;
  /** The reason given by the selecting component; null for a lasso. */
  reason: string | null;
  /** That of the frame. */
  step: number | null;
}

export interface ClassGroup {
  label: number;
  name: string;
  items: number[];
  /** All items of that class. */
  of: number;
}

/** The items of a selection by class, most first. */
export function groupByClass({
  items,
  labels,
  classes,
  present,
}: Pick<Selection, "items" | "labels" | "classes" | "present">): ClassGroup[] {
  const groups = classes.map((name, label): ClassGroup => ({ label, name, items: [], of: 0 }));
  for (const item of items) groups[labels[item]].items.push(item);
  for (let item = 0; item < labels.length; item++) groups[labels[item]].of += present?.[item] ?? 1;
  return groups
    .filter((group) => group.items.length)
    .sort((a, b) => b.items.length - a.items.length || a.label - b.label);
}

/** A cell that a spreadsheet does not calculate, as `safe_cell` in dmlviz/storage/csv_table.py. */
const safeCell = (text: string): string =>
  /^[=+\-@\t\r\n]/.test(text) && !/^[+-]?\d+(\.\d*)?([eE][+-]?\d+)?$/.test(text) ? `'${text}` : text;

/** A selection as CSV: a row an item with its class's number and name. */
export function csvOf({ items, labels, classes }: Pick<Selection, "items" | "labels" | "classes">): string {
  const quote = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const rows = [...items].map((item) => `${item},${labels[item]},${quote(safeCell(classes[labels[item]]))}`);
  return ["item,label,class", ...rows, ""].join("\n");
}

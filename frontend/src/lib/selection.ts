// @ts-nocheck
// What is selected on the map, for the parts of the page beside it; a part that comes later finds it here.
import { bus, page } from "./bus.ts";

/**
 * Tell what is selected: {run, items (rising), classes (names), labels (a class an item), present (a byte an item: whether
 * the frame has it), sprites, reason, step}, `reason` being the words of whoever selected (null for a lasso), `step` that
 * of the frame; null when nothing is selected.
 */
export function tellSelection(selection) {
  page.selection = selection;
  bus.emit("selection", selection);
}

/** Hear what is selected now and from now on; returns the way out. */
export function onSelection(listener) {
  const leave = bus.on("selection", listener);
  if (page.selection) listener(page.selection);
  return leave;
}

/** The items of a selection by class, most first: [{label, name, items, of}], `of` being all items of that class. */
export function byClass({ items, labels, classes, present }) {
  const groups = classes.map((name, label) => ({ label, name, items: [], of: 0 }));
  for (const item of items) groups[labels[item]].items.push(item);
  labels.forEach((label, item) => (groups[label].of += present?.[item] ?? 1));
  return groups.filter((group) => group.items.length).sort((a, b) => b.items.length - a.items.length || a.label - b.label);
}

/** A selection as CSV: a row an item with its class's number and name. */
export function csvOf({ items, labels, classes }) {
  const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const rows = [...items].map((item) => `${item},${labels[item]},${quoted(classes[labels[item]])}`);
  return ["item,label,class", ...rows, ""].join("\n");
}

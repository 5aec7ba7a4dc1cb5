// What is selected on the map, for the parts of the page beside it; a part that comes later finds it here.
import { bus, shared } from "./bus.ts";
import type { Selection } from "./selection.ts";

/** Tell what is selected; null when nothing is. */
export function publishSelection(selection: Selection | null): void {
  shared.selection = selection;
  bus.emit("selection", selection);
}

/** Hear what is selected now and from now on; returns the way out. */
export function onSelection(listener: (selection: Selection | null) => void): () => void {
  const leave = bus.on("selection", listener);
  if (shared.selection) listener(shared.selection);
  return leave;
}

// The map in words, for screen readers.
import { h } from "../../lib/dom.ts";
import { counted, grouped } from "../../lib/format.ts";
import type { Model } from "../data/model.ts";
import type { Entry, Timeline } from "../data/timeline.ts";

const DEBOUNCE_MS = 900; // milliseconds between two announcements; the last one wins

export const HELP =
  "Arrow keys move from point to point, O opens an outline of classes, points and neighbors, Escape clears, Space plays, Home fits the map, plus and minus zoom, " +
  "comma and period step through the frames, L and B select with a lasso or a box, Q asks what lies where one clicks, " +
  "T shows trails, D contours of where points are dense, P thumbnails wherever there is room, X the selected points " +
  "alone, I adds the training set, then shows them alone, Control Z undoes a choice, F fills the screen.";

/** One sentence on what the map shows. */
export function summary({
  model,
  present,
  timeline,
  entry,
}: {
  model: Model;
  present: number;
  timeline: Pick<Timeline, "noun" | "total">;
  entry: Entry | null;
}): string {
  const parts = [`Map of ${counted(present, model.noun)} in ${model.usedClasses} classes`];
  // A method without iterations has one frame.
  if (entry && (timeline.noun === "step" || timeline.total)) parts.push(`${timeline.noun} ${grouped(entry.step)}`);
  if (model.hidden.size) parts.push(`${model.hidden.size} classes hidden`);
  if (model.selected) parts.push(`${grouped(model.selected.reduce((a, b) => a + b, 0))} selected`);
  return `${parts.join(", ")}.`;
}

/** One sentence on the pinned item. */
export function pinSummary(model: Model): string {
  if (model.pinned === null) return "";
  const names = model.neighbors.map(({ item }) => model.classes[model.labels[item]]);
  const near = names.length ? `; nearest neighbors: ${names.join(", ")}` : "";
  return `Pinned ${model.noun} ${model.pinned}, class ${model.classes[model.labels[model.pinned]]}${near}.`;
}

export class Announcer {
  readonly node = h("div", { class: "spoken", "aria-live": "polite", role: "status" });
  private timer: ReturnType<typeof setTimeout> | undefined;
  private next = "";

  say(text: string): void {
    this.next = text;
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      if (this.node.textContent !== this.next) this.node.textContent = this.next;
    }, DEBOUNCE_MS);
  }

  destroy(): void {
    clearTimeout(this.timer);
  }
}

// The map in words: what is shown, and why nothing is, on the stage; and what screen readers say.
import { h } from "../../lib/dom.ts";
import { counted, grouped } from "../../lib/format.ts";
import type { Model } from "../data/model.ts";
import type { MapState } from "../data/state.ts";
import { framesOf, isOpen, type Entry, type Timeline } from "../data/timeline.ts";
import { MIN_POINTS } from "../math/contours.ts";
import type { PlacedFrame } from "../math/tween.ts";

const GONE =
  "This run was deleted. Its last layout stays here: press Train for a new run, or choose another one under Runs.";
const CONTOURS: Record<string, string> = {
  moving: "contours appear when the points stand still",
  "few points": `contours need ${MIN_POINTS} points of a class`,
  "one spot": "no contours: all points lie on one spot",
};

/**
 * [caption at the edge, note in the middle] where `visible` points of a frame are to be seen; `unplaced`: why no training
 * images; `note`: what is to be known of the frame.
 */
export function statusOf(
  { data, subset, model, images, trained, contours, astray, trouble, queued }: MapState,
  timeline: Timeline,
  frame: PlacedFrame | null,
  visible: number,
  unplaced: string,
  note = "",
): [string, string] {
  if (!frame && isGone(data, timeline)) return ["", ""];
  if (!frame) return ["", (timeline.state !== "failed" && trouble) || (model.n ? waiting(timeline) : "No points")];
  const parts: string[] = [];
  const { count } = frame;
  const all = count < model.n ? `${grouped(visible)} of ${counted(model.n, model.noun)}` : counted(visible, model.noun);
  parts.push(visible < count ? `${grouped(visible)} of ${grouped(count)} shown` : all);
  if (frame.outside) parts.push(`${grouped(frame.outside)} too far away for this map, drawn at its edge`);
  if (subset) parts.push("projected alone");
  if (model.isolated) parts.push("X or the button shows all again");
  if (images === "train") parts[0] += ", faint";
  if (trained) parts.push(`rings: ${grouped(trained)} of the training set`);
  else if (images !== "test" && unplaced) parts.push(unplaced);
  if (contours in CONTOURS) parts.push(CONTOURS[contours]);
  if (frame.xyz) parts.push("drag to rotate");
  const missing = model.neighbors.filter(({ item }) => !frame.present[item]).length;
  if (model.pinned !== null && !frame.present[model.pinned])
    parts.push(`${model.noun} ${model.pinned} is not in this frame`);
  else if (missing) parts.push(`${missing} of ${model.neighbors.length} neighbors are not in this frame`);
  const first = framesOf(timeline)[0]?.step ?? 0;
  if (timeline.follows && first > 0) parts.push(`layouts from step ${grouped(first)} on`);
  const [from, to] = timeline.hole ?? [];
  if (from !== undefined && to !== undefined)
    parts.push(`no layouts${isOpen(timeline) ? " yet" : ""} between steps ${grouped(from)} and ${grouped(to)}`);
  for (const words of [note, timeline.phase, queued]) if (words) parts.push(words);
  if (timeline.state === "failed") parts.push("failed");
  else if (timeline.state === "interrupted") parts.push("cut off: what was drawn stays");
  else if (timeline.follows && timeline.state === "stopped" && timeline.reason !== "paused")
    parts.push(timeline.reason);
  if (timeline.connection === "retrying") parts.push("connection lost, reconnecting …");
  return [parts.join(" · "), astray ? "No points here: Home or a double-click shows all" : ""];
}

const LOST = 0.1; // share of neighbors below which a layout shows next to nothing

/** Sentences that stand on a map until their cause is gone: what was refused, what failed, that it shows nothing. */
export function noticesOf(
  { data, pid, trouble }: MapState,
  { state, reason, follows, kept }: Timeline,
  shown: Entry | null = null,
): string[] {
  if (isGone(data, { state })) return [GONE]; // whatever else cannot be had now
  const said = [...(data.notices ?? []), ...(trouble ? [trouble] : [])];
  const { neighbors_kept: share = 1, k = 10 } = shown?.faithfulness ?? (shown?.provisional ? {} : (kept ?? {}));
  if (data.settings?.length && typeof share === "number" && share < LOST)
    said.push(
      `Only ${(share * (k ?? 10)).toFixed(1)} of ${k} neighbors survive: this map shows next to nothing of the embedding. Other ` +
        "settings under View, less attraction before all, keep more.",
    );
  // Why a run failed stands above the map in the app.
  if (state !== "failed" || !(pid || !document.querySelector(".stApp"))) return said;
  return [...said, follows ? `${reason} The last layout stays; Draw, under Parameters, goes on from there.` : reason];
}

const isGone = ({ gone }: MapState["data"], { state }: Pick<Timeline, "state">) => gone || state === "unknown";

function waiting(timeline: Timeline): string {
  if (timeline.state === "failed") return `${timeline.reason || "The run failed."} It ended before its first map.`;
  if (timeline.queue) {
    return timeline.queue.phase === "queued" ? "Not begun yet" : "Starting a worker …";
  }
  if (timeline.connection === "retrying") return "Connection lost, reconnecting …";
  if (framesOf(timeline).length) return "Loading …";
  switch (timeline.state) {
    case "waiting":
      return "Waiting for an answer …";
    case "running":
      return timeline.phase || `Waiting for the first ${timeline.follows ? "step of the training" : "frame"} …`;
    case "stopped":
      return "Stopped before its first map.";
    default:
      return "It ended before its first map.";
  }
}

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

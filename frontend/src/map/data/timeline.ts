// The frames, the progress and the end of a run or a projection, from its events.

import type { EndedEvent, FailedEvent, Faithfulness, FrameMeta, ProjectionEndedEvent } from "../../protocol.ts";
import type { StreamEvent } from "../../lib/eventStream.ts";

const FINAL_STATES = ["finished", "stopped", "failed"];

/** A frame of the timeline. */
export interface Entry {
  step: number;
  frame: FrameMeta;
  centers?: number[][];
  /** Corners of a grid of the plane as the net bends it, row by row. */
  grid?: number[][];
  explained?: number[] | null;
  faithfulness?: Faithfulness | null;
  /** Until its end the units of a layout are its own, and nothing else has a place in it. */
  provisional?: boolean;
  /** On a basis of its own. */
  own?: boolean;
  /** What is to be known of it, in a sentence. */
  note?: string;
}

/** An alarm, from a step on; `until` null: to the end. */
export interface Alarm {
  alarm: string;
  from: number;
  until: number | null;
  sentence: string;
  remedies: string[];
}

export interface Timeline {
  /** The unit of progress: steps of a training, iterations of a projection. */
  noun: "step" | "iteration";
  /** Total number of these units. */
  total: number | null;
  current: number;
  /** Frames as they came, each on its own basis. */
  live: Entry[];
  /** Quality of the last picture, and its share of the variance. */
  kept: Faithfulness | null;
  explained: number[] | null;
  /** At the end: the same steps on the last epoch's basis. */
  replay: Entry[] | null;
  /** At the end: each step on its own basis, turned to the one before. */
  refitted: Entry[] | null;
  /** The one of the two that is shown. */
  refit: boolean;
  /** Live view of a run: "plane", "fan", "pca"; or the method of a map that follows its training. */
  view: string | null;
  /** True if each layout goes on from the one before, so that places can be compared. */
  follows: boolean;
  /** The step after which it stopped following for a while, and the first layout after that. */
  hole: [number, number] | null;
  /** Its last layout when it went on, until the next has come. */
  resumedAt: number | null;
  /** What a projection does now that has no layout to show, in words. */
  phase: string;
  alarms: Alarm[];
  /** While waiting. */
  queue: { phase: string; position: number | null; of: number | null } | null;
  state: string;
  reason: string;
  ended: boolean;
  connection: "open" | "retrying";
}

/** The timeline before the first event. */
export const emptyTimeline = (): Timeline => ({
  noun: "step",
  total: null,
  current: 0,
  live: [],
  kept: null,
  explained: null,
  replay: null,
  refitted: null,
  refit: false,
  view: null,
  follows: false,
  hole: null,
  resumedAt: null,
  phase: "",
  alarms: [],
  queue: null,
  state: "waiting",
  reason: "",
  ended: false,
  connection: "open",
});

/** Take one event in (in place) and say what it changed: "frames", "replay", "state" or null. */
export function reduceEvent(timeline: Timeline, event: StreamEvent): "frames" | "replay" | "state" | null {
  switch (event.event) {
    case "begun":
      Object.assign(timeline, emptyTimeline());
      return "state";
    case "queue":
      timeline.queue = { phase: event.phase ?? "queued", position: event.position, of: event.of };
      return "state";
    case "connection":
      timeline.connection = event.state;
      return "state";
    case "started":
      timeline.state = "running";
      timeline.queue = null;
      timeline.follows = "training_steps" in event;
      timeline.resumedAt = timeline.live.at(-1)?.step ?? null;
      timeline.noun = "steps" in event || timeline.follows ? "step" : "iteration";
      timeline.total = ("steps" in event ? event.steps : (event.training_steps ?? event.iterations)) ?? null;
      timeline.view = ("view" in event ? event.view : "method" in event ? event.method : null) ?? null;
      return "state";
    case "phase":
      timeline.phase = event.words;
      return "state";
    case "step":
      timeline.current = event.step;
      return "state";
    case "snapshot":
      timeline.current = Math.max(timeline.current, event.step);
      timeline.live.push({ step: event.step, frame: event.frame, centers: event.centers, grid: event.grid });
      return "frames";
    case "frame":
      timeline.current = event.iteration;
      timeline.total = event.of ?? timeline.total;
      timeline.phase = "";
      putLayout(timeline, {
        step: event.step ?? event.iteration,
        frame: event.frame,
        provisional: true,
        faithfulness: event.faithfulness,
        note: event.note,
      });
      return "frames";
    case "alarm":
      timeline.alarms.push({
        alarm: event.alarm,
        from: event.step,
        until: null,
        sentence: event.sentence,
        remedies: event.remedies,
      });
      return "state";
    case "alarm_over":
      for (const one of timeline.alarms) if (one.alarm === event.alarm) one.until ??= event.step;
      return "state";
    case "replay":
      timeline.replay = event.frames.map(({ step, explained, faithfulness, centers, grid, note, ...frame }, i) => ({
        step,
        frame,
        explained,
        faithfulness,
        centers,
        grid,
        note,
        provisional: timeline.follows && i < event.frames.length - 1,
      }));
      // Of a map that is not linear the layouts are those that came, and what was left out between them.
      timeline.refitted = timeline.follows && event.view !== "pca" ? null : refitted(timeline.live, timeline.replay);
      if (timeline.hole && timeline.replay.some(({ step }) => isBetween(step, timeline.hole))) timeline.hole = null;
      Object.assign(timeline, { kept: event.faithfulness ?? null, explained: event.explained ?? null });
      return "replay";
    case "finished":
    case "stopped":
    case "failed":
      return finish(timeline, event);
    case "end":
      timeline.ended = true;
      if (!FINAL_STATES.includes(timeline.state)) timeline.state = event.state ?? "finished";
      return "state";
    default:
      return null;
  }
}

// A map that follows a training goes on with a snapshot until there is a newer one: its last layout is that of the step.
function putLayout(timeline: Timeline, layout: Entry): void {
  const { live, follows, resumedAt } = timeline;
  if (follows && live.at(-1)?.step === layout.step) live.pop();
  if (follows && resumedAt !== null && layout.step > resumedAt) {
    const steps = live.map(({ step }) => step);
    if (layout.step - resumedAt > 2 * (resumedAt - (steps.at(-2) ?? 0))) timeline.hole = [resumedAt, layout.step];
    timeline.resumedAt = null;
  }
  live.push(layout);
}

const isBetween = (step: number, hole: [number, number] | null) => hole !== null && hole[0] < step && step < hole[1];

// The frames that came while the run was on, each drawn on its own basis, and the end, which was turned to the last of them.
function refitted(live: Entry[], replay: Entry[]): Entry[] | null {
  const end = replay.at(-1);
  return end ? [...live.filter(({ step }) => step < end.step).map((entry) => ({ ...entry, own: true })), end] : null;
}

function finish(timeline: Timeline, event: EndedEvent | ProjectionEndedEvent | FailedEvent): "frames" | "state" {
  timeline.state = event.event;
  timeline.reason = event.reason ?? "";
  timeline.queue = null;
  timeline.phase = "";
  if ("faithfulness" in event) timeline.kept = event.faithfulness ?? timeline.kept;
  if ("explained" in event) timeline.explained = event.explained ?? timeline.explained;
  if (!("frame" in event) || !event.frame) return "state";
  // The last frame of a projection; some methods give no other.
  const last = timeline.live.at(-1);
  const provisional = event.event !== "finished";
  const note = "note" in event ? event.note : undefined;
  if (last?.frame.id === event.frame.id) Object.assign(last, { provisional, note: note ?? last.note });
  else {
    timeline.live.push({
      step: event.iteration ?? timeline.total ?? (last ? last.step + 1 : 1),
      frame: event.frame,
      provisional,
      note,
    });
  }
  return "frames";
}

/** The frames to play: all on one basis when there are such (or each on its own, if that is asked), otherwise as they came. */
export const framesOf = ({ refit, refitted, replay, live }: Timeline): Entry[] =>
  (refit ? refitted : null) ?? replay ?? live;

/** True if there are two ways to play: in the plane each frame's own basis is the space itself. */
export const canRefit = ({ refitted, view }: Timeline): boolean => refitted !== null && view !== "plane";

/** True if all frames share one basis, so that a line through an item's places is the way it went. */
export const isCommon = (timeline: Timeline): boolean =>
  timeline.noun === "step" &&
  (timeline.view === "plane" || (timeline.replay ? !timeline.refit : timeline.follows && timeline.view !== "pca"));

/** Why training images have no place on a frame; "" where they have one: on a common basis, or on a projection's end. */
export function unplaced(timeline: Timeline, { provisional = false }: Pick<Entry, "provisional">): string {
  if (timeline.follows ? !provisional : isCommon(timeline) || (timeline.noun === "iteration" && !provisional))
    return "";
  if (timeline.refit) return "the training set is not placed on refitted frames";
  return timeline.noun === "step"
    ? "the training set appears when the training is finished"
    : "the training set appears on the last frame";
}

/** The place between frames that belongs to a step: an index with its fraction. */
export function positionOfStep(timeline: Timeline, step: number): number {
  const frames = framesOf(timeline);
  const low = indexOfStep(timeline, step);
  const apart = (frames[low + 1]?.step ?? 0) - frames[low]?.step;
  return apart > 0 ? low + Math.max(0, step - frames[low].step) / apart : low;
}

/** The alarm to show at a step: of those that are on, the one that came first. */
export const alarmAt = ({ alarms }: Timeline, step: number): Alarm | null =>
  alarms.find(({ from, until }) => step >= from && (until === null || step < until)) ?? null;

/** True if more frames may come. */
export const isOpen = (timeline: Timeline): boolean => !timeline.ended && !FINAL_STATES.includes(timeline.state);

/** Position of frame `index` on the scrubber, 0 to 1, steps in proportion. */
export function placeOf(timeline: Timeline, index: number): number {
  const frames = framesOf(timeline);
  return frames.length ? placeOfStep(timeline, frames[Math.min(index, frames.length - 1)].step) : 0;
}

/** Position of a step on the scrubber. */
export function placeOfStep(timeline: Timeline, step: number): number {
  const end = Math.max(framesOf(timeline).at(-1)?.step ?? 0, 1);
  return step / (isOpen(timeline) ? Math.max(timeline.total ?? 0, end) : end);
}

/** The step at a place on the scrubber, 0 to 1; between frames too. */
export function stepAt(timeline: Timeline, share: number): number {
  const last = framesOf(timeline).at(-1)?.step ?? 0;
  return share * Math.max(isOpen(timeline) ? (timeline.total ?? 0) : 0, last, 1);
}

/** The frame nearest to a place on the scrubber. */
export function indexAt(timeline: Timeline, share: number): number {
  let best = 0;
  framesOf(timeline).forEach((_, i) => {
    if (Math.abs(placeOf(timeline, i) - share) < Math.abs(placeOf(timeline, best) - share)) best = i;
  });
  return best;
}

/** The frame of a step: the last one not after it. */
export function indexOfStep(timeline: Timeline, step: number): number {
  return Math.max(
    0,
    framesOf(timeline).findLastIndex((entry) => entry.step <= step),
  );
}

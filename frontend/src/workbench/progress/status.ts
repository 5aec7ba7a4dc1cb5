// How a run or a projection stands, as a sentence, a share and a time left. Pure: no DOM.
import type { PreparingEvent, ProgressProps } from "../../protocol.ts";
import type { StreamEvent } from "../../lib/eventStream.ts";
import { isLive } from "../../lib/server.ts";
import { counted as numbered, grouped, sentence } from "../../lib/format.ts";

const WINDOW_S = 6; // seconds over which the speed is measured
const MIN_SAMPLE_S = 1.5; // seconds to measure before an estimate is shown

/** Status of a run or a projection. */
export interface Status {
  phase: string;
  /** In the queue. */
  position: number | null;
  of: number | null;
  reason: string;
  /** The machine of the fleet that trains it; empty for the server's own. */
  machine: string;
  /** The machine whose loss made the run begin again. */
  lost: string;
  noun: "step" | "iteration";
  /** True for a map that follows a training: its steps are that one's, until it settles. */
  follows: boolean;
  done: number;
  total: number | null;
  /** True while a stopped training scores the test images. */
  scoring: boolean;
  /** The data set that is downloaded. */
  fetching: PreparingEvent | null;
  /** Current activity of a library that shows no positions. */
  words: string;
  seconds: number | null;
  /** [time, done] of the last few seconds. */
  marks: [number, number][];
  loss: number | null;
  connection: "open" | "retrying";
  /** What it waits for in the queue, in words. */
  waitsFor: string;
}

/** Before the first event: what the server knew when the page was made. */
export const initialStatus = ({
  phase = "unknown",
  position = null,
  of = null,
  reason = "",
  machine = "",
  lost = "",
}: Partial<Pick<ProgressProps, "phase" | "position" | "of" | "reason" | "machine" | "lost">> = {}): Status => ({
  phase,
  position,
  of,
  reason,
  machine,
  lost,
  noun: "step",
  follows: false,
  done: 0,
  total: null,
  scoring: false,
  fetching: null,
  words: "",
  seconds: null,
  marks: [],
  loss: null,
  connection: "open",
  waitsFor: "",
});

/** Take one event in, in place; says whether anything shown may have changed. */
export function reduceStatus(standing: Status, event: StreamEvent): boolean {
  switch (event.event) {
    case "queue":
      Object.assign(standing, { phase: event.phase ?? "queued", position: event.position, of: event.of });
      return true;
    case "machine":
      Object.assign(standing, { machine: event.machine, lost: event.lost });
      return true;
    case "connection":
      standing.connection = event.state;
      return true;
    case "preparing":
      Object.assign(standing, { phase: "running", fetching: event });
      return true;
    case "started":
      Object.assign(standing, {
        phase: "running",
        fetching: null,
        words: "",
        done: ("iteration" in event && event.iteration) || 0,
        reason: "",
        marks: [],
        loss: null,
        scoring: false,
      });
      standing.follows = "training_steps" in event;
      standing.noun = "steps" in event || standing.follows ? "step" : "iteration";
      standing.total = ("steps" in event ? event.steps : (event.training_steps ?? event.iterations)) ?? null;
      recordRate(standing, event);
      return true;
    case "step":
      Object.assign(standing, { done: event.step, loss: event.loss });
      recordRate(standing, event);
      return true;
    case "frame":
      Object.assign(standing, { done: event.iteration, total: event.of ?? standing.total, words: "" });
      recordRate(standing, event);
      return true;
    case "phase": // a library at work, which shows no positions
      if (standing.words !== event.words) standing.marks = []; // each work has its own speed
      Object.assign(standing, { done: event.iteration, total: event.of, words: event.words });
      standing.noun = event.step === undefined ? "iteration" : "step";
      if (event.iteration) recordRate(standing, event);
      return true;
    case "stopping":
      Object.assign(standing, { phase: "stopping", done: event.step, scoring: true });
      return true;
    case "snapshot":
      standing.done = Math.max(standing.done, event.step);
      return true;
    case "finished":
    case "stopped":
    case "failed":
      Object.assign(standing, { phase: event.event, reason: event.reason ?? "", fetching: null });
      standing.seconds = ("seconds" in event && event.seconds) || null;
      if (standing.follows) standing.noun = "step";
      standing.done =
        (standing.noun === "step" ? event.step : null) ??
        ("iteration" in event ? event.iteration : null) ??
        (event.event === "finished" ? standing.total : null) ??
        standing.done;
      return true;
    case "end":
      if (isOver(standing) || !event.state) return false;
      standing.phase = event.state === "unknown" ? "gone" : event.state; // nobody has it any more: it does not go on
      return true;
    default:
      return false;
  }
}

function recordRate(standing: Status, { time }: { time?: number }): void {
  if (time === undefined || !Number.isFinite(time)) return;
  standing.marks.push([time, standing.done]);
  while (standing.marks.length > 2 && standing.marks[1][0] < time - WINDOW_S) standing.marks.shift();
}

/** True after any kind of end. */
export const isOver = ({ phase }: Pick<Status, "phase">): boolean => phase !== "unknown" && !isLive(phase);

/** Share that is done, 0 to 1; null if unknown. */
export function shareOf({ phase, done, total, fetching, words }: Status): number | null {
  if (fetching) return fetching.total ? fetching.done / fetching.total : null;
  if (phase === "finished") return 1;
  return total && (done || !words) ? Math.min(1, done / total) : null;
}

/** Seconds left at the speed of the last few seconds; null while unknown. */
export function secondsLeft({ phase, marks, total, done, fetching, scoring }: Status): number | null {
  const newest = marks.at(-1);
  if (isOver({ phase }) || fetching || scoring || !total || !newest || marks.length < 2) return null;
  const [[from, first], [to, last]] = [marks[0], newest];
  return last > first && to - from >= MIN_SAMPLE_S ? ((total - done) * (to - from)) / (last - first) : null;
}

/** A time in words that do not twitch: 3 s, 1 min 20 s, 2 h 5 min. */
export function timeOf(seconds: number): string {
  const whole = Math.max(0, Math.ceil(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min${whole % 60 ? ` ${whole % 60} s` : ""}`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

/** The status in words, beginning with `title`. */
export function statusText(standing: Status, title = ""): string {
  const { phase, reason, noun, done, total, fetching, words, loss, connection } = standing;
  const amount = `${noun} ${grouped(done)}${total ? ` of ${grouped(total)}` : ""}`;
  if (connection === "retrying" && !isOver({ phase })) return "Connection lost, reconnecting …";
  if (fetching) return `Downloading ${fetching.dataset}: ${size(fetching.done)} of ${size(fetching.total)}`;
  switch (phase) {
    case "queued":
      return [queueText(standing), standing.lost].filter(Boolean).join(" · ");
    case "starting":
      return `Starting …${placeText(standing)}`;
    case "stopping":
      if (standing.scoring) return `Stopped at ${noun} ${grouped(done)}; scoring the test set …`;
      return noun === "iteration" ? "Stopping …" : "Stopping after this batch …";
    case "running":
      if (noun === "step" && total && done >= total) return "Final evaluation on the whole test set …";
      if (noun === "iteration" && total && done >= total - 1) return "Measuring map quality …";
      if (words) return done ? `${words}: ${amount}` : words;
      if (noun === "iteration" && !done) return "Finding neighbors";
      return `${sentence(amount)}${loss === null || loss === undefined ? "" : `, loss ${Number(loss).toPrecision(3)}`}${placeText(standing)}`;
    case "finished":
      return `${title ? `${title}: ` : ""}${elapsedText(standing)}`;
    case "stopped":
      if (noun === "iteration") return `Paused at ${amount}`;
      return `Stopped at ${noun} ${grouped(done)}${reason ? `: ${reason}` : ""}`;
    case "failed":
      return reason || "Failed (no details).";
    case "interrupted":
      return reason || "Interrupted; showing the results saved so far.";
    case "gone":
      return "This run was deleted";
    default:
      return "";
  }
}

// What a waiting job waits for, and how many wait before it.
function queueText({ position, waitsFor }: Status): string {
  const before = (position ?? 1) - 1;
  if (!waitsFor) return before ? `Waits for ${numbered(before, "job")} before it` : "Waits for its turn";
  return `Waits for ${waitsFor}${before ? ` and ${grouped(before)} more` : ""}`;
}

function elapsedText({ noun, done, total, seconds, machine }: Status): string {
  const all = done || total;
  const number = noun === "iteration" && all === 1 ? 0 : all; // a map that is drawn at once has no iterations
  const place = machine ? `on ${machine}` : "";
  return [number ? numbered(number, noun) : "done", seconds ? `in ${timeOf(seconds)}` : "", place]
    .filter(Boolean)
    .join(" ");
}

// On which machine of the fleet, and after which was lost.
function placeText({ machine, lost }: Status): string {
  const place = machine ? `on ${machine}` : "";
  return lost ? ` · ${lost} Begun again${place && ` ${place}`}.` : place && ` · ${place}`;
}

const size = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;

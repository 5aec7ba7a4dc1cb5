// @ts-nocheck
// How a run or a projection stands, as a sentence, a share and a time left. Pure: no DOM.

const OVER = new Set(["finished", "stopped", "failed", "cut off"]);
const WINDOW = 6; // seconds over which the speed is measured
const ENOUGH = 1.5; // seconds that must be measured before a time left is told

/** Before the first event; `phase`, `position`, `of` and `reason` are what the server knew when the page was made. */
export const standingOf = ({ phase = "unknown", position = null, of = null, reason = "" } = {}) => ({
  phase, position, of, reason,
  noun: "step", done: 0, total: null, fetching: null, seconds: null, marks: [], loss: null,
  connection: "open",
});

/** Take one event in, in place; says whether anything shown may have changed. */
export function takeStanding(standing, event) {
  switch (event.event) {
    case "queue":
      Object.assign(standing, { phase: event.phase ?? "queued", position: event.position, of: event.of });
      return true;
    case "connection":
      standing.connection = event.state;
      return true;
    case "preparing":
      Object.assign(standing, { phase: "running", fetching: event });
      return true;
    case "started":
      Object.assign(standing, { phase: "running", fetching: null, done: event.iteration ?? 0, reason: "", marks: [], loss: null });
      standing.noun = event.steps === undefined ? "iteration" : "step";
      standing.total = event.steps ?? event.iterations ?? null;
      mark(standing, event);
      return true;
    case "step":
      Object.assign(standing, { done: event.step, loss: event.loss });
      mark(standing, event);
      return true;
    case "frame":
      Object.assign(standing, { done: event.iteration, total: event.of ?? standing.total });
      mark(standing, event);
      return true;
    case "snapshot":
      standing.done = Math.max(standing.done, event.step);
      return true;
    case "finished":
    case "stopped":
    case "failed":
      Object.assign(standing, { phase: event.event, reason: event.reason ?? "", fetching: null });
      standing.seconds = event.seconds ?? null;
      standing.done = (standing.noun === "iteration" ? event.iteration : event.step) ?? (event.event === "finished" ? standing.total : null) ?? standing.done;
      return true;
    case "end":
      if (OVER.has(standing.phase) || !event.state) return false;
      standing.phase = event.state;
      return true;
    default:
      return false;
  }
}

function mark(standing, { time }) {
  if (!Number.isFinite(time)) return;
  standing.marks.push([time, standing.done]);
  while (standing.marks.length > 2 && standing.marks[1][0] < time - WINDOW) standing.marks.shift();
}

/** Whether it is over, one way or another. */
export const isOver = ({ phase }) => OVER.has(phase);

/** How much is done, 0 to 1; null when that cannot be known. */
export function shareOf({ phase, done, total, fetching }) {
  if (fetching) return fetching.total ? fetching.done / fetching.total : null;
  if (phase === "finished") return 1;
  return total ? Math.min(1, done / total) : null;
}

/** Seconds left at the speed of the last few seconds; null while that cannot be told. */
export function secondsLeft({ phase, marks, total, done, fetching }) {
  if (OVER.has(phase) || fetching || !total || marks.length < 2) return null;
  const [[from, first], [to, last]] = [marks[0], marks.at(-1)];
  return last > first && to - from >= ENOUGH ? ((total - done) * (to - from)) / (last - first) : null;
}

/** A time in words that do not twitch: 3 s, 1 min 20 s, 2 h 5 min. */
export function timeOf(seconds) {
  const whole = Math.max(0, Math.ceil(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min${whole % 60 ? ` ${whole % 60} s` : ""}`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

/** What is told in words; `title` names what is shown. */
export function sentenceOf(standing, title = "") {
  const { phase, position, of, reason, noun, done, total, fetching, loss, connection } = standing;
  const counted = `${noun} ${count(done)}${total ? ` of ${count(total)}` : ""}`;
  if (connection === "retrying" && !OVER.has(phase)) return "The connection is gone; trying again";
  if (fetching) return `Fetching ${fetching.dataset}: ${size(fetching.done)} of ${size(fetching.total)}`;
  switch (phase) {
    case "queued":
      return position === null ? "Waiting" : `Waiting: number ${position} of ${of} in the queue`;
    case "starting":
      return "Getting ready";
    case "stopping":
      return noun === "iteration" ? "Stopping" : "Stopping after this batch";
    case "running":
      if (noun === "step" && total && done >= total) return "Embedding and scoring all test images";
      if (noun === "iteration" && total && done >= total - 1) return "Measuring what the picture keeps";
      if (noun === "iteration" && !done) return "Finding neighbours";
      return `${capital(counted)}${loss === null || loss === undefined ? "" : `, loss ${Number(loss).toPrecision(3)}`}`;
    case "finished":
      return `${title ? `${title}: ` : ""}${worked(standing)}`;
    case "stopped":
      if (noun === "iteration") return `Paused at ${counted}`;
      return `Stopped at ${noun} ${count(done)}${reason ? `: ${reason}` : ""}`;
    case "failed":
      return reason || "It failed, and left no word why.";
    case "cut off":
      return reason || "It was cut off before its end; what is here was saved until then.";
    default:
      return "";
  }
}

function worked({ noun, done, total, seconds }) {
  const number = done || total;
  return [number ? `${count(number)} ${noun}s` : "done", seconds ? `in ${timeOf(seconds)}` : ""].filter(Boolean).join(" ");
}

const capital = (text) => text[0].toUpperCase() + text.slice(1);
const count = (n) => n.toLocaleString("en");
const size = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;

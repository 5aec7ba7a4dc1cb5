// One line above the map: how the run or projection stands, how long it will take, and a way to stop it.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { StreamEvent } from "../../lib/eventStream.ts";
import { rerun } from "../../lib/mount.ts";
import { dataOf, panel } from "../../lib/panel.tsx";
import { ROUTES, serverUrl, stopWork } from "../../lib/server.ts";
import type { ProgressProps } from "../../protocol.ts";
import { useRun } from "../hooks.ts";
import {
  initialStatus,
  isOver,
  reduceStatus,
  secondsLeft,
  shareOf,
  statusText,
  timeOf,
  type Status,
} from "./status.ts";
import style from "./progress.css";

const PHONE = "(max-width: 768px)"; // where Streamlit's sidebar lies over the page
const CLOSE_SIDEBAR = '[data-testid="stSidebarCollapseButton"] button';
let lastCount = 0; // maps to uncover that the page knows of

const RESUMABLE = ["stopped", "failed", "interrupted"];

type Request = "resume" | "stop" | "cancel" | "stop_other"; // Python hears of the first and the third

const pidOf = ({ view }: Pick<ProgressProps, "view">): string | null => (view && view !== "live" ? view : null);

/** Show the map of what was just begun or opened: on a phone the sidebar, where that was done, lies over it. */
function uncoverMap(count: number): void {
  if (count > lastCount && matchMedia(PHONE).matches) document.querySelector<HTMLElement>(CLOSE_SIDEBAR)?.click();
  lastCount = count;
}

export default panel<ProgressProps>(style, ({ host, ...data }) => {
  const { run, begun, waits_for: other, projection, running } = data;
  const newest = useRef({ host, data, refreshed: null as Status | null, phase: "" });
  Object.assign(newest.current, { host, data });
  const askPython = () => setTimeout(() => rerun(newest.current.host), 0);
  const take = (status: Status, event: StreamEvent) => {
    const { data, refreshed } = newest.current;
    const isNews = reduceStatus(status, event);
    // Python could not name the pictures before the data set was on disk; now it can.
    if (event.event === "started" && data.waits_for_pictures && refreshed !== status) {
      newest.current.refreshed = status;
      askPython();
    }
    const isGone = event.event === "end" && event.state === "unknown"; // deleted: its last map stays
    if (event.event === "end" && data.replaces_map && !isGone) askPython(); // another map stands in for this one until it is there
    newest.current.phase = status.phase;
    return isNews;
  };
  const status = useRun({ run, pid: pidOf(data), begun }, () => initialStatus(data), take);
  newest.current.phase = status.phase;
  /** The job that this one waits for in the queue. */
  const before = useRun(other?.run ? { ...other, pid: pidOf(other) } : NONE, initialStatus, (status, event) => {
    const isNews = reduceStatus(status, event);
    if (isNews && isOver(status) && newest.current.phase === "queued") rerun(newest.current.host);
    return isNews;
  });
  const [kept, keep] = useState<string | null>(null); // the run for which a person has said that both are kept
  const [asked, setAsked] = useState<Request | null>(null); // what has not been answered yet
  const [refused, setRefused] = useState("");
  const over = isOver(status);
  useLayoutEffect(() => setAsked(null), [status]);
  useLayoutEffect(() => setAsked((now) => (now === "stop_other" ? null : now)), [host]);
  useLayoutEffect(() => {
    if (over) setAsked((now) => (now === "resume" ? now : null));
  }, [over]);
  useLayoutEffect(() => uncoverMap(data.uncovers), [data.uncovers]);
  /** Send a request; the buttons rest until it is done. To stop is a request of its own, which no rerun can lose. */
  const ask = async (what: Request) => {
    setAsked(what);
    setRefused("");
    try {
      if (what !== "resume") await stopWork(what === "stop_other" ? other?.work : data.work);
    } catch (error) {
      if (what !== "cancel") {
        setAsked(null);
        setRefused((error as Error).message);
      }
    }
    if (what === "resume" || what === "cancel") host.setTriggerValue(what, true);
  };

  const paused = data.pausable && status.done > 0 && RESUMABLE.includes(status.phase); // a layout that can go on
  const stopping = asked !== null && asked !== "stop_other" && !over;
  const share = shareOf(status);
  const isQueued = status.phase === "queued";
  const seconds = stopping ? null : secondsLeft(isQueued ? before : status);
  const shown = { ...status, waitsFor: other?.title ?? "", ...(stopping && { phase: "stopping" }) };
  const words = [statusText(shown, data.title), refused].filter(Boolean).join(" · ");
  const names = {
    over,
    waits: isQueued,
    trouble: status.phase === "failed" || status.phase === "interrupted",
  };
  return (
    <div
      class={["progress", ...Object.entries(names).flatMap(([name, is]) => (is ? [name] : []))].join(" ")}
      {...dataOf({ ready: true, run, phase: shown.phase, done: status.done })}
    >
      <span class="words" role="status" title={words}>
        {words}
      </span>
      <span class="left">
        {seconds !== null && `${timeOf(seconds)} left`}
        {isQueued && other?.run && !pidOf(other) && kept !== run && (
          <>
            <button disabled={asked !== null} onClick={() => ask("stop_other")} children="Stop that one" />
            <button onClick={() => keep(run)} children="Keep both" />
          </>
        )}
        {isQueued && !projection && !stopping && (
          <a href={serverUrl(`${ROUTES}/runs/${run}/training/index.html`)} target="_blank">
            Train it in a tab of this browser
          </a>
        )}
      </span>
      <button
        class="pause"
        hidden={!data.pausable || (over ? !paused : !running)}
        disabled={asked !== null}
        onClick={() => ask(paused ? "resume" : "stop")}
        children={paused ? "Continue" : "Pause"}
      />
      <button
        class="stop"
        hidden={!data.work || (over ? !paused : !running)}
        disabled={asked !== null}
        onClick={() => ask(projection ? "cancel" : "stop")}
        children={projection || isQueued ? "Cancel" : "Stop"}
      />
      <div class={!over && share === null && running ? "bar unknown" : "bar"}>
        <div class="fill" style={{ transform: `scaleX(${share ?? 0})` }} />
      </div>
    </div>
  );
});

const NONE = { run: "" };

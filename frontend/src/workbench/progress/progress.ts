// One line above the map: how the run or projection stands, how long it will take, and a way to stop it.
import type { ProgressProps } from "../../protocol.ts";
import { onAnimationFrame, RunSubscription } from "../../charts/runSubscription.ts";
import { h, setData } from "../../lib/dom.ts";
import type { StreamEvent } from "../../lib/eventStream.ts";
import { ROUTES, serverUrl } from "../../lib/server.ts";
import { mount, rerun, type ComponentArguments } from "../../lib/mount.ts";
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
let lastCount = 0; // trainings of this session that the page knows of

const RESUMABLE = ["stopped", "failed", "interrupted"];

type Request = "resume" | "stop" | "cancel" | "stop_other";
type Host = Pick<ComponentArguments<ProgressProps>, "setStateValue" | "setTriggerValue">;

export default function (component: ComponentArguments<ProgressProps>) {
  const { parentElement, data } = component;
  return mount(
    parentElement,
    style,
    (parent) => new Progress(parent, data, component),
    (progress) => {
      progress.host = component;
      progress.update(data);
    },
  );
}

const pidOf = ({ view }: Pick<ProgressProps, "view">): string | null => (view && view !== "live" ? view : null);

/** Show the map of a training that has just begun: on a phone the sidebar, where it was set up, lies over it. */
function showTraining(trainings: number): void {
  if (trainings > lastCount && matchMedia(PHONE).matches) document.querySelector<HTMLElement>(CLOSE_SIDEBAR)?.click();
  lastCount = trainings;
}

class Progress {
  private words = h("span", { class: "words", role: "status" });
  private left = h("span", "left");
  private elsewhere = h("a", null, "Train it in a tab of this browser");
  private pause = h("button", {
    class: "pause",
    type: "button",
    click: () => this.ask(this.paused ? "resume" : "stop"),
  });
  private button = h("button", {
    class: "stop",
    type: "button",
    click: () => this.ask(this.data.projection ? "cancel" : "stop"),
  });
  private stopOther = h("button", { type: "button", click: () => this.ask("stop_other") }, "Stop that one");
  private keepBoth = h("button", { type: "button", click: () => this.keep() }, "Keep both");
  private fill = h("div", "fill");
  private bar = h("div", "bar", this.fill);
  private root = h("div", "progress", this.words, this.left, this.pause, this.button, this.bar);
  private draw = onAnimationFrame(() => this.render());
  private status: Status;
  /** The request that Python has not yet answered. */
  private request: Request | null = null;
  private lastRefresh: string | null = null; // the run for which Python was asked to rerun
  private subscription: RunSubscription;
  /** The job that this one waits for in the queue, and the run for which a person has said that both are kept. */
  private other = initialStatus();
  private kept: string | null = null;
  private following = new RunSubscription(
    () => {
      this.other = initialStatus();
    },
    (event) => {
      if (!reduceStatus(this.other, event)) return;
      if (isOver(this.other) && this.status.phase === "queued") rerun(this.host);
      this.draw();
    },
  );

  constructor(
    parent: ParentNode,
    private data: ProgressProps,
    public host: Host,
  ) {
    parent.append(this.root);
    this.status = initialStatus(data);
    this.subscription = new RunSubscription(
      () => {
        this.status = initialStatus(this.data);
        this.request = null;
        this.draw();
      },
      (event) => this.onEvent(event),
    );
  }

  /** Send a request to Python; the buttons rest until it is done. */
  private ask(what: Request): void {
    this.request = what;
    this.host.setTriggerValue(what, true);
    this.draw();
  }

  /** True if a stopped layout can be continued. */
  private get paused(): boolean {
    const { phase, done } = this.status;
    return this.data.pausable && done > 0 && RESUMABLE.includes(phase);
  }

  private keep(): void {
    this.kept = this.data.run;
    this.draw();
  }

  update(data: ProgressProps): void {
    showTraining(data.trainings);
    this.data = data;
    this.subscription.subscribe({ run: data.run, pid: pidOf(data), begun: data.begun });
    const other = data.waits_for;
    if (other?.run) this.following.subscribe({ ...other, pid: pidOf(other) });
    else this.following.unsubscribe();
    if (this.request === "stop_other") this.request = null;
    this.draw();
  }

  private onEvent(event: StreamEvent): void {
    const isNews = reduceStatus(this.status, event);
    // Python could not name the pictures before the data set was on disk; now it can.
    if (event.event === "started" && this.data.waits_for_pictures && this.lastRefresh !== this.subscription.name) {
      this.lastRefresh = this.subscription.name;
      setTimeout(() => rerun(this.host), 0);
    }
    // Another map stands in for this one until it is there.
    if (event.event === "end" && this.data.replaces_map) setTimeout(() => rerun(this.host), 0);
    if (isNews) this.draw();
  }

  private render(): void {
    const { status, data } = this;
    const over = isOver(status);
    if (over && this.request !== "resume") this.request = null;
    const stopping = this.request !== null && this.request !== "stop_other" && !over;
    const share = shareOf(status);
    const isQueued = status.phase === "queued";
    const seconds = stopping ? null : secondsLeft(isQueued ? this.other : status);
    const standing = { ...status, waitsFor: data.waits_for?.title ?? "" };
    const words = statusText(stopping ? { ...standing, phase: "stopping" } : standing, data.title);
    if (this.words.textContent !== words) this.words.textContent = words;
    this.words.title = words;
    const waits = isQueued && !data.projection && !stopping;
    const asks = isQueued && Boolean(data.waits_for?.run) && this.kept !== data.run;
    const page = serverUrl(`${ROUTES}/runs/${data.run}/training/index.html`);
    Object.assign(this.elsewhere, { href: page, target: "_blank" });
    this.stopOther.disabled = this.request !== null;
    this.left.replaceChildren(
      seconds === null ? "" : `${timeOf(seconds)} left`,
      ...(asks ? [this.stopOther, this.keepBoth] : []),
      ...(waits ? [this.elsewhere] : []),
    );
    this.pause.hidden = !data.pausable || (over ? !this.paused : !data.running);
    this.pause.textContent = this.paused ? "Continue" : "Pause";
    this.button.hidden = over ? !this.paused : !data.running;
    this.button.textContent = data.projection || isQueued ? "Cancel" : "Stop";
    this.pause.disabled = this.button.disabled = this.request !== null;
    this.fill.style.transform = `scaleX(${share ?? 0})`;
    this.bar.classList.toggle("unknown", !over && share === null && data.running);
    this.root.classList.toggle("over", over);
    this.root.classList.toggle("waits", isQueued);
    this.root.classList.toggle("trouble", status.phase === "failed" || status.phase === "interrupted");
    setData(this.root, { ready: true, run: data.run, phase: stopping ? "stopping" : status.phase, done: status.done });
  }

  destroy(): void {
    this.subscription.unsubscribe();
    this.following.unsubscribe();
    this.draw.cancel();
    this.root.remove();
  }
}

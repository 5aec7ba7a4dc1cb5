// One line above the map: how the run or projection stands, how long it will take, and a way to stop it.
import type { ProgressProps } from "../../protocol.ts";
import { onAnimationFrame, RunSubscription } from "../../charts/runSubscription.ts";
import { h, setData } from "../../lib/dom.ts";
import type { StreamEvent } from "../../lib/eventStream.ts";
import { ROUTES, serverUrl } from "../../lib/server.ts";
import { mount, type ComponentArguments } from "../../lib/mount.ts";
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

type Request = "resume" | "stop" | "cancel";
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
  private fill = h("div", "fill");
  private bar = h("div", "bar", this.fill);
  private root = h("div", "progress", this.words, this.left, this.pause, this.button, this.bar);
  private draw = onAnimationFrame(() => this.render());
  private status: Status;
  /** The request that Python has not yet answered. */
  private request: Request | null = null;
  private lastRefresh: string | null = null; // the run for which Python was asked to rerun
  private subscription: RunSubscription;

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

  update(data: ProgressProps): void {
    showTraining(data.trainings);
    this.data = data;
    const pid = data.view && data.view !== "live" ? data.view : null;
    this.subscription.subscribe({ run: data.run, pid, begun: data.begun });
    this.draw();
  }

  private onEvent(event: StreamEvent): void {
    const isNews = reduceStatus(this.status, event);
    // Python could not name the pictures before the data set was on disk; now it can.
    if (event.event === "started" && this.data.waits_for_pictures && this.lastRefresh !== this.subscription.name) {
      this.lastRefresh = this.subscription.name;
      setTimeout(() => this.host.setTriggerValue("refresh", true), 0);
    }
    if (isNews) this.draw();
  }

  private render(): void {
    const { status, data } = this;
    const over = isOver(status);
    if (over && this.request !== "resume") this.request = null;
    const stopping = this.request !== null && !over;
    const share = shareOf(status);
    const seconds = stopping ? null : secondsLeft(status);
    const words = statusText(stopping ? { ...status, phase: "stopping" } : status, data.title);
    if (this.words.textContent !== words) this.words.textContent = words;
    this.words.title = words;
    const waits = status.phase === "queued" && !data.projection && !stopping;
    const page = serverUrl(`${ROUTES}/runs/${data.run}/training/index.html`);
    Object.assign(this.elsewhere, { href: page, target: "_blank" });
    this.left.replaceChildren(waits ? this.elsewhere : seconds === null ? "" : `${timeOf(seconds)} left`);
    this.pause.hidden = !data.pausable || (over ? !this.paused : !data.running);
    this.pause.textContent = this.paused ? "Continue" : "Pause";
    this.button.hidden = over ? !this.paused : !data.running;
    this.button.textContent = data.projection ? "Cancel" : "Stop";
    this.pause.disabled = this.button.disabled = this.request !== null;
    this.fill.style.transform = `scaleX(${share ?? 0})`;
    this.bar.classList.toggle("unknown", !over && share === null && data.running);
    this.root.classList.toggle("over", over);
    this.root.classList.toggle("trouble", status.phase === "failed" || status.phase === "interrupted");
    setData(this.root, { ready: true, run: data.run, phase: stopping ? "stopping" : status.phase, done: status.done });
  }

  destroy(): void {
    this.subscription.unsubscribe();
    this.draw.cancel();
    this.root.remove();
  }
}

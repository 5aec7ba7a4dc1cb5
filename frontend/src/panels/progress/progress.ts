// @ts-nocheck
// One line above the map: how the run or projection stands, how long it will take, and a way to stop it.
// Where the host does not pass the event routes, this is also where polled events enter the page.
import { mount } from "../../lib/mount.ts";
import { stream } from "../../lib/eventStream.ts";
import { Following, onceAFrame } from "../../charts/runSubscription.ts";
import { isOver, secondsLeft, sentenceOf, shareOf, standingOf, takeStanding, timeOf } from "./status.ts";
import style from "./progress.css";

export default function ({ parentElement, data, setStateValue, setTriggerValue }) {
  return mount(parentElement, style, (parent) => new Progress(parent), (progress) => {
    progress.send = { state: setStateValue, trigger: setTriggerValue };
    progress.update(data ?? {});
  });
}

class Progress {
  constructor(parent) {
    const make = (tag, className) => Object.assign(document.createElement(tag), { className });
    this.root = make("div", "progress");
    this.words = make("span", "words");
    this.words.setAttribute("role", "status");
    this.left = make("span", "left");
    const button = (name, act) => {
      const made = Object.assign(make("button", name), { type: "button" });
      made.addEventListener("click", act);
      return made;
    };
    this.pause = button("pause", () => this.ask(this.paused ? "resume" : "stop"));
    this.button = button("stop", () => this.ask(this.data.drawing ? "cancel" : "stop"));
    this.bar = make("div", "bar");
    this.fill = make("div", "fill");
    this.bar.append(this.fill);
    this.root.append(this.words, this.left, this.pause, this.button, this.bar);
    parent.append(this.root);
    this.draw = onceAFrame(() => this.paint());
    this.following = new Following(
      () => {
        this.standing = standingOf(this.data);
        this.asked = null;
        this.draw();
      },
      (event) => this.take(event),
    );
  }

  /** Tell Python what is wanted; until it has come about the buttons rest. */
  ask(what) {
    this.asked = what;
    this.send.trigger(what, true);
    this.draw();
  }

  /** Whether a layout stands still that could go on. */
  get paused() {
    const { phase, done } = this.standing;
    return Boolean(this.data.pausable && done > 0 && ["stopped", "failed", "cut off"].includes(phase));
  }

  update(data) {
    this.data = data;
    const pid = data.view && data.view !== "live" ? data.view : null;
    this.following.follow({ run: data.run, pid, begun: data.begun });
    if (data.fallback) this.feed(pid, data);
    this.draw();
  }

  feed(pid, { run, fallback }) {
    const { stream: name, from, events, frames } = fallback;
    stream.feed({ run, pid, events, frames, from });
    const count = from + events.filter((event) => event.event !== "end").length;
    if (this.fed?.stream === name && this.fed.count >= count) return;
    this.fed = { stream: name, count };
    const told = this.fed;
    setTimeout(() => this.send.state("fed", told), 0);
  }

  take(event) {
    const changed = takeStanding(this.standing, event);
    // Python could not name the pictures before the data set was on disk; now it can.
    if (event.event === "started" && this.data.waits_for_pictures && this.refreshed !== this.following.name) {
      this.refreshed = this.following.name;
      setTimeout(() => this.send.trigger("refresh", true), 0);
    }
    if (changed) this.draw();
  }

  paint() {
    const { standing, data } = this;
    const over = isOver(standing);
    if (over && this.asked !== "resume") this.asked = null;
    const stopping = Boolean(this.asked) && !over;
    const share = shareOf(standing);
    const seconds = stopping ? null : secondsLeft(standing);
    const words = sentenceOf(stopping ? { ...standing, phase: "stopping" } : standing, data.title);
    if (this.words.textContent !== words) this.words.textContent = words;
    this.words.title = words;
    this.left.textContent = seconds === null ? "" : `${timeOf(seconds)} left`;
    this.pause.hidden = !data.pausable || (over ? !this.paused : !data.running);
    this.pause.textContent = this.paused ? "Continue" : "Pause";
    this.button.hidden = over ? !this.paused : !data.running;
    this.button.textContent = data.drawing ? "Cancel" : "Stop";
    this.pause.disabled = this.button.disabled = Boolean(this.asked);
    this.fill.style.transform = `scaleX(${share ?? 0})`;
    this.bar.classList.toggle("unknown", !over && share === null && data.running);
    this.root.classList.toggle("over", over);
    this.root.classList.toggle("trouble", standing.phase === "failed" || standing.phase === "cut off");
    Object.assign(this.root.dataset, {
      ready: "true", run: data.run, phase: stopping ? "stopping" : standing.phase, done: standing.done,
    });
  }

  stop() {
    this.following.stop();
    this.draw.cancel();
    this.root.remove();
  }
}

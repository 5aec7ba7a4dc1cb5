// An alarm in a quiet note over the map: the observation, and a remedy that one click sets.
import { h, icon, updateAttribute } from "../../lib/dom.ts";
import { explain } from "../../lib/glossary.ts";
import type { Remedy } from "../../protocol.ts";
import type { MapState } from "../data/state.ts";
import { alarmAt, framesOf, isOpen, type Alarm, type Entry, type Timeline } from "../data/timeline.ts";

const CROSS = "M4 4l8 8M12 4l-8 8";
// Of the sentence, what names the alarm; and the terms that explain it.
const NAMES = /collapsed|No active loss terms|diverg(ed|ing)|exploding|Overfitting/;
const TERMS: Record<string, string> = { collapsed: "collapsed", inactive: "active-terms" };

/** The alarm that is on at the frame that is shown; null on a projection `pid` that followed no training. */
export function alarmOn(pid: string | null, timeline: Timeline, shown: Entry | null): Alarm | null {
  if (pid && !timeline.follows) return null;
  // What came after the last frame has no later one to be said on.
  const isLast = !isOpen(timeline) && shown === framesOf(timeline).at(-1);
  return alarmAt(timeline, timeline.state === "failed" || isLast ? Infinity : (shown?.step ?? -1));
}

export class AlarmNote {
  readonly node: HTMLElement;
  private words = h("p");
  private remedies = h("div", "remedies");
  private key: string | null = null; // which alarm of which run is shown
  private lastDismissal: string | null = null;

  /** `remedy` is asked to set what a remedy changes. */
  constructor(private remedy: (chosen: Remedy) => void) {
    const about = { class: "close", title: "Hide", "aria-label": "Dismiss this alarm" };
    const close = h("button", { ...about, click: () => this.dismiss() }, icon(CROSS));
    this.node = h("div", { class: "alarm", role: "status", hidden: true }, this.words, this.remedies, close);
  }

  /** Show the alarm that is on at the step that is shown. */
  update({ data, pid }: MapState, timeline: Timeline, shown: Entry | null): void {
    const alarm = alarmOn(pid, timeline, shown);
    const key = alarm && `${data.run}/${data.begun}/${alarm.alarm}`;
    this.node.hidden = !alarm || key === this.lastDismissal;
    updateAttribute(this.node, "data-alarm", this.node.hidden ? "" : (alarm?.alarm ?? ""));
    if (!alarm || key === this.key) return;
    this.key = key;
    const [name = ""] = NAMES.exec(alarm.sentence) ?? [];
    const [before, after] = [alarm.sentence.indexOf(name), alarm.sentence.indexOf(name) + name.length];
    const strong = h("strong", null, name);
    this.words.replaceChildren(
      alarm.sentence.slice(0, before),
      alarm.alarm in TERMS ? explain(strong, TERMS[alarm.alarm]) : strong,
      alarm.sentence.slice(after),
    );
    const title = "Apply this change to the settings";
    const buttons = alarm.remedies.map((words, index) =>
      h("button", { class: "remedy", title, click: () => this.choose(alarm.alarm, index, words) }, words),
    );
    this.remedies.replaceChildren(...(buttons.length ? ["Try "] : []), ...buttons);
  }

  private choose(alarm: string, index: number, words: string): void {
    this.remedies.textContent = `Settings changed: ${words}. Press Train to try it.`;
    this.remedy({ alarm, index });
  }

  private dismiss(): void {
    this.lastDismissal = this.key;
    this.node.hidden = true;
  }
}

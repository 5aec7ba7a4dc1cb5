// @ts-nocheck
// What goes wrong, in a quiet note over the map: what is seen, and what to try, which one click sets.
import { element, icon, mark } from "../../lib/dom.ts";
import { alarmAt } from "../data/timeline.ts";

const CROSS = "M4 4l8 8M12 4l-8 8";
const TITLES = {
  collapsed: "Collapsed", idle: "Nothing to learn", diverging: "Diverging", exploding: "Exploding", overfitting: "By heart",
};

/** `on.remedy({alarm, index})` is asked to set what a remedy changes. */
export class AlarmNote {
  constructor(on) {
    this.title = element("strong");
    this.words = element("span");
    this.remedies = element("div", { class: "remedies" });
    const close = element(
      "button", { type: "button", class: "close", title: "Hide", "aria-label": "Hide this note", click: () => this.dismiss() },
      icon(CROSS),
    );
    this.node = element(
      "div", { class: "alarm", role: "status", hidden: true }, element("p", {}, this.title, this.words), this.remedies, close,
    );
    this.on = on;
    this.dismissed = null;
  }

  /** Show the alarm that is on at the step of a MapView. */
  update({ playback, data, pid }) {
    const { timeline, shown } = playback;
    // A run that failed has no later frame to say it on.
    const step = timeline.state === "failed" ? Infinity : (shown?.step ?? -1);
    const alarm = pid ? null : alarmAt(timeline, step);
    const key = alarm && `${data.run}/${data.begun}/${alarm.alarm}`;
    this.node.hidden = !alarm || key === this.dismissed;
    mark(this.node, "data-alarm", this.node.hidden ? "" : alarm.alarm);
    if (!alarm || key === this.key) return;
    this.key = key;
    this.title.textContent = `${TITLES[alarm.alarm] ?? alarm.alarm}. `;
    this.words.textContent = alarm.sentence;
    this.remedies.replaceChildren(...(alarm.remedies.length ? ["Try "] : []), ...alarm.remedies.map((words, index) =>
      element("button", { type: "button", class: "remedy", title: "Set up the same training with this changed",
        click: () => this.choose(alarm.alarm, index, words) }, words)));
  }

  choose(alarm, index, words) {
    this.remedies.textContent = `Set: the same training with ${words}. Press Train to see.`;
    this.on.remedy({ alarm, index });
  }

  dismiss() {
    this.dismissed = this.key;
    this.node.hidden = true;
  }
}

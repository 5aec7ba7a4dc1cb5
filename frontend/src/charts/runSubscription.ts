// @ts-nocheck
// How a small component follows a run: everything known so far, then everything that comes, drawn once a frame.
import { stream } from "../lib/eventStream.ts";

/** Redraws on the next animation frame, however often it is asked. */
export function onceAFrame(draw) {
  let asked = 0;
  const ask = () => {
    asked ||= requestAnimationFrame(() => {
      asked = 0;
      draw();
    });
  };
  ask.cancel = () => cancelAnimationFrame(asked);
  return ask;
}

/** Follows one stream of events at a time; `begin` is called before the first event of each, `take` with every one. */
export class Following {
  constructor(begin, take) {
    Object.assign(this, { begin, take, name: null, leave: () => {} });
  }

  /** Follow a run (or its projection `pid`) from `events_url`; `begun` tells a run that is trained again. */
  follow({ run, pid = null, begun = null, events_url = null }) {
    const name = `${run}/${pid}/${begun}`;
    if (name === this.name) return;
    this.name = name;
    this.leave();
    stream.renew({ run, pid, begun });
    this.begin();
    this.leave = stream.subscribe(run, (event) => (event.event === "begun" ? this.begin() : this.take(event)), pid);
    if (events_url) stream.open({ run, pid, events_url });
  }

  stop() {
    this.leave();
    this.name = null;
  }
}

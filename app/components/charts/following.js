// How a small component follows a run: everything known so far, then everything that comes, drawn once a frame.
import { stream } from "../shared/stream.js";

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

/** Follows one stream of events at a time; `follow` again leaves the one before. */
export class Following {
  constructor(begin, take) {
    Object.assign(this, { begin, take, name: null, leave: () => {} });
  }

  follow(name, run, pid = null) {
    if (name === this.name) return;
    this.name = name;
    this.leave();
    this.begin();
    this.leave = stream.subscribe(run, this.take, pid);
  }

  stop() {
    this.leave();
    this.name = null;
  }
}

// Lets a small component follow a run: all events so far, then each new one, drawn once a frame.
import { guarded } from "../lib/boundary.ts";
import { stream, type StreamEvent } from "../lib/eventStream.ts";

/** Redraws on the next animation frame, however often it is called. */
export function onAnimationFrame(draw: () => void): { (): void; cancel(): void } {
  let frame = 0;
  const drawOnce = guarded(draw);
  const ask = () => {
    frame ||= requestAnimationFrame(() => {
      frame = 0;
      drawOnce();
    });
  };
  return Object.assign(ask, { cancel: () => cancelAnimationFrame(frame) });
}

export interface RunSource {
  run: string;
  pid?: string | null;
  begun?: string | null;
  events_url?: string | null;
}

/** Follows one stream of events at a time; `reset` is called before the first event of each, `onEvent` with every one. */
export class RunSubscription {
  /** The followed run, its projection, and the time of its begin. */
  name: string | null = null;
  private leave: () => void = () => {};

  constructor(
    private reset: () => void,
    private onEvent: (event: StreamEvent) => void,
  ) {}

  /** Follow a run (or its projection `pid`) from `events_url`; `begun` distinguishes a run that is trained again. */
  subscribe({ run, pid = null, begun = null, events_url = null }: RunSource): void {
    const name = `${run}/${pid}/${begun}`;
    if (name === this.name) return;
    this.name = name;
    this.leave();
    stream.renew({ run, pid, begun });
    this.reset();
    this.leave = stream.subscribe(run, (event) => (event.event === "begun" ? this.reset() : this.onEvent(event)), pid);
    if (events_url) stream.open({ run, pid, events_url });
  }

  unsubscribe(): void {
    this.leave();
    this.name = null;
  }
}

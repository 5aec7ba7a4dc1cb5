// What panels follow: a run's events, the step that its map shows, what a person looks at, answers.
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { bus, type BusEvents } from "../lib/bus.ts";
import { stream, type StreamEvent } from "../lib/eventStream.ts";
import { onAnimationFrame } from "../lib/hooks.ts";
import type { ViewState, ViewStore } from "./store.ts";

export interface RunSource {
  run: string;
  pid?: string | null;
  /** Distinguishes a run that is trained again. */
  begun?: string | null;
  events_url?: string | null;
}

/** What a run's events amount to: `reduce` takes each in, in place, and says whether that is news; drawn once a frame. */
export function useRun<State>(
  { run, pid = null, begun = null, events_url }: RunSource,
  empty: () => State,
  reduce: (state: State, event: StreamEvent) => boolean,
): State {
  const held = useMemo(() => ({ state: empty() }), [run, pid, begun]); // nothing of another run, in no frame
  const [, setCount] = useState(0);
  useLayoutEffect(() => {
    if (!run) return;
    const draw = onAnimationFrame(() => setCount((count) => count + 1));
    const reset = () => {
      held.state = empty();
      draw();
    };
    const take = (event: StreamEvent) => reduce(held.state, event) && draw();
    stream.renew({ run, pid, begun });
    reset();
    const leave = stream.subscribe(run, (event) => (event.event === "begun" ? reset() : take(event)), pid);
    if (events_url) stream.open({ run, pid, events_url });
    return () => {
      leave();
      draw.cancel();
    };
  }, [held]);
  return held.state;
}

/** Hear what happens on the page. */
export function useBus<K extends keyof BusEvents>(name: K, listener: (detail: BusEvents[K]) => void): void {
  const newest = useRef(listener);
  newest.current = listener;
  useLayoutEffect(() => bus.on(name, (detail) => newest.current(detail)), []);
}

/** The step that a run's map shows, null at its end, and whether it plays. */
export function useFrame(run: string | undefined): { step: number | null; playing: boolean } {
  const [shown, show] = useState({ run, step: null as number | null, playing: false });
  useBus("frame", (frame) => frame.run === run && show({ run, step: frame.moment, playing: frame.playing }));
  return shown.run === run ? shown : { step: null, playing: false };
}

/** A field of what a person looks at. */
export function useView<K extends keyof ViewState>(store: ViewStore, name: K): ViewState[K] {
  const [, setValue] = useState(store.state[name]);
  useLayoutEffect(() => store.subscribe((change) => change.has(name) && setValue(store.state[name])), [store]);
  return store.state[name];
}

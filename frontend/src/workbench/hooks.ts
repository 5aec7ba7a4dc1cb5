// What panels follow: a run's events, the step that its map shows, what a person looks at, answers.
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { onAnimationFrame, RunSubscription, type RunSource } from "../charts/runSubscription.ts";
import { bus, type BusEvents } from "../lib/bus.ts";
import type { StreamEvent } from "../lib/eventStream.ts";
import { messageOf } from "../lib/format.ts";
import type { ViewState, ViewStore } from "./store.ts";

/** What a run's events amount to: `reduce` takes each in, in place, and says whether that is news; drawn once a frame. */
export function useRun<State>(
  { run, pid, begun, events_url }: RunSource,
  empty: () => State,
  reduce: (state: State, event: StreamEvent) => boolean,
): State {
  const held = useMemo(() => ({ state: empty() }), [run, pid, begun]); // nothing of another run, in no frame
  const [, setCount] = useState(0);
  useLayoutEffect(() => {
    const draw = onAnimationFrame(() => setCount((count) => count + 1));
    const subscription = new RunSubscription(
      () => {
        held.state = empty();
        draw();
      },
      (event) => reduce(held.state, event) && draw(),
    );
    if (run) subscription.subscribe({ run, pid, begun, events_url });
    return () => {
      subscription.unsubscribe();
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

/** The answer to a question, or why there is none; nothing until then. Null asks nothing. */
export function useAnswer<T>(
  question: string | null,
  ask: (question: string) => Promise<T>,
): { found?: T; trouble?: string } {
  const [answer, setAnswer] = useState<{ question: string | null; found?: T; trouble?: string }>({ question: null });
  useLayoutEffect(() => {
    if (question === null) return;
    let awaited = true;
    ask(question).then(
      (found) => awaited && setAnswer({ question, found }),
      (error: unknown) => awaited && setAnswer({ question, trouble: messageOf(error) }),
    );
    return () => {
      awaited = false;
    };
  }, [question]);
  return answer.question === question ? answer : {};
}

// State of panels that are functions.
import type { RefObject } from "preact";
import { useLayoutEffect, useReducer, useRef, useState } from "preact/hooks";
import { guarded } from "./boundary.ts";
import { messageOf } from "./format.ts";

/** State of several parts, and what changes some of them. */
export const useParts = <State extends object>(first: State): [State, (part: Partial<State>) => void] =>
  useReducer((state: State, part: Partial<State>) => ({ ...state, ...part }), first);

interface Answer<T> {
  /** The answer to the question, or why there is none. */
  found?: T;
  trouble?: string;
  /** The last answer that came, to whichever question. */
  last: T | null;
}

/** The answer to a question, which is asked `wait` milliseconds later. Null asks nothing. */
export function useAnswer<T>(question: string | null, ask: (question: string) => Promise<T>, wait = 0): Answer<T> {
  const [{ of, ...answer }, set] = useState<Answer<T> & { of: string | null }>({ of: null, last: null });
  useLayoutEffect(() => {
    if (question === null) return;
    let awaited = true;
    const begin = () =>
      ask(question).then(
        (found) => awaited && set({ of: question, found, last: found }),
        (error: unknown) => awaited && set(({ last }) => ({ of: question, trouble: messageOf(error), last })),
      );
    const timer = wait ? setTimeout(() => void begin(), wait) : void begin();
    return () => {
      awaited = false;
      clearTimeout(timer);
    };
  }, [question]);
  return of === question ? answer : { last: answer.last };
}

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

/** A node, and its width in pixels of the device. */
export function useSide<Node extends Element>(): [RefObject<Node | null>, number] {
  const node = useRef<Node>(null);
  const [side, set] = useState(0);
  useLayoutEffect(() => {
    const { current } = node;
    const watcher = new ResizeObserver(() => current && set(Math.round(current.clientWidth * devicePixelRatio)));
    if (current) watcher.observe(current);
    return () => watcher.disconnect();
  }, []);
  return [node, side];
}

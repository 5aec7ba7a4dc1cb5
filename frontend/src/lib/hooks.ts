// State of panels that are functions.
import type { RefObject } from "preact";
import { useLayoutEffect, useReducer, useRef, useState } from "preact/hooks";
import { messageOf } from "./format.ts";

/** State of several parts, and what changes some of them. */
export const useParts = <State extends object>(first: State): [State, (part: Partial<State>) => void] =>
  useReducer((state: State, part: Partial<State>) => ({ ...state, ...part }), first);

/** What `load` gives, again for each new `key`, `wait` milliseconds later; what came before stays until then. */
export function useLoaded<Value>(key: string, load: () => Promise<Value>, wait = 0) {
  const [{ value, of, trouble }, set] = useState({ value: null as Value | null, of: "", trouble: "" });
  useLayoutEffect(() => {
    let awaited = true;
    const timer = setTimeout(() => {
      load().then(
        (value) => awaited && set({ value, of: key, trouble: "" }),
        (error: unknown) => awaited && set((old) => ({ ...old, of: key, trouble: messageOf(error) })),
      );
    }, wait);
    return () => {
      awaited = false;
      clearTimeout(timer);
    };
  }, [key]);
  return { value, trouble, ready: of === key && !trouble };
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

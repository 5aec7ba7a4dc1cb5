// What a newcomer does first: train, ask, draw. The band above the map, the bar of a phone and the tour do the same.
import type { WelcomeProps } from "../protocol.ts";
import { bus } from "../lib/bus.ts";
import { pageStore } from "../workbench/store.ts";

export type Step = "train" | "ask" | "draw";

/** Messages between the band and the menu *Help*. */
interface Offer {
  /** The possible actions on Explore's page; null without a map of Explore. */
  steps: WelcomeProps | null;
  /** The request of *Help* on another page. */
  wanted: "band" | "tour" | null;
}

const VISITED = "dmlviz.visited";
const OPEN_MS = 100; // that Streamlit takes to open them
const GOLDEN = 0.618; // of all images: one example after the other comes from elsewhere
const offer: Offer = { steps: null, wanted: opensTour() ? "tour" : null };
const listeners = new Set<() => void>();
let pins = 0;

export const current = (): Readonly<Offer> => offer;

/** Change the offer; all that show it hear of that. */
export function change(patch: Partial<Offer>): void {
  Object.assign(offer, patch);
  for (const listener of [...listeners]) listener();
}

/** Follow the offer until the returned function is called. */
export function follow(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** Return true on the first visit with this browser, up to its end. */
export function isFirstVisit(): boolean {
  try {
    if (!localStorage.getItem(VISITED)) sessionStorage.setItem(VISITED, "now");
    localStorage.setItem(VISITED, "yes");
    return sessionStorage.getItem(VISITED) === "now";
  } catch {
    return true; // a browser that keeps nothing
  }
}

export function endFirstVisit(): void {
  try {
    sessionStorage.removeItem(VISITED);
  } catch {
    // nothing was kept
  }
}

/** The first element that a person can see of those that match, also in the components' shadow roots. */
export function find(selectors: string[], root: ParentNode = document): HTMLElement | null {
  const isSeen = ({ left, right, width }: DOMRect) => width > 0 && right > 0 && left < innerWidth;
  for (const selector of selectors)
    for (const node of allOf(selector, root))
      if (node.checkVisibility({ visibilityProperty: true }) && isSeen(node.getBoundingClientRect())) return node;
  return null;
}

function* allOf(selector: string, root: ParentNode): Generator<HTMLElement> {
  yield* root.querySelectorAll<HTMLElement>(selector);
  for (const { shadowRoot } of root.querySelectorAll("*")) if (shadowRoot) yield* allOf(selector, shadowRoot);
}

/** Do a step. */
export function take(step: Step): void {
  if (step === "train") return document.querySelector<HTMLElement>(".st-key-train button")?.click();
  const { shown } = pageStore;
  if (step === "draw") bus.emit("open-query", "Draw");
  else if (shown) {
    pageStore.record();
    pageStore.set({ pinned: Math.floor(shown.n * ((GOLDEN * ++pins) % 1)) });
    const off = bus.on("neighbors", ({ found, trouble }) => {
      if (!found && !trouble) return; // of nothing pinned
      off();
      reveal();
    });
  }
  reveal();
}

/** Bring the answer into view, below a map that is taller than the window. */
function reveal(): void {
  const behavior = matchMedia("(prefers-reduced-motion: reduce)").matches ? "instant" : "smooth";
  const isSheet = matchMedia("(max-width: 640px)").matches; // which is in view below the map
  if (!isSheet) requestAnimationFrame(() => find([".inspector"])?.scrollIntoView({ block: "nearest", behavior }));
}

/** Open the settings, which a small window hides, and give them the keyboard. */
export function openSettings(): void {
  const part = (name: string) => document.querySelector<HTMLElement>(`[data-testid=${name}]`);
  part("stExpandSidebarButton")?.click();
  setTimeout(() => part("stSidebarCollapseButton")?.querySelector("button")?.focus(), OPEN_MS);
}

// The address of the page that was loaded: Streamlit may write another one before this script is there.
function opensTour(): boolean {
  const [load] = globalThis.performance?.getEntriesByType?.("navigation") ?? [];
  return load !== undefined && new URL(load.name).searchParams.get("tour") === "1";
}

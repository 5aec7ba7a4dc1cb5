// Moves a layout beside the page while a person drags a setting: it goes on from the places that the map shows.
import { randomNumbers } from "../lib/random.ts";
import { LiveLayout, type LayoutSettings } from "./live.ts";
import { keptNeighbors } from "./neighbors.ts";

/** Take points (n × d) with these settings; go on from places (n × 2); with other settings; with the next frame. */
export type LayoutOrder =
  | { do: "take"; rows: Float32Array; d: number; settings: LayoutSettings }
  | { do: "place"; positions: Float32Array }
  | { do: "change"; settings: Partial<LayoutSettings> }
  | { do: "next" };

/** A frame (n × 2), and now and then how many of 10 neighbors it keeps. */
export interface MovedFrame {
  positions: Float32Array;
  kept?: number;
}

const BUDGET_MS = 20;
const MEASURED_EVERY = 8; // frames
const FORESEE_MS = 300; // after the points have come
const AHEAD = 300; // neighbors that are looked for at once: as many as a perplexity of 100 asks for

let layout: LiveLayout | null = null;
let frames = 0;
let waits = true; // for a change, as nothing moves
let pending: Partial<LayoutSettings> | null = null;

function turn(): void {
  if (pending) layout?.change(pending);
  pending = null;
  if (waits) move();
  waits = false;
}

function foresee(): void {
  if (waits) layout?.foresee();
}

function move(): void {
  if (!layout) return;
  const until = performance.now() + BUDGET_MS;
  do layout.step(1);
  while (performance.now() < until && !layout.rests);
  const measures = frames++ % MEASURED_EVERY === 0 || layout.rests;
  const { positions, near } = layout;
  postMessage({ positions, kept: measures ? keptNeighbors(near, positions) : undefined } satisfies MovedFrame);
}

onmessage = ({ data: order }: MessageEvent<LayoutOrder>) => {
  if (order.do === "take") {
    layout = new LiveLayout(order.settings, randomNumbers(1), AHEAD);
    layout.take(order.rows, order.d);
    waits = true;
    setTimeout(foresee, FORESEE_MS);
  } else if (order.do === "place") layout?.place(order.positions);
  else if (order.do === "change") {
    if (!pending) setTimeout(turn, 0); // of those that wait only the last counts
    pending = { ...pending, ...order.settings };
  } else if (layout?.rests) waits = true;
  else move();
};
